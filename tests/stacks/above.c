/* above.c -- the same function allocates on a thread's stack and on one that lies above it, at the
 * end of mapped memory: above. What is known of the first must not be looked for on the second.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "oracle.h"

#define STACK_BYTES (UINT64_C(256) << 10)

static ucontext_t back, away;

static __attribute__((noinline)) void allocate(void)
{
	oracle_mark();
	__asm__ volatile("" ::: "memory");
}

/* Frames that are far from each other: the words of a leaf end through them are, too. */
static __attribute__((noinline)) void stretch(int depth)
{
	volatile char room[8192];

	room[0] = (char)depth;
	if (depth)
		stretch(depth - 1);
	else
		allocate();
	room[1] = room[0];
}

static void run_away(void)
{
	for (int i = 0; i < 100; i++)
		allocate();
}

static void *run(void *above)
{
	for (int i = 0; i < 100; i++) {
		stretch(i % 3);
		getcontext(&away);
		away.uc_stack.ss_sp = above;
		away.uc_stack.ss_size = STACK_BYTES;
		away.uc_link = &back;
		makecontext(&away, run_away, 0);
		swapcontext(&back, &away);
	}
	return NULL;
}

int main(void)
{
	/* The thread's stack, a hole, the other one, and nothing behind it. */
	char *memory = mmap(NULL, 4 * STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	if (memory == MAP_FAILED || mprotect(memory, STACK_BYTES, PROT_READ | PROT_WRITE) ||
	    mprotect(memory + 2 * STACK_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE))
		return 1;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, memory, STACK_BYTES);
	if (pthread_create(&thread, &attributes, run, memory + 2 * STACK_BYTES))
		return 1;
	return pthread_join(thread, NULL);
}
