/* temporaries.c -- what counts as temporary and what does not. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 1,000 x a block freed at once (temporary); 1,000 x two blocks freed in the order they came
 * (the second is temporary, nothing was allocated after it; the first is not); 1,000 x two blocks
 * freed in reverse order (the second is temporary); 500 x a block that is freed after another was
 * allocated (not). */
#include "truth.h"

int main(void)
{
	for (int i = 0; i < 1000; i++)
		truth_free(truth_malloc(10), 10);
	for (int i = 0; i < 1000; i++) {
		void *a = truth_malloc(20), *b = truth_malloc(30);
		truth_free(a, 20);
		truth_free(b, 30);
	}
	for (int i = 0; i < 1000; i++) {
		void *a = truth_malloc(20), *b = truth_malloc(30);
		truth_free(b, 30);
		truth_free(a, 20);
	}
	void *before = truth_malloc(1);
	for (int i = 0; i < 500; i++) {
		void *next = truth_malloc(1);
		truth_free(before, 1);
		before = next;
	}
	return 0;
}
