/* peak_places.c -- where in time the peak lies. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap by mode: `middle` rises to 100 x 1,000 bytes, falls to nothing, rises to 50 x 1,000 and
 * falls again; `end` frees 60 blocks of 500 bytes, then makes its largest block, 1,000,000 bytes,
 * last of all and frees nothing more; `never` makes 1,000 blocks of 64 bytes and frees none; `tie`
 * reaches 10 x 100 bytes twice with other blocks (the first time counts). Peak: 100,000 / 1,000,000
 * / 64,000 / 1,000 bytes. */
#include "truth.h"

static void *blocks[1000];

static void fill(size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		blocks[i] = truth_malloc(size);
}

static void empty(size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		truth_free(blocks[i], size);
}

int main(int argc, char **argv)
{
	if (truth_mode_is(argc, argv, "middle")) {
		fill(100, 1000);
		empty(100, 1000);
		fill(50, 1000);
		empty(50, 1000);
	} else if (truth_mode_is(argc, argv, "end")) {
		fill(60, 500);
		empty(60, 500);
		truth_malloc(1000000);
	} else if (truth_mode_is(argc, argv, "never")) {
		fill(1000, 64);
	} else if (truth_mode_is(argc, argv, "tie")) {
		fill(10, 100);
		empty(10, 100);
		fill(20, 50);
		empty(20, 50);
	} else {
		return 2;
	}
	return 0;
}
