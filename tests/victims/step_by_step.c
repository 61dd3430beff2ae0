/* step_by_step.c -- grows when it is told to. Run by tests/e2e/viewer.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For every line of standard input: "+" makes 10 blocks of 1,000 bytes in grow(), "*" the same by
 * way of grow_elsewhere(), "-" frees the last 5 in shrink(); then it writes "done". At the end of
 * the input it exits with 7 and all that is left is leaked. */
#include "truth.h"

#include <unistd.h>

enum { BLOCKS_MOST = 10000, BYTES = 1000 };

static void *blocks[BLOCKS_MOST];
static size_t used;

static __attribute__((noinline)) void grow(void)
{
	for (int i = 0; i < 10; i++) {
		truth_expect(used < BLOCKS_MOST);
		blocks[used++] = truth_malloc(BYTES);
	}
}

static __attribute__((noinline)) void grow_elsewhere(void)
{
	grow();
}

static __attribute__((noinline)) void shrink(void)
{
	for (int i = 0; i < 5; i++) {
		truth_expect(used > 0);
		truth_free(blocks[--used], BYTES);
	}
}

int main(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		if (byte == '+')
			grow();
		else if (byte == '*')
			grow_elsewhere();
		else if (byte == '-')
			shrink();
		else
			truth_expect(write(STDOUT_FILENO, "done\n", 5) == 5);
	}
	return 7;
}
