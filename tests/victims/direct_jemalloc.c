/* direct_jemalloc.c -- jemalloc's own interface, linked. Run by tests/e2e/allocators.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap of mode `full` beyond `bare`: 500 rounds of mallocx(100 + n), rallocx to twice that,
 * dallocx; 500 of mallocx with an alignment of 64, given back by sdallocx; 100 of mallocx that are
 * kept (10 bytes each); 100 malloc/free of 50 bytes between them. Mode `xallocx` resizes
 * 4,096-byte-class blocks in place: 100 x from 3,600 to 4,000 bytes, both of class 4,096. */
#include "truth.h"

#include <jemalloc/jemalloc.h>

static void resized_and_freed(void)
{
	for (size_t n = 0; n < 500; n++) {
		void *block = truth_got(mallocx(100 + n, 0), 100 + n);
		void *grown = rallocx(block, 200 + 2 * n, 0);

		truth_expect(grown && sallocx(grown, 0) >= 200 + 2 * n);
		truth_resized(grown, 100 + n, 200 + 2 * n);
		truth_gone(grown, 200 + 2 * n);
		dallocx(grown, 0);
	}
}

static void aligned_and_sized(void)
{
	for (size_t n = 0; n < 500; n++) {
		void *block = truth_got(mallocx(64 + n, MALLOCX_ALIGN(64)), 64 + n);

		truth_expect((uintptr_t)block % 64 == 0);
		truth_gone(block, 64 + n);
		sdallocx(block, 64 + n, MALLOCX_ALIGN(64));
	}
}

static void kept(void)
{
	for (int i = 0; i < 100; i++) {
		truth_got(mallocx(10, MALLOCX_ZERO), 10);
		truth_free(truth_malloc(50), 50);
	}
}

static void in_place(void)
{
	for (int i = 0; i < 100; i++) {
		void *block = truth_got(mallocx(3600, 0), 3600);

		truth_expect(xallocx(block, 4000, 0, 0) >= 4000);
		truth_resized(block, 3600, 4000);
		/* No room for a megabyte in place: nothing changes. */
		truth_expect(xallocx(block, 1 << 20, 0, 0) < (1 << 20));
		truth_gone(block, 4000);
		dallocx(block, 0);
	}
}

int main(int argc, char **argv)
{
	truth_use(0);
	if (truth_mode_is(argc, argv, "full")) {
		resized_and_freed();
		aligned_and_sized();
		kept();
	} else if (truth_mode_is(argc, argv, "xallocx")) {
		in_place();
	}
	return 0;
}
