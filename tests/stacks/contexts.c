/* contexts.c -- coroutines that take turns in the middle of deep stacks.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Eight coroutines, on mapped, allocated and static stacks, each recursing to a depth of its own
 * and handing over to another at every level, so that a thread's stack pointer jumps to and fro. */
#include "oracle.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define COUNT	    8
#define STACK_BYTES (256u << 10)
#define TURNS	    1500

static __thread ucontext_t home;
static __thread ucontext_t contexts[COUNT];
static __thread unsigned current;
static __thread unsigned turns;
static __thread uint64_t random_state;
static __thread char static_stack[STACK_BYTES] __attribute__((aligned(64)));

static unsigned any(unsigned below)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return (unsigned)(random_state >> 33) % below;
}

/* Hands over to another coroutine, or home when the turns are used up. */
static __attribute__((noinline)) void hand_over(void)
{
	unsigned from = current;

	oracle_mark();
	if (turns++ >= TURNS) {
		swapcontext(&contexts[from], &home);
		return;
	}
	current = any(COUNT);
	if (current != from)
		swapcontext(&contexts[from], &contexts[current]);
	oracle_mark();
}

static __attribute__((noinline)) void descend(unsigned depth)
{
	char *space = __builtin_alloca(depth * 16 + 1);

	*(volatile char *)space = 1;
	if (any(3) == 0)
		hand_over();
	if (depth > 0)
		descend(depth - 1);
	if (any(2) == 0)
		hand_over();
}

static void coroutine(int index)
{
	for (;;)
		descend(3 + (unsigned)index * 4 + any(3));
}

static void *make_stack(unsigned i)
{
	if (i == 0)
		return static_stack;
	if (i % 2)
		return malloc(STACK_BYTES);
	return mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *run(void *argument)
{
	random_state = (uint64_t)(uintptr_t)argument + 7;
	for (unsigned i = 0; i < COUNT; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = make_stack(i);
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = NULL;
		makecontext(&contexts[i], (void (*)(void))(uintptr_t)coroutine, 1, (int)i);
	}
	swapcontext(&home, &contexts[0]);
	oracle_mark();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, (void *)(uintptr_t)1000);
	run(NULL);
	pthread_join(thread, NULL);
	return 0;
}
