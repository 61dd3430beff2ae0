/* basic_heap.c -- one thread, malloc, calloc and free, some blocks left. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 1,000 blocks of 1..1,000 bytes (500,500 bytes); every second one is freed (even sizes,
 * 250,500 bytes); then 100 callocs of 7 x 11 bytes (7,700), all freed in reverse order. Peak
 * 500,500 bytes in 1,000 blocks. Left: 250,000 bytes in 500 blocks. Temporary: two blocks, the last
 * malloc (1,000 bytes) and the last calloc: each is freed before anything else is allocated. */
#include "truth.h"

enum { BLOCKS = 1000, GROUPS = 100 };

static void *blocks[BLOCKS];
static void *groups[GROUPS];

int main(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = truth_malloc(i + 1);
	for (size_t i = 1; i < BLOCKS; i += 2)
		truth_free(blocks[i], i + 1);
	for (size_t i = 0; i < GROUPS; i++)
		groups[i] = truth_calloc(7, 11);
	for (size_t i = GROUPS; i-- > 0;)
		truth_free(groups[i], 77);
	truth_free(NULL, 0);
	return 0;
}
