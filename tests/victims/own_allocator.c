/* own_allocator.c -- an allocator that signal handlers may leave by a jump, and whose realloc goes
 * through malloc and free as any program would. A library, preloaded by tests/e2e/harsh.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks are taken off one large mapping and never given back: an atomic addition, which cannot be
 * caught half done. Each is preceded by its size. A program that finds own_allocator_pause may set
 * it: realloc calls it between its malloc and its free. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES (UINT64_C(16) << 30) /* reserved, touched as it is used */
#define ALIGNMENT   16u

void free_sized(void *block, size_t bytes);
size_t malloc_usable_size(void *block);
extern void (*own_allocator_pause)(void);
void (*own_allocator_pause)(void);

static _Atomic uintptr_t start;
static _Atomic uint64_t used;

static uintptr_t get_start(void)
{
	uintptr_t at = atomic_load(&start), none = 0;

	if (at)
		return at;
	void *fresh = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fresh == MAP_FAILED)
		return 0;
	if (!atomic_compare_exchange_strong(&start, &none, (uintptr_t)fresh))
		(void)munmap(fresh, ARENA_BYTES);
	return atomic_load(&start);
}

void *malloc(size_t bytes)
{
	uint64_t whole = (bytes + 2 * ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	uintptr_t at = get_start();

	if (!at || bytes > ARENA_BYTES || atomic_load(&used) + whole > ARENA_BYTES) {
		errno = ENOMEM;
		return NULL;
	}
	at += atomic_fetch_add(&used, whole);
	*(size_t *)at = bytes;
	return (void *)(at + ALIGNMENT);
}

void free(void *block)
{
	(void)block;
}

void free_sized(void *block, size_t bytes)
{
	(void)bytes;
	free(block);
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes);
}

size_t malloc_usable_size(void *block)
{
	return block ? *(size_t *)((char *)block - ALIGNMENT) : 0;
}

void *realloc(void *block, size_t bytes)
{
	void *moved = malloc(bytes);
	size_t old = malloc_usable_size(block);

	if (moved && block)
		memcpy(moved, block, old < bytes ? old : bytes);
	if (own_allocator_pause)
		own_allocator_pause();
	if (moved)
		free(block);
	return moved;
}
