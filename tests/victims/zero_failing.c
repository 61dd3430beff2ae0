/* zero_failing.c -- zero sizes, impossible sizes and errno. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap by mode: `zero`: 100 each of malloc(0), calloc(0, 8), calloc(8, 0), realloc(NULL, 0): 400
 * blocks of 0 bytes, half of them freed, peak 0 bytes, and then one block of 1 byte (peak 1 byte in
 * 201 blocks); `fail`: 50 each of malloc(PTRDIFF_MAX), malloc(SIZE_MAX), calloc(SIZE_MAX / 2, 3),
 * calloc(PTRDIFF_MAX, 1): 200 failures with ENOMEM, no block; `errno`: every entry point succeeds
 * with errno 77 before and after, free(NULL) and free leave it too. */
#include "truth.h"

#include <errno.h>
#include <malloc.h>

static void zero(void)
{
	for (int i = 0; i < 100; i++) {
		void *a = truth_malloc(0), *b = truth_calloc(0, 8);
		void *c = truth_calloc(8, 0), *d = truth_realloc(NULL, 0, 0);

		truth_expect(a && b && c && d);
		truth_free(a, 0);
		truth_free(c, 0);
	}
	truth_malloc(1);
}

static void expect_failure(void *block)
{
	truth_got(block, 0);
	truth_expect(block == NULL && errno == ENOMEM);
	errno = 0;
}

static void fail(void)
{
	volatile size_t most = SIZE_MAX;

	errno = 0;
	for (int i = 0; i < 50; i++) {
		expect_failure(malloc(most / 2));
		expect_failure(malloc(most));
		expect_failure(calloc(most / 2, 3));
		expect_failure(calloc(most / 2, 1));
	}
}

static void *kept(void *block, size_t size)
{
	truth_expect(errno == 77);
	return truth_got(block, size);
}

static void drop(void *block, size_t size)
{
	truth_free(block, size);
	truth_expect(errno == 77);
}

static void keep_errno(void)
{
	void *block = NULL;

	errno = 77;
	for (int i = 0; i < 5000; i++) { /* enough to refill event buffers in between */
		drop(kept(malloc(10), 10), 10);
		drop(kept(calloc(10, 2), 20), 20);
		block = kept(realloc(NULL, 30), 30);
		block = truth_realloc(block, 30, 300);
		truth_expect(errno == 77);
		drop(block, 300);
		drop(kept(memalign(64, 40), 40), 40);
		drop(kept(aligned_alloc(64, 64), 64), 64);
		drop(kept(valloc(50), 50), 50);
		truth_expect(posix_memalign(&block, 64, 60) == 0);
		drop(kept(block, 60), 60);
		drop(NULL, 0);
	}
	truth_expect(posix_memalign(&block, 3, 60) == EINVAL);
	truth_got(NULL, 0);
	truth_expect(errno == 77);
}

int main(int argc, char **argv)
{
	if (truth_mode_is(argc, argv, "zero"))
		zero();
	else if (truth_mode_is(argc, argv, "fail"))
		fail();
	else if (truth_mode_is(argc, argv, "errno"))
		keep_errno();
	else
		return 2;
	return 0;
}
