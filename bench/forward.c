/* forward.c -- a preloaded library that hands each allocation call on and does nothing else: the
 * least that any preloaded profiler costs. Built and used by bench/run.py.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
} next;

/* dlsym may allocate; what it gets before `next` is known comes from here and is never reused. */
static _Alignas(16) char early[4096];
static size_t early_used;

static void *allocate_early(size_t size)
{
	void *block = early + early_used;

	if (size > sizeof(early) - early_used)
		return NULL;
	early_used += (size + 15) & ~(size_t)15;
	return block;
}

static int is_early(const void *block)
{
	return (const char *)block >= early && (const char *)block < early + sizeof(early);
}

static void find(void *place, const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	memcpy(place, &function, sizeof(function));
}

/* Other objects' constructors may call malloc before ours has run. */
static __attribute__((constructor, noinline, cold)) void init(void)
{
	static int started;

	if (started)
		return;
	started = 1;
	find(&next.calloc, "calloc");
	find(&next.realloc, "realloc");
	find(&next.free, "free");
	find(&next.memalign, "memalign");
	find(&next.posix_memalign, "posix_memalign");
	find(&next.aligned_alloc, "aligned_alloc");
	find(&next.malloc, "malloc");
}

#define IS_READY(function) (__builtin_expect(next.function != NULL, 1) || (init(), next.function))

void *malloc(size_t size)
{
	return IS_READY(malloc) ? next.malloc(size) : allocate_early(size);
}

void *calloc(size_t count, size_t size)
{
	return IS_READY(calloc) ? next.calloc(count, size) : allocate_early(count * size);
}

void *realloc(void *block, size_t size)
{
	return IS_READY(realloc) ? next.realloc(block, size) : allocate_early(size);
}

void free(void *block)
{
	if (!is_early(block) && IS_READY(free))
		next.free(block);
}

void *memalign(size_t alignment, size_t size)
{
	return IS_READY(memalign) ? next.memalign(alignment, size) : NULL;
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	return IS_READY(posix_memalign) ? next.posix_memalign(block, alignment, size) : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return IS_READY(aligned_alloc) ? next.aligned_alloc(alignment, size) : NULL;
}
