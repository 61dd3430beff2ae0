/* deep.c -- allocations below very many frames.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: deep DEPTH...
 *
 * For each depth: down to it by two functions in turn, marks at the bottom and, on the way back,
 * wherever what is left is a multiple of 97 and less than 2000. */
#include "oracle.h"

#include <stdlib.h>

static __attribute__((noinline)) void one(unsigned n);

static __attribute__((noinline)) void other(unsigned n)
{
	volatile char pad[24] = {1};

	if (n > 1)
		one(n - 1);
	else
		oracle_mark();
	if (n % 97 == 0 && n < 2000)
		oracle_mark();
	(void)pad[n % 24];
}

static __attribute__((noinline)) void one(unsigned n)
{
	if (n > 1)
		other(n - 1);
	else
		oracle_mark();
	if (n % 97 == 0 && n < 2000)
		oracle_mark();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	for (int round = 0; round < 3; round++)
		for (int i = 1; i < argc; i++)
			one((unsigned)atoi(argv[i]));
	return 0;
}
