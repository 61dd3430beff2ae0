/* signal_jump.c -- a timer's handler jumps out of whatever it has interrupted. Run by
 * tests/e2e/harsh with own_allocator.so, which can bear it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: blocks of 16 bytes, made and freed until the handler has jumped 200 times, out of hooks
 * among other places; then 1,000 blocks of 1,000 bytes, which are left. `alternate`: the handler
 * has a stack of its own, which lies on that of the program. `thread`: all of it in a child that
 * another thread than the first has forked. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf again;
static volatile unsigned jumps;
static void *volatile kept;

static void on_timer(int signal)
{
	(void)signal;
	jumps++;
	siglongjmp(again, 1);
}

static int jump_about(bool alternate)
{
	char room[65536];
	stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
	struct sigaction action = {.sa_handler = on_timer};
	struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};

	if (alternate) {
		action.sa_flags = SA_ONSTACK;
		if (sigaltstack(&stack, NULL) != 0)
			return 1;
	}
	if (sigaction(SIGALRM, &action, NULL) != 0)
		return 1;
	(void)sigsetjmp(again, 1);
	(void)setitimer(ITIMER_REAL, jumps < 200 ? &every : &never, NULL);
	while (jumps < 200) {
		kept = malloc(16);
		free(kept);
	}
	for (int i = 0; i < 1000; i++)
		kept = malloc(1000);
	return 0;
}

static void *jump_in_child(void *status)
{
	pid_t child = fork();

	if (child == 0)
		_exit(jump_about(false));
	if (waitpid(child, status, 0) != child)
		*(int *)status = 1;
	return NULL;
}

int main(int count, char **words)
{
	const char *mode = count > 1 ? words[1] : "";
	pthread_t thread;
	int status = 1;

	if (strcmp(mode, "thread") != 0)
		return jump_about(strcmp(mode, "alternate") == 0);
	if (pthread_create(&thread, NULL, jump_in_child, &status) == 0)
		(void)pthread_join(thread, NULL);
	return status != 0;
}
