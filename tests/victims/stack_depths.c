/* stack_depths.c -- stacks of known depth. Run by tests/e2e/memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * main goes 3 MiB deep, touching every page. Four threads have names and stacks of their own:
 * "deep" (4 MiB) recurses 1 MiB deep and ends; "leap" (4 MiB) has a frame of 2 MiB, of which it
 * touches the lowest byte alone, and ends; "flat" (1 MiB) does next to nothing and ends; "late"
 * (2 MiB) goes 512 KiB deep and still runs when the program exits. Each thread allocates a block.
 * All live at the same time: libc gives the stack of one that has ended to the next.
 * With "kill", the program ends by a signal in place of exit. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1024 * KIB, FRAME = 16 * KIB, JOBS = 4 };

struct job {
	const char *name;
	size_t stack;
	size_t touched;
	size_t leapt;
};

static pthread_barrier_t is_deep;

/* So deep, with a byte in every page. */
static __attribute__((noinline)) int go_down(size_t bytes)
{
	volatile char frame[FRAME];

	for (size_t i = 0; i < sizeof(frame); i += KIB)
		frame[i] = 1;
	return bytes > FRAME ? go_down(bytes - FRAME) + frame[0] : frame[0];
}

static __attribute__((noinline)) int leap(size_t bytes)
{
	volatile char *frame = __builtin_alloca(bytes);

	frame[0] = 1;
	return frame[0];
}

static void *work(void *argument)
{
	const struct job *job = argument;

	pthread_setname_np(pthread_self(), job->name);
	free(malloc(100));
	if (job->touched)
		go_down(job->touched);
	if (job->leapt)
		leap(job->leapt);
	pthread_barrier_wait(&is_deep);
	while (strcmp(job->name, "late") == 0)
		pause();
	return NULL;
}

static pthread_t begin(const struct job *job)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, job->stack) ||
	    pthread_create(&thread, &attributes, work, (void *)job))
		abort();
	return thread;
}

int main(int argc, char **argv)
{
	static const struct job jobs[JOBS] = {
		{"deep", 4 * MIB, 1 * MIB, 0},
		{"leap", 4 * MIB, 0, 2 * MIB},
		{"flat", 1 * MIB, 0, 0},
		{"late", 2 * MIB, 512 * KIB, 0},
	};
	pthread_t threads[JOBS];

	(void)argv;
	free(malloc(100));
	go_down(3 * MIB);
	pthread_barrier_init(&is_deep, NULL, JOBS + 1);
	for (size_t i = 0; i < JOBS; i++)
		threads[i] = begin(&jobs[i]);
	pthread_barrier_wait(&is_deep);
	for (size_t i = 0; i < JOBS - 1; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1)
		raise(SIGKILL);
	return 0;
}
