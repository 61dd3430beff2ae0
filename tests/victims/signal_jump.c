/* signal_jump.c -- a timer's handler jumps out of whatever it has interrupted. Run by
 * tests/e2e/harsh with own_allocator.so, which can bear it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: blocks of 16 bytes, made and freed until the handler has jumped 200 times, out of hooks
 * among other places; then 1,000 blocks of 1,000 bytes, which are left. `alternate`: the handler
 * has a stack of its own, which lies on that of the program. `realloc`: all jumps are out of the
 * allocator's realloc, which has made a block of 32 bytes by then. `thread`: all of it in a child
 * that another thread than the first has forked. `deep`: each of 20 threads in turn, 8 MiB further
 * in than it has ever allocated, is made to jump out of its first call there, and leaves a block of
 * 1,000 bytes. */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
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

static void jump_out(void)
{
	on_timer(0);
}

static int jump_out_of_realloc(void)
{
	void (**pause_of_allocator)(void) =
		(void (**)(void))dlsym(RTLD_DEFAULT, "own_allocator_pause");

	if (!pause_of_allocator)
		return 1;
	*pause_of_allocator = jump_out;
	(void)sigsetjmp(again, 1);
	while (jumps < 200)
		kept = realloc(malloc(16), 32);
	*pause_of_allocator = NULL;
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

static atomic_bool is_deep;

/* The timer is another thread's loop here, so that it comes when the call is made. */
static void *send_signal(void *target)
{
	while (!atomic_load(&is_deep))
		sched_yield();
	(void)pthread_kill(*(pthread_t *)target, SIGALRM);
	return NULL;
}

static __attribute__((noinline)) void jump_from(int levels)
{
	volatile char room[1 << 20];

	room[0] = 0;
	if (levels > 0) {
		jump_from(levels - 1);
		kept = (void *)(uintptr_t)room[0]; /* no tail call */
		return;
	}
	jumps = 0;
	if (sigsetjmp(again, 1) == 0) {
		atomic_store(&is_deep, true);
		while (jumps == 0) {
			kept = malloc(16);
			free(kept);
		}
	}
	kept = malloc(1000);
}

static void *jump_deep(void *unused)
{
	pthread_t self = pthread_self(), sender;

	free(malloc(1)); /* from here on the thread is known */
	atomic_store(&is_deep, false);
	if (pthread_create(&sender, NULL, send_signal, &self) == 0) {
		jump_from(8);
		(void)pthread_join(sender, NULL);
	}
	return unused;
}

static int jump_in_threads(void)
{
	struct sigaction action = {.sa_handler = on_timer};
	pthread_attr_t attributes;
	pthread_t thread;

	if (sigaction(SIGALRM, &action, NULL) != 0 || pthread_attr_init(&attributes) != 0 ||
	    pthread_attr_setstacksize(&attributes, 32 << 20) != 0)
		return 1;
	for (int i = 0; i < 20; i++)
		if (pthread_create(&thread, &attributes, jump_deep, NULL) != 0 ||
		    pthread_join(thread, NULL) != 0)
			return 1;
	return 0;
}

int main(int count, char **words)
{
	const char *mode = count > 1 ? words[1] : "";
	pthread_t thread;
	int status = 1;

	if (strcmp(mode, "deep") == 0)
		return jump_in_threads();
	if (strcmp(mode, "realloc") == 0)
		return jump_out_of_realloc();
	if (strcmp(mode, "thread") != 0)
		return jump_about(strcmp(mode, "alternate") == 0);
	if (pthread_create(&thread, NULL, jump_in_child, &status) == 0)
		(void)pthread_join(thread, NULL);
	return status != 0;
}
