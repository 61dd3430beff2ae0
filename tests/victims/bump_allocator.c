/* bump_allocator.c -- an allocator that may be called in any signal handler. Linked by
 * signal_anywhere.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Takes memory from one large mapping by an atomic addition and never gives any back. Each block
 * is preceded by its size. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) char room[(size_t)1 << 30]; /* touched as used */
static _Atomic size_t used = 64;

/* Everything goes through here, not through the exported names: others may stand in for those. */
static void *take(size_t alignment, size_t bytes)
{
	size_t whole = bytes + alignment + 16;
	size_t start = atomic_fetch_add(&used, whole);

	if (bytes > sizeof(room) || start + whole > sizeof(room)) {
		errno = ENOMEM;
		return NULL;
	}
	uintptr_t block = ((uintptr_t)(room + start) + 16 + alignment - 1) & ~(alignment - 1);
	((size_t *)block)[-1] = bytes;
	return (void *)block;
}

void *memalign(size_t alignment, size_t bytes)
{
	return take(alignment, bytes);
}

void *malloc(size_t bytes)
{
	return take(16, bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return take(16, count * bytes); /* memory of a mapping is zero, and none is used twice */
}

void *realloc(void *block, size_t bytes)
{
	void *moved = take(16, bytes);

	if (moved && block) {
		size_t old = ((size_t *)block)[-1];
		memcpy(moved, block, old < bytes ? old : bytes);
	}
	return moved;
}

void free(void *block)
{
	(void)block;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return take(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
	*block = take(alignment, bytes);
	return *block ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *block)
{
	return block ? ((size_t *)block)[-1] : 0;
}
