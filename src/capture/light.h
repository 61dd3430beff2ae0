/* light.h -- calls that are counted and handed on, where not each of them is recorded.
 * Runs: any thread of the target, inside malloc; inlined into the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call takes its bytes, and one more, off the thread's allowance. What is left tells how many
 * bytes there were, so that counting them costs nothing more. When the allowance does not do, or
 * there is none (the thread is new, or every call is recorded), the hook goes on to light.c. All is
 * the thread's own private memory: a signal handler that interrupts this, or a fork
 * child that goes on in the middle of it, can at worst make one call count twice or not at all. */
#ifndef MIDDEN_CAPTURE_LIGHT_H
#define MIDDEN_CAPTURE_LIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/boot.h"
#include "capture/hot.h"
#include "capture/sampler.h"
#include "capture/sieve.h"
#include "capture/thread.h"
#include "capture/unwatched.h"

enum light_mode {
	LIGHT_NONE = 0, /* every call is recorded */
	LIGHT_UNKNOWN,	/* nothing has started yet */
	LIGHT_SAMPLE,
	LIGHT_TAGS,
};
extern _Atomic uint32_t light_mode HIDDEN;

/* True: the thread's allocation is counted, and need but be made. */
static inline UNWATCHED bool light_take_by(struct thread *t, size_t bytes, uint32_t api)
{
	if (unlikely(bytes + 1 >= t->allowance))
		return false;
	t->allowance -= bytes + 1;
	t->light.calls[api]++;
	return true;
}

/* The same, by the calling one. */
static inline bool light_take(size_t bytes, uint32_t api)
{
	return light_take_by(thread_self, bytes, api);
}

#define LIGHT_SMALL_BYTES 512u /* more is malloc's, in all versions of Python */

/* The same for a request to Python's allocator, where none but small objects are sampled. */
static inline UNWATCHED bool light_take_small(struct thread *t, size_t bytes)
{
	if (unlikely(bytes > LIGHT_SMALL_BYTES))
		return true;
	if (unlikely(bytes + 1 >= t->small_left))
		return false;
	t->small_left -= bytes + 1;
	return true;
}

/* The same where one function of an allocator may be built on another. */
static inline bool light_take_outer(size_t bytes, uint32_t api)
{
	return likely(!real.may_nest) && light_take(bytes, api);
}

/* True: the free is counted, and need but be made. Of a thread that has an allowance. */
static inline bool light_release(struct thread *t, const void *block)
{
	if (unlikely(sieve_may_hold(block)))
		return false;
	t->light.frees++;
	return true;
}

/* True: the realloc of a block to this size is counted, and need but be made. */
static inline bool light_resize(const void *block, size_t bytes)
{
	if (unlikely(bytes == 0) || unlikely(sieve_may_hold(block)) ||
	    !light_take_outer(bytes, SEGMENT_API_REALLOC))
		return false;
	struct thread *t = thread_self;
	t->light.frees++;
	t->light.reallocations++;
	return true;
}

/* ---- light.c: where that was not enough ------------------------------------------------------ */

/* light_is_on where it is not known at once. */
NOINLINE bool light_find_mode(void);

/* Whether the functions below are to be told of a call, rather than those of hot.h. */
static inline bool light_is_on(void)
{
	return unlikely(atomic_load_explicit(&light_mode, memory_order_relaxed)) &&
	       light_find_mode();
}

/* That is, by light.c and not by counting.c. */
static inline bool light_is_sampling(void)
{
	return atomic_load_explicit(&light_mode, memory_order_relaxed) == LIGHT_SAMPLE;
}

/* Takes the mode and what belongs to it from the segment's header; NULL: nothing is recorded. */
void light_begin(const struct segment_header *h);

/* The thread is being attached, or ends. */
void light_attach(struct thread *t);
void light_end(struct thread *t);

/* The program ends: what its threads have counted becomes visible. */
void light_end_all(void);

/* What the calling thread has counted, in sampling mode; the collector can see it then, too. False:
 * nothing. */
bool light_pack_totals(uint64_t words[SEGMENT_TOTALS]);

/* A call has returned a block, or NULL. Counts it, and records it if it is due. */
NOINLINE void light_add(void *block, size_t bytes, uint32_t api, const struct walk_start *start);

/* Records a block that is due as a sample. Another one is to be drawn then. */
void light_record(void *block, size_t bytes, uint32_t kind, uint32_t api,
		  const struct walk_start *start);

/* A block is about to be given back by a hook that returns to `pc`. Counts it, and records it if it
 * is sampled. */
NOINLINE void light_remove(void *block, uint64_t frame, uint64_t pc);

/* A realloc of a block that is not NULL, from before the call until after it. */
struct light_move {
	void *block;
	struct sampler_block facts;
	uint64_t usable_bytes; /* tag mode alone */
	uint32_t api;
	bool sampled;
	bool refused; /* there was nothing to count */
};
NOINLINE void light_move_begin(struct light_move *m, void *block, const struct walk_start *start);
NOINLINE void light_move_end(const struct light_move *m, void *moved, size_t bytes,
			     const struct walk_start *start);
/* In place of the latter: the block is as it was. */
void light_move_undo(const struct light_move *m);

/* While a function runs that may be built on others that we stand in for: those neither count nor
 * are recorded. False: an outer one sees to it. */
NOINLINE bool light_mask(uint64_t frame);
NOINLINE void light_unmask(bool masked);
#define LIGHT_FRAME() ARCH_CFA()

#endif
