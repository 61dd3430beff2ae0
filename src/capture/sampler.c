/* sampler.c -- which blocks are sampled: the draw, and the table of those that live.
 * Runs: any thread of the target, inside malloc. Called by light.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/sampler.h"

#include "capture/boot.h"
#include "capture/draw.h"
#include "capture/hot.h"
#include "capture/sieve.h"
#include "capture/thread.h"

/* Two buckets are a block's: with the table at most half full, both are full less than once in
 * 1e12. */
#define BUCKETS	       4096u
#define BUCKET_BLOCKS  8u
#define BLOCKS	       (BUCKETS * BUCKET_BLOCKS)
#define BLOCKS_MOST    (BLOCKS / 2)
#define BLOCK_RESERVED ((uint64_t)1) /* being entered; no block has this address */

/* By place. A bucket of addresses is a cache line. */
static _Alignas(64) _Atomic uint64_t addresses[BLOCKS];
static struct sampler_block blocks[BLOCKS];
static _Atomic uint32_t block_count;
static uint32_t block_limit;
static _Atomic bool is_thinning;
static bool is_used;

/* ---- table ----------------------------------------------------------------------------------- */

/* The first place of either bucket of a block. */
static uint32_t bucket_of(uint64_t address, unsigned which)
{
	uint64_t hash = (address ^ address >> 32) * UINT64_C(0x9e3779b97f4a7c15);

	hash ^= hash >> 29;
	hash *= UINT64_C(0xd1342543de82ef95);
	return (uint32_t)(hash >> (which ? 52 : 20)) % BUCKETS * BUCKET_BLOCKS;
}

bool sampler_put(const void *block, struct sampler_block facts)
{
	uint64_t address = (uint64_t)(uintptr_t)block;

	for (unsigned i = 0; i < 2 * BUCKET_BLOCKS; i++) {
		uint32_t place = bucket_of(address, i % 2) + i / 2;
		uint64_t empty = 0;

		if (!atomic_compare_exchange_strong(&addresses[place], &empty, BLOCK_RESERVED))
			continue;
		blocks[place] = facts;
		sieve_add(block);
		/* Pairs with the acquire of sampler_take and of the thinning thread. */
		atomic_store_explicit(&addresses[place], address, memory_order_release);
		atomic_fetch_add_explicit(&block_count, 1, memory_order_relaxed);
		return true;
	}
	return false;
}

/* Takes the block out of its place unless somebody else has. */
static bool clear_place(uint32_t place, uint64_t address)
{
	if (!atomic_compare_exchange_strong(&addresses[place], &address, 0))
		return false;
	sieve_remove((const void *)(uintptr_t)address); /* NOLINT: not to be followed */
	atomic_fetch_sub_explicit(&block_count, 1, memory_order_relaxed);
	return true;
}

bool sampler_take(const void *block, struct sampler_block *facts)
{
	uint64_t address = (uint64_t)(uintptr_t)block;

	for (unsigned i = 0; i < 2 * BUCKET_BLOCKS; i++) {
		uint32_t place = bucket_of(address, i % 2) + i / 2;

		if (atomic_load_explicit(&addresses[place], memory_order_acquire) != address)
			continue;
		*facts = blocks[place];
		return clear_place(place, address);
	}
	return false;
}

/* ---- period ---------------------------------------------------------------------------------- */

static uint64_t bound(uint64_t period)
{
	return period < 1 ? 1 : period > SEGMENT_PERIOD_MAX ? SEGMENT_PERIOD_MAX : period;
}

static void forget_all(void)
{
	sieve_clear();
	for (uint32_t i = 0; i < BLOCKS; i++)
		atomic_store_explicit(&addresses[i], 0, memory_order_relaxed);
}

void sampler_begin(void)
{
	const struct segment_header *h = process->header;

	if (is_used) /* by the parent; else there is nothing to wipe */
		forget_all();
	is_used = true;
	atomic_store(&block_count, 0);
	atomic_store(&is_thinning, false);
	block_limit =
		h->sample_blocks && h->sample_blocks < BLOCKS_MOST ? h->sample_blocks : BLOCKS_MOST;
	atomic_store(&process->sample_period, bound(h->sample_period));
	/* free(NULL) counts nothing, and blocks of the arena are not for the allocator. */
	sieve_watch(NULL);
	for (size_t at = 0; at < boot_get_used(); at += 16)
		sieve_watch(boot_arena + at);
}

void sampler_attach(struct thread *t)
{
	const struct segment_header *h = process->header;

	t->sampler.random = draw_seed(h->sample_seed, t->slot->serial);
	t->sampler.told = bound(h->sample_period);
	if (h->mode == SEGMENT_MODE_SAMPLE)
		sampler_draw(t);
	else
		sampler_draw_small(t);
}

void sampler_draw_small(struct thread *t)
{
	struct thread_sampler *s = &t->sampler;

	s->period = atomic_load_explicit(&process->sample_period, memory_order_relaxed);
	t->small_left = t->small_granted = draw_allowance(&s->random, s->period);
}

void sampler_draw(struct thread *t)
{
	struct thread_sampler *s = &t->sampler;

	s->period = atomic_load_explicit(&process->sample_period, memory_order_relaxed);
	s->granted = draw_allowance(&s->random, s->period);
	t->allowance = s->granted;
}

void sampler_set_period(uint64_t period_bytes)
{
	if (sampler_get_period())
		atomic_store(&process->sample_period, bound(period_bytes));
}

uint64_t sampler_get_period(void)
{
	return process ? atomic_load(&process->sample_period) : 0;
}

/* ---- thinning -------------------------------------------------------------------------------- */

bool sampler_is_crowded(void)
{
	return atomic_load_explicit(&block_count, memory_order_relaxed) > block_limit;
}

static bool tell(uint64_t address, uint64_t period, uint32_t api)
{
	struct thread *t = hot_enter();

	if (!t)
		return false;
	uint64_t *at = t->pos;
	at[0] = hot_word(t, SEGMENT_EVENT_THINNED, api);
	at[1] = address;
	at[2] = period;
	hot_publish(t, at + 3);
	hot_leave(t);
	return true;
}

/* What happens is told before it does, or the address could be another sample's by then; a free
 * that comes in between is told too, and the collector knows nothing of the block then. False:
 * nothing can be told. */
static bool thin_place(uint32_t place, uint64_t period, uint64_t *random)
{
	uint64_t address = atomic_load_explicit(&addresses[place], memory_order_acquire);

	if (address <= BLOCK_RESERVED || blocks[place].period >= period)
		return true;
	struct sampler_block facts = blocks[place];
	double before = draw_chance(facts.bytes, facts.period);
	double after = draw_chance(facts.bytes, period);
	bool stays = draw_even(random) * before <= after;
	if (!tell(address, period, stays ? SEGMENT_THINNED_KEPT : SEGMENT_THINNED_DROPPED))
		return false;
	if (stays)
		blocks[place].period = period;
	else
		(void)clear_place(place, address);
	return true;
}

void sampler_thin(void)
{
	bool idle = false;

	if (!atomic_compare_exchange_strong(&is_thinning, &idle, true))
		return;
	uint64_t period = bound(sampler_get_period() * 2);
	atomic_store(&process->sample_period, period);
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (!thin_place(i, period, &thread_self->sampler.random))
			break;
	atomic_store(&is_thinning, false);
}
