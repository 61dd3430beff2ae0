/* deep_stack.c -- allocations under deep recursion. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: DEPTH. descend() calls itself DEPTH times and allocates one block of 100 bytes at the
 * bottom, then 10 blocks of 8 bytes on the way back out of main. Nothing is freed: 100 + 80 bytes
 * in 11 blocks. With 600 frames the first block's stack is deeper than the default limit of 512 and
 * is cut, and counted as cut; the others are not. */
#include "truth.h"

__attribute__((noinline)) static void at_the_bottom(void)
{
	truth_malloc(100);
}

__attribute__((noinline)) static int descend(volatile int depth)
{
	if (depth <= 1)
		at_the_bottom();
	else
		return 1 + descend(depth - 1);
	return 1;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 600;

	truth_expect(descend(depth) == depth);
	for (int i = 0; i < 10; i++)
		truth_malloc(8);
	return 0;
}
