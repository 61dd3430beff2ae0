/* swap_library.c -- one of several libraries alike in everything but their names.
 * Runs: in swaps.c. Built with SWAP_NAME one, two, ...: their code has the same addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#define OUTER	   NAME(outer_, SWAP_NAME)
#define INNER	   NAME(inner_, SWAP_NAME)

void swap_enter(void (*back)(int), int depth);

__attribute__((noinline)) void INNER(void (*back)(int), int depth)
{
	oracle_mark();
	if (depth > 0)
		back(depth - 1);
	oracle_mark();
}

__attribute__((noinline)) void OUTER(void (*back)(int), int depth)
{
	/* Frames of different sizes at the same addresses: rules of the one do not fit the
	 * other. */
	volatile char pad[SWAP_PAD] = {1};

	INNER(back, depth);
	(void)pad[SWAP_PAD - 1];
}

void swap_enter(void (*back)(int), int depth)
{
	OUTER(back, depth);
	__asm__ volatile("");
}

static __attribute__((destructor)) void at_unload(void)
{
	oracle_mark();
}
