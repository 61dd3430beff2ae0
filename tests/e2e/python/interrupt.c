/* interrupt.c -- a handler of SIGPROF that allocates where it has interrupted code of no file; the
 * stacks of those allocations are to be whole. interrupt_begin(low, high) with the bounds of that
 * code; interrupt_count() tells how often it was met.
 * Runs: loaded by Python through ctypes. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

static uint64_t low_pc, high_pc;
static volatile int count;

static uint64_t interrupted_pc(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
	return context->uc_mcontext.pc;
#endif
}

/* Not where malloc may have been interrupted: that would not be safe. */
static void allocate(int number, siginfo_t *info, void *context)
{
	uint64_t pc = interrupted_pc(context);

	(void)number;
	(void)info;
	if (pc < low_pc || pc >= high_pc)
		return;
	free(malloc(7777));
	count++;
}

void interrupt_begin(uint64_t low, uint64_t high)
{
	const struct itimerval often = {{0, 500}, {0, 500}};
	struct sigaction action = {.sa_sigaction = allocate, .sa_flags = SA_SIGINFO | SA_RESTART};

	low_pc = low;
	high_pc = high;
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
}

int interrupt_count(void)
{
	return count;
}
