/* churn.c -- very many events over a small live set. Run by tests/e2e/collector (bounded memory).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: EVENTS. EVENTS / 2 blocks of 16 + n % 1,009 bytes are made from 64 call paths, at most
 * 512 alive at a time, and all are freed. Nothing is left; allocations = frees = EVENTS / 2. */
#include "truth.h"

enum { WINDOW = 512 };

static void *window[WINDOW];

static size_t size_of(uint64_t n)
{
	return 16 + n % 1009;
}

/* Each bit of `path` picks one of two call sites, so 6 bits make 64 stacks. */
__attribute__((noinline)) static void *allocate(uint64_t n, unsigned path, int bits)
{
	if (bits == 0)
		return malloc(size_of(n));
	if (path & 1) {
		void *volatile block = allocate(n, path >> 1, bits - 1);
		return block;
	}
	void *volatile other = allocate(n, path >> 1, bits - 1);
	return other;
}

int main(int argc, char **argv)
{
	truth_expect(argc == 2);
	uint64_t blocks = strtoull(argv[1], NULL, 10) / 2;
	for (uint64_t n = 0; n < blocks; n++) {
		if (window[n % WINDOW])
			free(window[n % WINDOW]);
		window[n % WINDOW] = allocate(n, (unsigned)(n % 64), 6);
	}
	for (uint64_t n = 0; n < WINDOW; n++)
		free(window[n]);
	return 0;
}
