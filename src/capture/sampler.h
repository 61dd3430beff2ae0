/* sampler.h -- which blocks are sampled: the draw, and the table of those that live.
 * Runs: any thread of the target, inside malloc. Called by light.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes are marked at random, one in `period` on average and none more likely than another; a block
 * is sampled if one of its bytes is (and of one byte more, or blocks of no bytes would never be).
 * Each thread counts down to its next mark. The table bounds what this takes: once it holds as many
 * blocks as the recording allows, the period doubles, and each block stays with the probability
 * that makes it as likely to be there as if the longer period had held from the start. */
#ifndef MIDDEN_CAPTURE_SAMPLER_H
#define MIDDEN_CAPTURE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

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
