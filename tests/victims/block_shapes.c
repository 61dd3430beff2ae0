/* block_shapes.c -- prints what a program can observe of its blocks. Run by tests/e2e/clean.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For many sizes and entry points: usable size, low bits of the address and the distance to the
 * block before. With a recorder that leaves blocks as they are, the output is that of a run without
 * it. Heap: one block of 1 byte, freed at the end, and 3 x 3,000 blocks of 0..2,999 bytes, all
 * left. */
#include "truth.h"

#include <malloc.h>

static char line[128];

static size_t put(size_t at, uint64_t value)
{
	char digits[24];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count > 0)
		line[at++] = digits[--count];
	line[at++] = ' ';
	return at;
}

static void show(void *block, void *before)
{
	size_t at = put(0, malloc_usable_size(block));

	at = put(at, (uintptr_t)block % 64);
	at = put(at, before < block ? (uintptr_t)block - (uintptr_t)before : 0);
	line[at - 1] = '\n';
	truth_expect(write(STDOUT_FILENO, line, at) == (ssize_t)at);
}

int main(void)
{
	void *before = truth_malloc(1), *first = before;

	for (size_t size = 0; size < 3000; size++) {
		void *a = truth_malloc(size), *b = truth_calloc(1, size);
		void *c = truth_got(memalign(64, size), size);

		show(a, before);
		show(b, a);
		show(c, b);
		before = c;
	}
	truth_expect(malloc_usable_size(NULL) == 0);
	truth_free(first, 1);
	return 0;
}
