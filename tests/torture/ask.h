/* ask.h -- how a block is asked for; what the C and the C++ files of the torture program share.
 * Runs: inside the torture program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_TORTURE_ASK_H
#define MIDDEN_TESTS_TORTURE_ASK_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SITES_CXX 4u

struct worker;

enum how {
	HOW_MALLOC,
	HOW_CALLOC,
	HOW_MEMALIGN,
	HOW_POSIX_MEMALIGN,
	HOW_ALIGNED_ALLOC,
	HOW_STRDUP,
	HOW_STRNDUP,
	HOW_REALLOC_NULL,
	HOW_PLAIN, /* how many there are above, which free() gives back */
	HOW_REALLOC = HOW_PLAIN,
	HOW_REALLOCARRAY,
	HOW_NEW,
	HOW_NEW_ARRAY,
	HOW_NEW_NOTHROW,
	HOW_NEW_ALIGNED,
};

struct ask {
	enum how how;
	size_t bytes;
	size_t alignment;
	const char *text; /* of bytes - 1 letters, for the forms of strdup */
	void *old;	  /* for the forms of realloc */
};

typedef void *site_function(const struct ask *ask);

extern site_function *const sites_cxx[SITES_CXX];
void sites_delete(void *block, enum how how, size_t alignment);

/* The caller's; a coroutine may come back on another thread, so it asks anew each time. */
struct worker *worker_get(void);
/* blocks_act from under a random stack: recursion, jumps, handlers, coroutines, exceptions. */
void paths_act(struct worker *me);
void paths_throw(unsigned depth);

#ifdef __cplusplus
}
#endif

#endif
