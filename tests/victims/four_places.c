/* four_places.c -- a heap for samples: four places that allocate, each with sizes and lives of its
 * own. Run by tests/e2e/sampling.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: `tiny` makes 40,000 blocks of 24 bytes, `large` 20 of 100,000 and `mixed` 3,000 of 100,
 * 1,000 and 20,000 bytes in turn (21,100,000 bytes); `grown` makes 500 of 1,000 bytes and lets them
 * grow to 2,000 by realloc. All these stay: peak and leak are 25,060,000 bytes in 43,520 blocks.
 * `brief` makes 40,000 blocks of 64 bytes and frees each at once. */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void *tiny(void)
{
	return kept = malloc(24);
}

__attribute__((noinline)) static void *large(void)
{
	return kept = malloc(100000);
}

__attribute__((noinline)) static void *mixed(int i)
{
	static const size_t sizes[] = {100, 1000, 20000};

	return kept = calloc(1, sizes[i % 3]);
}

__attribute__((noinline)) static void brief(void)
{
	kept = malloc(64);
	free(kept);
}

__attribute__((noinline)) static void grown(void)
{
	kept = malloc(1000);
	kept = realloc(kept, 2000);
}

int main(void)
{
	for (int i = 0; i < 40000; i++) {
		(void)tiny();
		brief();
	}
	for (int i = 0; i < 20; i++)
		(void)large();
	for (int i = 0; i < 3000; i++)
		(void)mixed(i);
	for (int i = 0; i < 500; i++)
		grown();
	return 0;
}
