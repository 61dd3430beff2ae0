/* usable.c -- how much room an allocator gives for a size that is asked for. Runs: in a copy of the
 * collector; pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/usable.h"

#include <stddef.h>
#include <string.h>

#define GLIBC_LEAST	  24u
#define GLIBC_MAPPED_FROM (128u << 10) /* smaller ones are never mapped by themselves */
#define GLIBC_MAPPED_AT	  16u	       /* where the block begins on its first page */
#define SMALL_PAGE	  4096u	       /* larger pages are multiples of it */

/* Base names begin so. An allocator that is loaded beside the C library takes its place. */
static const struct {
	const char *start;
	int allocator;
} known[] = {
	{"libjemalloc", USABLE_JEMALLOC},	{"libtcmalloc", USABLE_UNKNOWN},
	{"libmimalloc", USABLE_UNKNOWN},	{"libtbbmalloc", USABLE_UNKNOWN},
	{"libsnmalloc", USABLE_UNKNOWN},	{"librpmalloc", USABLE_UNKNOWN},
	{"libhardened_malloc", USABLE_UNKNOWN}, {"ld-musl", USABLE_UNKNOWN},
};

int usable_recognise(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(slash + 1, known[i].start, strlen(known[i].start)) == 0)
			return known[i].allocator;
	return -1;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* A word in front of each block, multiples of two words; big ones on pages of their own, with two
 * words in front. */
static uint64_t get_glibc(uint64_t ptr, uint64_t size)
{
	if (size >= GLIBC_MAPPED_FROM && ptr % SMALL_PAGE == GLIBC_MAPPED_AT)
		return round_up(size + 16, SMALL_PAGE) - 16;
	return size <= GLIBC_LEAST ? GLIBC_LEAST : round_up(size + 8, 16) - 8;
}

/* Multiples of 16 up to 128, then four sizes from one power of two to the next. */
static uint64_t get_jemalloc(uint64_t size)
{
	if (size <= 8)
		return 8;
	if (size <= 128)
		return round_up(size, 16);
	return round_up(size, UINT64_C(1) << (61 - __builtin_clzll(size - 1)));
}

uint64_t usable_get(enum usable_allocator allocator, uint64_t ptr, uint64_t size)
{
	if (size > UINT64_MAX / 4)
		return size; /* what a target claims that cannot be */
	if (allocator == USABLE_GLIBC)
		return get_glibc(ptr, size);
	return allocator == USABLE_JEMALLOC ? get_jemalloc(size) : 0;
}
