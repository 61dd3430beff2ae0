/* children.h -- what a program knows of children: how often it has heard of the end of one, what
 * they have used, whether there is one to wait for. For victims that have none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

static volatile sig_atomic_t heard;

static void on_child(int number)
{
	(void)number;
	heard = heard + 1;
}

static void listen_for_children(void)
{
	signal(SIGCHLD, on_child);
}

static void say_of_children(void)
{
	struct rusage used;

	getrusage(RUSAGE_CHILDREN, &used);
	printf("%d heard, %ld pages, %ld us, %s\n", (int)heard,
	       used.ru_minflt + used.ru_majflt + used.ru_maxrss,
	       (long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
		       (long)(used.ru_utime.tv_usec + used.ru_stime.tv_usec),
	       waitpid(-1, NULL, __WALL | WNOHANG) < 0 ? "none to wait for" : "one to wait for");
	fflush(stdout);
}

#endif
