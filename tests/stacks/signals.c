/* signals.c -- handlers that allocate, whatever they interrupted.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: signals faults     faults in leaf functions, handled on an alternate stack, left by
 * siglongjmp
 *        signals nested     handlers that raise further signals, on both stacks
 *        signals timer N    N timer signals into code of all kinds: vdso, string functions, stubs,
 *                           prologues, malloc itself */
#include "oracle.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define ALTERNATE_BYTES (1u << 20)

static sigjmp_buf back;
static volatile sig_atomic_t ticks;

static void set_handler(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(signal, &action, NULL);
}

static void use_alternate_stack(void *memory)
{
	stack_t stack = {.ss_sp = memory, .ss_size = ALTERNATE_BYTES};

	sigaltstack(&stack, NULL);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static volatile char *volatile nowhere;

static __attribute__((noinline)) char reads_nothing(void)
{
	return *nowhere;
}

static __attribute__((noinline)) char faults_deep(unsigned depth)
{
	volatile char pad[40] = {0};

	if (depth == 0)
		return reads_nothing();
	return (char)(faults_deep(depth - 1) + pad[depth % 40]);
}

static __attribute__((noinline)) void traps(void)
{
	__asm__ volatile("");
	__builtin_trap();
}

static void on_fault(int signal)
{
	oracle_mark();
	if (signal == SIGSEGV)
		oracle_mark();
	siglongjmp(back, 1);
}

static void run_faults(void)
{
	use_alternate_stack(malloc(ALTERNATE_BYTES));
	set_handler(SIGSEGV, on_fault, SA_ONSTACK);
	set_handler(SIGILL, on_fault, 0);
	set_handler(SIGTRAP, on_fault, 0);
	for (volatile unsigned i = 0; i < 60; i++) {
		if (sigsetjmp(back, 1) == 0)
			faults_deep(i % 20);
		oracle_mark();
		if (sigsetjmp(back, 1) == 0)
			traps();
		oracle_mark();
	}
}

/* ---- signals in signals ---------------------------------------------------------------------- */

static volatile unsigned nesting;

static void on_nested(int signal)
{
	oracle_mark();
	if (nesting > 0) {
		nesting--;
		raise(signal == SIGUSR1 ? SIGUSR2 : SIGUSR1);
	}
	oracle_mark();
}

static __attribute__((noinline)) void raises_deep(unsigned depth, unsigned levels)
{
	char *space = __builtin_alloca(depth * 24 + 1);

	*(volatile char *)space = 1;
	if (depth > 0) {
		raises_deep(depth - 1, levels);
	} else {
		nesting = levels;
		raise(levels % 2 ? SIGUSR1 : SIGUSR2);
	}
	oracle_mark();
}

static void run_nested(void)
{
	char *memory = malloc(ALTERNATE_BYTES);
	char on_stack[ALTERNATE_BYTES] __attribute__((aligned(16)));

	set_handler(SIGUSR1, on_nested, SA_NODEFER);
	set_handler(SIGUSR2, on_nested, SA_NODEFER | SA_ONSTACK);
	for (unsigned i = 0; i < 120; i++) {
		/* An alternate stack may also be a part of the stack itself. */
		use_alternate_stack(i % 3 ? memory : on_stack);
		raises_deep(i % 11, i % 7);
	}
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void on_tick(int signal)
{
	(void)signal;
	ticks++;
	oracle_mark();
}

static __attribute__((noinline)) unsigned spins(unsigned n)
{
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += i;
	return sum;
}

static __attribute__((noinline)) unsigned recurses(unsigned n)
{
	return n == 0 ? spins(3) : recurses(n - 1) + 1;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void sorts(void)
{
	int array[64];

	for (int i = 0; i < 64; i++)
		array[i] = i * 37 % 64;
	qsort(array, 64, sizeof(*array), compare);
}

static __attribute__((noinline)) void asks_the_time(void)
{
	struct timespec now;

	for (int i = 0; i < 200; i++)
		clock_gettime(i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now);
}

static __attribute__((noinline)) void copies(void)
{
	static char from[1 << 16], to[1 << 16];

	memcpy(to, from, sizeof(to));
	memset(from, (int)strlen(to), sizeof(from));
}

static __attribute__((noinline)) void allocates(void)
{
	void *volatile blocks[16];

	for (unsigned i = 0; i < 16; i++)
		blocks[i] = malloc(i * 10 + 1);
	for (unsigned i = 0; i < 16; i++)
		free(blocks[i]);
}

static __attribute__((noinline)) void prints(void)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "%d %s %g", 12345, "text", 1.5);
}

static void run_timer(int wanted)
{
	struct itimerval often = {{0, 150}, {0, 150}};

	set_handler(SIGPROF, on_tick, SA_RESTART);
	setitimer(ITIMER_PROF, &often, NULL);
	set_handler(SIGALRM, on_tick, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	while (ticks < wanted) {
		asks_the_time();
		recurses(20);
		sorts();
		copies();
		prints();
		allocates();
		(void)getppid();
	}
	often = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &often, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
}

int main(int argc, char **argv)
{
	oracle_mark(); /* so that the first one is not in a handler */
	if (argc == 2 && strcmp(argv[1], "faults") == 0)
		run_faults();
	else if (argc == 2 && strcmp(argv[1], "nested") == 0)
		run_nested();
	else if (argc == 3 && strcmp(argv[1], "timer") == 0)
		run_timer(atoi(argv[2]));
	else
		return 2;
	return 0;
}
