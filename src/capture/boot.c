/* boot.c -- the real allocator behind us, and memory for the time before it is known.
 * Runs: in the first call of any hook.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/boot.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/counting.h"
#include "capture/family.h"
#include "capture/relink.h"

/* ---- arena ----------------------------------------------------------------------------------- */

/* Each block is preceded by its size; nothing is ever given back: dlsym needs a few hundred bytes,
 * once. */
_Alignas(64) char boot_arena[BOOT_ARENA_BYTES];
static _Atomic size_t arena_used;

static void *arena_take(size_t alignment, size_t bytes)
{
	size_t start, end;
	size_t used = atomic_load(&arena_used);

	if (alignment < 16)
		alignment = 16;
	do {
		start = (used + sizeof(size_t) + alignment - 1) & ~(alignment - 1);
		if (bytes > BOOT_ARENA_BYTES || start + bytes > BOOT_ARENA_BYTES) {
			errno = ENOMEM;
			return NULL;
		}
		end = start + bytes;
	} while (!atomic_compare_exchange_weak(&arena_used, &used, end));
	size_t word = bytes << 3 | COUNTING_MAPPED; /* no block for the quick ways: counting.h */
	memcpy(boot_arena + start - sizeof(size_t), &word, sizeof(size_t));
	return boot_arena + start;
}

size_t boot_block_bytes(const void *block)
{
	size_t word;

	memcpy(&word, (const char *)block - sizeof(size_t), sizeof(size_t));
	return word >> 3;
}

size_t boot_get_used(void)
{
	return atomic_load(&arena_used);
}

/* ---- stand-ins ------------------------------------------------------------------------------- */

static void *first_malloc(size_t bytes)
{
	return boot_resolve() ? real.malloc(bytes) : arena_take(16, bytes);
}

static void *first_calloc(size_t count, size_t bytes)
{
	size_t total;

	if (boot_resolve())
		return real.calloc(count, bytes);
	if (__builtin_mul_overflow(count, bytes, &total))
		return NULL;
	return arena_take(16, total); /* static memory is zero and never reused */
}

static void *first_realloc(void *block, size_t bytes)
{
	return boot_resolve() ? real.realloc(block, bytes) : block ? NULL : arena_take(16, bytes);
}

static void first_free(void *block)
{
	if (boot_resolve())
		real.free(block);
}

static void *first_memalign(size_t alignment, size_t bytes)
{
	return boot_resolve() ? real.memalign(alignment, bytes) : arena_take(alignment, bytes);
}

static int first_posix_memalign(void **block, size_t alignment, size_t bytes)
{
	if (boot_resolve())
		return real.posix_memalign(block, alignment, bytes);
	*block = arena_take(alignment, bytes);
	return *block ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t bytes)
{
	return boot_resolve() ? real.aligned_alloc(alignment, bytes) : arena_take(alignment, bytes);
}

static void *first_valloc(size_t bytes)
{
	return boot_resolve() ? real.valloc(bytes) : NULL;
}

static void *first_pvalloc(size_t bytes)
{
	return boot_resolve() ? real.pvalloc(bytes) : NULL;
}

static size_t first_usable_size(void *block)
{
	return boot_resolve() ? real.usable_size(block) : 0;
}

static void first_free_sized(void *block, size_t bytes)
{
	if (boot_resolve())
		real.free_sized(block, bytes);
}

static void first_free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
	if (boot_resolve())
		real.free_aligned_sized(block, alignment, bytes);
}

struct real real = {
	.malloc = first_malloc,
	.calloc = first_calloc,
	.realloc = first_realloc,
	.free = first_free,
	.memalign = first_memalign,
	.posix_memalign = first_posix_memalign,
	.aligned_alloc = first_aligned_alloc,
	.valloc = first_valloc,
	.pvalloc = first_pvalloc,
	.usable_size = first_usable_size,
	.free_sized = first_free_sized,
	.free_aligned_sized = first_free_aligned_sized,
};

/* An allocator need not know the C23 forms; then a plain free does. */
static void plain_free_sized(void *block, size_t bytes)
{
	(void)bytes;
	real.free(block);
}

static void plain_free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
	(void)alignment;
	(void)bytes;
	real.free(block);
}

/* ---- lookup ---------------------------------------------------------------------------------- */

enum { LOOKUP_NEW, LOOKUP_RUNNING, LOOKUP_DONE };
static _Atomic int lookup;

/* Copies the address of the next definition into a function pointer of whatever type. */
static bool look_up(const char *name, void *pointer)
{
	void *address = dlsym(RTLD_NEXT, name);

	if (address)
		memcpy(pointer, &address, sizeof(address));
	return address != NULL;
}

/* The same where there may be none. A dlsym that fails leaves a text that the next one frees: a
 * program's own free that asks dlsym for ours would never get out of that. */
static bool try_look_up(const char *name, void *pointer)
{
	return relink_is_defined(name) && look_up(name, pointer);
}

static void look_up_all(struct real *r)
{
	(void)look_up("malloc", &r->malloc);
	(void)look_up("calloc", &r->calloc);
	(void)look_up("realloc", &r->realloc);
	(void)look_up("free", &r->free);
	(void)look_up("memalign", &r->memalign);
	(void)look_up("posix_memalign", &r->posix_memalign);
	(void)look_up("aligned_alloc", &r->aligned_alloc);
	(void)look_up("valloc", &r->valloc);
	(void)try_look_up("pvalloc", &r->pvalloc);
	(void)look_up("malloc_usable_size", &r->usable_size);
	if (!try_look_up("free_sized", &r->free_sized))
		r->free_sized = plain_free_sized;
	if (!try_look_up("free_aligned_sized", &r->free_aligned_sized))
		r->free_aligned_sized = plain_free_aligned_sized;
	(void)look_up("fork", &r->fork);
	if (!try_look_up("_Fork", &r->bare_fork)) /* glibc 2.34, musl 1.2.3 */
		r->bare_fork = r->fork;
	(void)look_up("dlclose", &r->dlclose);
	(void)look_up("mlockall", &r->mlockall);
	(void)look_up("posix_spawn", &r->posix_spawn);
	(void)look_up("posix_spawnp", &r->posix_spawnp);
	(void)look_up("system", &r->system);
	(void)look_up("popen", &r->popen);
	(void)look_up("execve", &r->execve);
	(void)look_up("execvpe", &r->execvpe);
	(void)look_up("fexecve", &r->fexecve);
}

bool boot_resolve(void)
{
	int expected = LOOKUP_NEW;
	struct real found = real;

	if (atomic_load_explicit(&lookup, memory_order_acquire) == LOOKUP_DONE)
		return true;
	if (!atomic_compare_exchange_strong(&lookup, &expected, LOOKUP_RUNNING))
		return expected == LOOKUP_DONE;
	int saved = errno;
	look_up_all(&found);
	/* NOLINTNEXTLINE: a data pointer to compare */
	found.may_nest = family_find((const void *)(uintptr_t)found.malloc);
	real = found;
	errno = saved;
	atomic_store_explicit(&lookup, LOOKUP_DONE, memory_order_release);
	return true;
}
