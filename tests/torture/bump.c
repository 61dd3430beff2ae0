/* bump.c -- an allocator that may be entered from a signal handler at any moment.
 * Runs: preloaded below midden, in the rounds of the kind `anywhere`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks lie one behind the other and are never used again, so one atomic addition is all there is
 * to it. With any other allocator a handler that allocates has to wait until the program is outside
 * of it; with this one it can interrupt midden's hooks at every instruction. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM_BYTES ((size_t)32 << 30) /* of addresses; pages are used as they are touched */
#define HEAD_BYTES ((size_t)16)	      /* before each block: its size */

static _Atomic uintptr_t room;
static _Atomic size_t used;

/* Two that come here at once may both map; the second gives its room back. */
static uintptr_t get_room(void)
{
	uintptr_t base = atomic_load(&room), none = 0;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

	if (base)
		return base;
	void *map = mmap(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (map == MAP_FAILED)
		return 0;
	if (atomic_compare_exchange_strong(&room, &none, (uintptr_t)map))
		return (uintptr_t)map;
	(void)munmap(map, ROOM_BYTES);
	return none;
}

static size_t *head_of(void *block)
{
	return (size_t *)block - HEAD_BYTES / sizeof(size_t);
}

static void *take(size_t alignment, size_t bytes)
{
	size_t whole = ((bytes + 15) & ~(size_t)15) + HEAD_BYTES + alignment;
	uintptr_t base = get_room();

	if (base && bytes < ROOM_BYTES / 2) {
		size_t at = atomic_fetch_add(&used, whole);

		if (at + whole <= ROOM_BYTES) {
			uintptr_t block = (base + at + HEAD_BYTES + alignment - 1) & -alignment;

			*head_of((void *)block) = bytes;
			return (void *)block;
		}
	}
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t bytes)
{
	return take(16, bytes);
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t bytes)
{
	size_t whole;

	return take(16, __builtin_mul_overflow(count, bytes, &whole) ? SIZE_MAX : whole);
}

void *realloc(void *block, size_t bytes)
{
	void *moved = take(16, bytes);

	if (moved && block)
		memcpy(moved, block, *head_of(block) < bytes ? *head_of(block) : bytes);
	return moved;
}

void *memalign(size_t alignment, size_t bytes)
{
	return take(alignment, bytes);
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
	return block ? *head_of(block) : 0;
}
