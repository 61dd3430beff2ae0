/* lost_childless.c -- has no children, and knows nothing of any while somebody looks at what it has
 * lost. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loses 3 blocks of 100 bytes. Says "ready", reads a line, and then says how often it has heard of
 * a child's end, how many pages and how much time children have used, and whether there is one to
 * wait for; waits for another line, executes itself with the word "again" if it has not, and does
 * the same once more. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t heard;

static void on_child(int number)
{
	(void)number;
	heard = heard + 1;
}

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 3; i++)
		memset(malloc(100), 1, 100);
}

static void say(void)
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

int main(int argc, char **argv)
{
	char line[16];

	signal(SIGCHLD, on_child);
	lose();
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	say();
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (argc < 2)
		execl("/proc/self/exe", argv[0], "again", NULL);
	return 5;
}
