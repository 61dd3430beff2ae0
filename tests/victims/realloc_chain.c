/* realloc_chain.c -- realloc in every meaning. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap by mode: `moved` grows a block 16, 32, ... 1,048,576 bytes with a guard behind it each time,
 * so it cannot stay (17 sizes, 16 reallocs), frees all; `inplace` shrinks 1,000,000 bytes to
 * 900,000, 800,000 .. 100,000 and grows the last block of the heap byte by byte; `null` is
 * realloc(NULL, n); `zero` is realloc(p, 0), a free; `fail` asks for PTRDIFF_MAX, which fails and
 * leaves the block; `mapped` moves blocks of megabytes with mremap; `often` grows 20,000 blocks
 * from 1,000 to 2,000 and 4,000 bytes, and frees each before the next. */
#include "truth.h"

#include <errno.h>

static void moved(void)
{
	void *guards[16];
	size_t size = 16;
	char *block = truth_malloc(size);

	block[0] = 'm';
	for (size_t i = 0; i < 16; i++, size *= 2) {
		guards[i] = truth_malloc(24);
		block = truth_realloc(block, size, size * 2);
		truth_expect(block[0] == 'm');
	}
	truth_free(block, size);
	for (size_t i = 0; i < 16; i++)
		truth_free(guards[i], 24);
}

static void often(void)
{
	for (int i = 0; i < 20000; i++) {
		void *block = truth_malloc(1000);

		block = truth_realloc(block, 1000, 2000);
		block = truth_realloc(block, 2000, 4000);
		truth_free(block, 4000);
	}
}

static void in_place(void)
{
	void *block = truth_malloc(100000);

	for (size_t size = 100000; size > 10000; size -= 10000)
		block = truth_realloc(block, size, size - 10000);
	truth_free(block, 10000);
	block = truth_malloc(1);
	for (size_t size = 1; size < 2000; size++)
		block = truth_realloc(block, size, size + 1);
	for (size_t again = 0; again < 100; again++)
		block = truth_realloc(block, 2000, 2000);
	truth_free(block, 2000);
}

static void of_null(void)
{
	for (size_t size = 0; size < 100; size++)
		truth_free(truth_realloc(NULL, 0, size), size);
	truth_realloc(NULL, 0, 5000);
}

static void to_zero(void)
{
	for (size_t size = 0; size < 100; size++)
		truth_expect(truth_realloc(truth_malloc(size), size, 0) == NULL);
	void *kept = truth_malloc(40), *zeroed = truth_malloc(50);
	truth_malloc(60);
	truth_realloc(zeroed, 50, 0);
	truth_free(kept, 40);
}

static void failing(void)
{
	char *block = truth_malloc(1234);

	memset(block, 'k', 1234);
	for (int i = 0; i < 10; i++) {
		errno = 0;
		truth_expect(truth_realloc(block, 1234, PTRDIFF_MAX) == NULL);
		truth_expect(errno == ENOMEM);
		truth_expect(block[0] == 'k' && block[1233] == 'k');
	}
	truth_expect(truth_realloc(NULL, 0, PTRDIFF_MAX) == NULL);
	block = truth_realloc(block, 1234, 4321);
	truth_expect(block[1233] == 'k');
	truth_free(block, 4321);
}

static void mapped(void)
{
	size_t size = 1 << 20;
	char *block = truth_malloc(size);

	block[size - 1] = 'e';
	for (size_t to = size; to < (size_t)64 << 20; to *= 2) {
		block = truth_realloc(block, to, to * 2);
		truth_expect(block[size - 1] == 'e');
	}
	block = truth_realloc(block, (size_t)64 << 20, 100);
	truth_free(block, 100);
}

int main(int argc, char **argv)
{
	if (truth_mode_is(argc, argv, "moved"))
		moved();
	else if (truth_mode_is(argc, argv, "inplace"))
		in_place();
	else if (truth_mode_is(argc, argv, "null"))
		of_null();
	else if (truth_mode_is(argc, argv, "zero"))
		to_zero();
	else if (truth_mode_is(argc, argv, "fail"))
		failing();
	else if (truth_mode_is(argc, argv, "mapped"))
		mapped();
	else if (truth_mode_is(argc, argv, "often"))
		often();
	else
		return 2;
	return 0;
}
