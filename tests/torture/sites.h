/* sites.h -- the body of a function that allocates, for the program and for its plugins.
 * Runs: inside the torture program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_TORTURE_SITES_H
#define MIDDEN_TESTS_TORTURE_SITES_H

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "torture.h"

static inline void *sites_posix(const struct ask *ask)
{
	void *block = NULL;

	return posix_memalign(&block, ask->alignment, ask->bytes) == 0 ? block : NULL;
}

static inline __attribute__((always_inline)) void *sites_perform(const struct ask *ask)
{
	switch (ask->how) {
	case HOW_CALLOC:
		return calloc(1, ask->bytes);
	case HOW_MEMALIGN:
		return memalign(ask->alignment, ask->bytes);
	case HOW_POSIX_MEMALIGN:
		return sites_posix(ask);
	case HOW_ALIGNED_ALLOC:
		return aligned_alloc(ask->alignment, ask->bytes);
	case HOW_STRDUP:
		return strdup(ask->text);
	case HOW_STRNDUP:
		return strndup(ask->text, ask->bytes - 1);
	case HOW_REALLOC_NULL:
		return realloc(NULL, ask->bytes);
	case HOW_REALLOC:
		return realloc(ask->old, ask->bytes);
	case HOW_REALLOCARRAY:
		return reallocarray(ask->old, ask->bytes, 1);
	default:
		return malloc(ask->bytes);
	}
}

/* Never inlined or left by a jump: its frame is what the profile is read by. The return
 * address into it is that of a call, so the block must be looked at afterwards. */
#define SITE(number)                                                               \
	__attribute__((noinline)) void *torture_site_##number(const struct ask *a) \
	{                                                                          \
		void *block = sites_perform(a);                                    \
		__asm__ volatile("" : "+r"(block) : : "memory");                   \
		return block;                                                      \
	}

#endif
