/* build_mapped.c -- the figures of maps as part of a profile. Runs: in the collector process, one
 * thread, when one is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/build_mapped.h"

#include "collect/build_held.h"

_Static_assert((int)PROFILE_MAP_ALLOCATOR == (int)SEGMENT_MAP_KINDS, "the allocator's come last");

static struct profile_site get_kind(struct collector *c, struct holding *held, uint32_t kind)
{
	struct profile_site site = build_held(held, &c->account.mapped->peak, &c->clock);

	site.kind = kind;
	return site;
}

/* Only counted, by the target: there is no peak. */
static struct profile_site get_own(const struct collector *c)
{
	struct segment_own_maps *own = &c->map.header->allocator_maps;
	uint64_t mapped = atomic_load_explicit(&own->mapped_bytes, memory_order_relaxed);
	uint64_t unmapped = atomic_load_explicit(&own->unmapped_bytes, memory_order_relaxed);

	return (struct profile_site){
		.kind = PROFILE_MAP_ALLOCATOR,
		.allocations = atomic_load_explicit(&own->calls, memory_order_relaxed),
		.allocated_bytes = mapped,
		.freed_bytes = unmapped,
		.live_bytes = mapped > unmapped ? mapped - unmapped : 0,
		.size_min = UINT64_MAX,
		.lifetime_min_ns = UINT64_MAX,
	};
}

static void build_kinds(struct collector *c, struct profile *p)
{
	struct mapped *m = c->account.mapped;
	struct holding none;

	holding_init(&none);
	for (uint32_t i = 0; i < SEGMENT_MAP_KINDS; i++)
		*vec_push(&p->map_kinds) =
			m ? get_kind(c, &m->kinds[i], i)
			  : (struct profile_site){.kind = i,
						  .size_min = none.size_min,
						  .lifetime_min_ns = none.life_min};
	*vec_push(&p->map_kinds) = get_own(c);
}

static void build_totals(struct collector *c, struct profile_totals *t)
{
	struct mapped *m = c->account.mapped;

	for (unsigned i = 0; i < SEGMENT_MAP_KINDS; i++) {
		t->allocations += m->kinds[i].allocations;
		t->allocated_bytes += m->kinds[i].allocated_bytes;
		t->frees += m->kinds[i].frees;
		t->freed_bytes += m->kinds[i].freed_bytes;
	}
	t->peak_bytes = m->peak.bytes;
	t->peak_blocks = m->peak.blocks;
	t->peak_time_ns = ticks_to_ns(&c->clock, m->peak.ticks);
	t->leaked_bytes = m->peak.live_bytes;
	t->leaked_blocks = m->peak.live_blocks;
	t->reallocations = m->moved;
	t->failed_allocations = m->failed;
	t->untracked_frees = m->unknown;
	t->lost_events = m->lost;
	t->stacks = m->sites.list.count;
}

void build_mapped(struct collector *c, struct profile *p)
{
	if (!c->maps)
		return;
	build_kinds(c, p);
	if (c->account.mapped)
		build_totals(c, &p->map_totals);
}
