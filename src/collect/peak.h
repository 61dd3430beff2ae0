/* peak.h -- what is live, the most that ever was, and who held it then. Runs: in the collector,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each new peak gets a number. A holding (of a site, of a thread) that is about to change first
 * keeps its state as its share of the peak if it has not changed since that peak: so the share
 * of every holding in the final peak is exact, at O(1) per event, though no one is visited when
 * a peak is set. */
#ifndef MIDDEN_COLLECT_PEAK_H
#define MIDDEN_COLLECT_PEAK_H

#include <stdint.h>

struct peak {
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t span_bytes; /* the most since the series made its last point */
	uint64_t bytes;
	uint64_t blocks; /* live when `bytes` were */
	uint64_t ticks;
	uint64_t number;
};

/* The blocks of one owner. What is live is what came less what went. Times are ticks. */
struct holding {
	uint64_t allocations;
	uint64_t allocated_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t own_peak_bytes;
	uint64_t own_peak_ticks;
	uint64_t peak_seen; /* number of the peak that at_peak_* belong to */
	uint64_t at_peak_bytes;
	uint64_t at_peak_blocks;
	uint64_t size_min;
	uint64_t size_max;
	uint64_t life_min;
	uint64_t life_max;
	uint64_t life_sum;
};

void holding_init(struct holding *h);

/* Sizes and lifetimes of `part` are among those of `h`. */
void holding_widen(struct holding *h, const struct holding *part);

static inline uint64_t holding_get_bytes(const struct holding *h)
{
	return h->allocated_bytes - h->freed_bytes;
}

static inline uint64_t holding_get_blocks(const struct holding *h)
{
	return h->allocations - h->frees;
}

/* To be called before every change, and before at_peak_* are read. */
static inline void holding_settle(struct holding *h, const struct peak *p)
{
	if (h->peak_seen == p->number)
		return;
	h->peak_seen = p->number;
	h->at_peak_bytes = holding_get_bytes(h);
	h->at_peak_blocks = holding_get_blocks(h);
}

static inline void holding_add(struct holding *h, const struct peak *p, uint64_t size,
			       uint64_t ticks)
{
	holding_settle(h, p);
	h->allocations++;
	h->allocated_bytes += size;
	if (size < h->size_min)
		h->size_min = size;
	if (size > h->size_max)
		h->size_max = size;
	if (holding_get_bytes(h) > h->own_peak_bytes) {
		h->own_peak_bytes = holding_get_bytes(h);
		h->own_peak_ticks = ticks;
	}
}

static inline void holding_remove(struct holding *h, const struct peak *p, uint64_t size,
				  uint64_t life)
{
	holding_settle(h, p);
	h->frees++;
	h->freed_bytes += size;
	h->life_sum += life;
	if (life < h->life_min)
		h->life_min = life;
	if (life > h->life_max)
		h->life_max = life;
}

/* After the holdings have the block: a new peak must find it there. */
static inline void peak_add(struct peak *p, uint64_t size, uint64_t ticks)
{
	p->live_bytes += size;
	p->live_blocks++;
	if (p->live_bytes <= p->span_bytes)
		return;
	p->span_bytes = p->live_bytes;
	if (p->live_bytes <= p->bytes)
		return;
	p->bytes = p->live_bytes;
	p->blocks = p->live_blocks;
	p->ticks = ticks;
	p->number++;
}

/* The same for a block that stands for several. */
static inline void peak_add_many(struct peak *p, uint64_t bytes, uint64_t blocks, uint64_t ticks)
{
	p->live_blocks += blocks - 1;
	peak_add(p, bytes, ticks);
}

static inline void peak_remove_many(struct peak *p, uint64_t bytes, uint64_t blocks)
{
	p->live_bytes -= bytes;
	p->live_blocks -= blocks;
}

static inline void peak_remove(struct peak *p, uint64_t size)
{
	p->live_bytes -= size;
	p->live_blocks--;
}

#endif
