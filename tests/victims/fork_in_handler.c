/* fork_in_handler.c -- a timer's handler forks, whatever it has interrupted; the child returns from
 * the handler. Run by tests/e2e/harsh with own_allocator.so, which can bear it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: fork_in_handler CHILDREN [bare|clone]
 * Heap: blocks of 16 bytes, made and freed. Each child makes 100 blocks of 1,000 bytes and ends.
 * `bare` uses _Fork, which is there for handlers; `clone` the system call itself, and the child
 * stays in the handler, as those of crash reporters. Exit status 1: a child has crashed. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern pid_t _Fork(void) __attribute__((weak));

static volatile int made, crashed, is_child, is_bare, is_clone;
static void *volatile kept;

/* Once: a child may take longer than any interval, and the program would not get on. */
static void set_timer(void)
{
	struct itimerval once = {{0, 0}, {0, 1000}};

	(void)setitimer(ITIMER_REAL, &once, NULL);
}

static pid_t make_child(void)
{
	if (is_clone)
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	return is_bare ? _Fork() : fork();
}

static void make_blocks(void)
{
	for (int i = 0; i < 100; i++)
		kept = malloc(1000);
}

static void on_timer(int signal)
{
	int status = 0;

	(void)signal;
	if (is_child)
		return;
	pid_t child = make_child();
	if (child == 0 && is_clone) {
		make_blocks();
		_exit(0);
	}
	if (child == 0) {
		is_child = 1;
		return;
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		crashed++;
	made++;
	set_timer();
}

int main(int count, char **words)
{
	struct sigaction action = {.sa_handler = on_timer};
	int wanted = count > 1 ? atoi(words[1]) : 300;

	is_clone = count > 2 && strcmp(words[2], "clone") == 0;
	is_bare = count > 2 && !is_clone && _Fork;
	if (sigaction(SIGALRM, &action, NULL) != 0)
		return 1;
	set_timer();
	while (made < wanted && !is_child) {
		kept = malloc(16);
		free(kept);
	}
	if (is_child)
		make_blocks();
	_exit(crashed != 0);
}
