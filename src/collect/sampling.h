/* sampling.h -- what is known beyond the figures when blocks are sampled: each sample's weight, how
 * sure each site's figures are, and what the target counted without recording it.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_SAMPLING_H
#define MIDDEN_COLLECT_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/peak.h"
#include "collect/weight.h"
#include "format/segment.h"

/* A live one; its block's `size` is its number. */
struct sample {
	struct weight weight;
	uint64_t size;
	uint64_t key;
	uint32_t next_free; /* number of the next unused one, if this is unused; 0: none */
	uint8_t api;
};

/* Variances of sums over samples. */
struct doubt {
	double bytes;
	double blocks;
};

/* Of a site, as its holding. */
struct site_doubt {
	struct doubt allocated;
	struct doubt live;
	struct doubt at_peak;
	double temporary;
	uint64_t peak_seen; /* number of the peak that at_peak belongs to */
};

/* What a thread, or all of them, did: exact. */
struct sampling_totals {
	uint64_t calls[SEGMENT_API_KINDS];
	uint64_t allocations;
	uint64_t bytes;
	uint64_t frees;
	uint64_t reallocations;
};

/* As the target was told. */
struct sampling_terms {
	uint64_t period;
	uint64_t seed;
	bool partly; /* small objects of Python alone are samples: every other block is recorded */
};

/* What a thread does while it is not recorded is counted by the target all the same. */
struct sampling_pause {
	struct sampling_totals left_out;   /* what does not count */
	struct sampling_totals stopped_at; /* what there was when the last pause began */
	bool is_stopped;
};

struct sampling {
	const struct segment_slot *slots;
	uint32_t slot_count;
	uint32_t used; /* one past the last slot that ever had a thread: there are 32,768 */
	bool partly;
	uint64_t seed;
	uint64_t first_period;
	uint64_t longest_period;    /* that any thread has had */
	uint64_t *periods;	    /* by slot; 0: no thread is there */
	uint64_t *keys;		    /* by slot: of its next sample */
	VEC(struct sample) samples; /* number 0 is none */
	uint32_t free_sample;
	VEC(struct site_doubt) doubts; /* by site */
	/* by thread: of its slots that are closed, and of what was live when figures started over
	 */
	VEC(struct sampling_totals) retired;
	struct sampling_pause *pauses; /* by slot; NULL: all of what the threads did counts */
	struct sampling_totals shown;  /* by the last point: sums never go back */
	uint64_t shown_freed_bytes;
};

struct sampling *sampling_new(const struct sampling_terms *terms, const struct segment_slot *slots,
			      uint32_t slot_count);
void sampling_free(struct sampling *s);

/* A thread acts in the slot, or no longer does: then its totals count for this thread record. */
void sampling_open(struct sampling *s, uint32_t slot, uint32_t serial);
void sampling_close(struct sampling *s, uint32_t slot, uint32_t thread);

/* The samples of the slot have this period from now on. */
void sampling_set_period(struct sampling *s, uint32_t slot, uint64_t period);

/* A new sample; its number. */
uint32_t sampling_add(struct sampling *s, const struct sample *sample);
void sampling_remove(struct sampling *s, uint32_t number);

/* The doubt of a site, at the current peak; valid until another site is asked for. */
struct site_doubt *sampling_get_doubt(struct sampling *s, uint32_t site, const struct peak *p);

/* What the thread in the slot has counted so far, added to `sum`. */
void sampling_add_slot(const struct sampling *s, uint32_t slot, struct sampling_totals *sum);
void sampling_sum(struct sampling_totals *sum, const struct sampling_totals *more);

/* What the target shows of the thread in a slot, and what it sent along with an order. */
struct sampling_totals sampling_read(const struct sampling *s, uint32_t slot);
struct sampling_totals sampling_unpack(const uint64_t words[SEGMENT_TOTALS]);

/* The thread is not recorded from now on, or is again; `now` is what it has done so far. */
void sampling_stop(struct sampling *s, uint32_t slot, const struct sampling_totals *now);
void sampling_start(struct sampling *s, uint32_t slot, const struct sampling_totals *now);

/* Figures start over: what the thread in the slot, and all those that have ended, did until now
 * does not count. */
void sampling_clear_slot(struct sampling *s, uint32_t slot, const struct sampling_totals *now);
void sampling_clear(struct sampling *s);

/* Then a thread's blocks that are still live count as if it had allocated them now. */
void sampling_carry(struct sampling *s, uint32_t thread, uint64_t blocks, uint64_t bytes);

/* Of all threads. */
struct sampling_totals sampling_get_totals(const struct sampling *s);

#endif
