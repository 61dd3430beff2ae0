/* pages.c -- big zeroed blocks straight from the kernel, in huge pages where it has them. Runs:
 * offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_BYTES ((size_t)2 << 20) /* x86_64, and aarch64 with 4 KiB pages */

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static size_t get_whole_pages(size_t bytes)
{
	return round_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
}

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at != MAP_FAILED ? at : NULL;
}

/* The kernel places a mapping at any page, so ask for more and give back what lies outside. */
static void *map_aligned(size_t bytes)
{
	char *at = bytes + HUGE_BYTES > bytes ? map(bytes + HUGE_BYTES) : NULL;
	size_t before = round_up((uintptr_t)at, HUGE_BYTES) - (uintptr_t)at;

	if (!at)
		return NULL;
	if (before)
		(void)munmap(at, before);
	(void)munmap(at + before + bytes, HUGE_BYTES - before);
	/* advice: a kernel without them says no */
	(void)madvise(at + before, bytes, MADV_HUGEPAGE);
	return at + before;
}

void *pages_find(size_t bytes)
{
	size_t whole = get_whole_pages(bytes);

	return whole < HUGE_BYTES ? map(whole) : map_aligned(whole);
}

void *pages_new(size_t bytes)
{
	static const char text[] = "midden: out of memory\n";
	void *at = pages_find(bytes);

	if (at)
		return at;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

void pages_advise(void *at, size_t bytes)
{
	size_t before = round_up((uintptr_t)at, HUGE_BYTES) - (uintptr_t)at;

	if (bytes < before + HUGE_BYTES)
		return;
	(void)madvise((char *)at + before, (bytes - before) / HUGE_BYTES * HUGE_BYTES,
		      MADV_HUGEPAGE);
}

void pages_withhold(void *block, size_t bytes)
{
	(void)madvise(block, get_whole_pages(bytes), MADV_DONTFORK);
}

void pages_lend(void *block, size_t bytes)
{
	(void)madvise(block, get_whole_pages(bytes), MADV_DOFORK);
}

void pages_free(void *block, size_t bytes)
{
	if (block)
		(void)munmap(block, get_whole_pages(bytes));
}
