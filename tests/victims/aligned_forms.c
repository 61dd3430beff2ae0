/* aligned_forms.c -- every aligned entry point, odd sizes included. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: for each alignment 16 .. 65,536 and each size 0, 1, 17, 100, 4,097: one block each from
 * memalign, posix_memalign and aligned_alloc (13 x 5 x 3 = 195 blocks); for each of those sizes one
 * from valloc and pvalloc, and reallocarray of NULL and of that block (to 3 x size + 3). All freed
 * but the last of each kind. Failures: posix_memalign with a bad alignment (EINVAL) and with too
 * large a size, memalign too large, reallocarray with a product that overflows (the block stays).
 * Sizes count as asked for, never as rounded. */
#include "truth.h"

#include <errno.h>
#include <malloc.h>

#ifndef __GLIBC__
#define pvalloc valloc /* musl has none */
#endif

static const size_t sizes[] = {0, 1, 17, 100, 4097};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int is_aligned(const void *block, size_t alignment)
{
	return ((uintptr_t)block & (alignment - 1)) == 0;
}

static void *posix_form(size_t alignment, size_t size)
{
	void *block = NULL;
	int failed = posix_memalign(&block, alignment, size);

	truth_expect(!failed);
	return truth_got(block, size);
}

static void each_alignment(size_t alignment)
{
	for (size_t i = 0; i < SIZES; i++) {
		void *a = truth_got(memalign(alignment, sizes[i]), sizes[i]);
		void *b = posix_form(alignment, sizes[i]);
		void *c = truth_got(aligned_alloc(alignment, sizes[i]), sizes[i]);
		truth_expect(is_aligned(a, alignment) && is_aligned(b, alignment));
		truth_expect(is_aligned(c, alignment));
		truth_free(b, sizes[i]);
		truth_free(a, sizes[i]);
		truth_free(c, sizes[i]);
	}
}

static void page_forms(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < SIZES; i++) {
		void *a = truth_got(valloc(sizes[i]), sizes[i]);
		void *b = truth_got(pvalloc(sizes[i]), sizes[i]);
		truth_expect(is_aligned(a, page) && is_aligned(b, page));
		truth_free(a, sizes[i]);
		if (i + 1 < SIZES)
			truth_free(b, sizes[i]);
	}
}

static void array_form(void)
{
	for (size_t i = 0; i < SIZES; i++) {
		void *block = truth_got(reallocarray(NULL, sizes[i], 3), sizes[i] * 3);
		void *grown = reallocarray(block, sizes[i] + 1, 3);

		truth_expect(grown != NULL);
		truth_resized(grown, sizes[i] * 3, sizes[i] * 3 + 3);
		errno = 0;
		truth_got(reallocarray(grown, SIZE_MAX / 2, 3), 0);
		truth_expect(errno == ENOMEM);
		truth_free(grown, sizes[i] * 3 + 3);
	}
}

static void failing_forms(void)
{
	void *untouched = &untouched;

	truth_expect(posix_memalign(&untouched, 3, 64) == EINVAL);
	truth_got(NULL, 0);
	truth_expect(posix_memalign(&untouched, 64, PTRDIFF_MAX) == ENOMEM);
	truth_got(NULL, 0);
	truth_expect(untouched == (void *)&untouched);
	truth_expect(truth_got(memalign(64, PTRDIFF_MAX), 0) == NULL);
	truth_expect(errno == ENOMEM);
}

int main(void)
{
	for (size_t alignment = 16; alignment <= 65536; alignment *= 2)
		each_alignment(alignment);
	page_forms();
	array_form();
	failing_forms();
	return 0;
}
