/* sampler.h -- which blocks are sampled: the draw, and the table of those that live.
 * Runs: any thread of the target, inside malloc. Called by light.c; `sampler_filter` by the hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes are marked at random, one in `period` on average and none more likely than another; a block
 * is sampled if one of its bytes is (and of one byte more, or blocks of no bytes would never be).
 * Each thread counts down to its next mark. The table bounds what this takes: once it holds as many
 * blocks as the recording allows, the period doubles, and each block stays with the probability
 * that makes it as likely to be there as if the longer period had held from the start. */
#ifndef MIDDEN_CAPTURE_SAMPLER_H
#define MIDDEN_CAPTURE_SAMPLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"

struct thread;

/* How many blocks of the table have each hash; 255 stays, whatever goes. One load tells a free that
 * its block, as nearly all, is not sampled. */
#define SAMPLER_FILTER_BYTES 65536u
extern _Atomic uint8_t sampler_filter[SAMPLER_FILTER_BYTES] HIDDEN;

/* Blocks side by side have bytes side by side, so that a program that works on few blocks needs
 * little of the table in its cache. Blocks that are aligned to pages share 256 of them; they are
 * large, and what it costs to look for one in vain is nothing beside what they are made for. */
static inline uint32_t sampler_index(const void *block)
{
	return (uint32_t)((uintptr_t)block >> 4) % SAMPLER_FILTER_BYTES;
}

/* False: the block is not sampled, nor anything else that a free must see. The block's maker has
 * stored what is needed before anybody else had its address. */
static inline bool sampler_may_know(const void *block)
{
	return atomic_load_explicit(&sampler_filter[sampler_index(block)], memory_order_relaxed);
}

/* Makes every free of this address be looked at, for good. */
void sampler_watch(const void *block);

/* Forgets all blocks, and takes the period and the limit from the segment's header. */
void sampler_begin(void);

/* Gives the thread its first allowance; where not all is sampled, the one for small objects. */
void sampler_attach(struct thread *t);

/* Draws the thread's next allowance; the one for small objects. */
void sampler_draw(struct thread *t);
void sampler_draw_small(struct thread *t);

struct sampler_block {
	uint64_t bytes;
	uint64_t period;
};

/* Enters a block, which nobody else knows yet. False: there is no room. */
bool sampler_put(const void *block, struct sampler_block facts);

/* Takes a block out. False: it was not there. */
bool sampler_take(const void *block, struct sampler_block *facts);

/* Whether there are more blocks than there should be. */
bool sampler_is_crowded(void);

/* Doubles the period and thins the table; one thread at a time, the others go on. Signals must be
 * blocked. */
void sampler_thin(void);

/* The mean distance of samples from now on, in bytes; a thread follows with its next sample. What
 * is sampled already keeps its weight. Bounded to what is possible. */
void sampler_set_period(uint64_t period_bytes);

/* The period in force; 0 where nothing is sampled. */
uint64_t sampler_get_period(void);

#endif
