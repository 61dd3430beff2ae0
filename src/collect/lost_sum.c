/* lost_sum.c -- what is lost and what is held, by site, with an example of who holds it.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/map.h"
#include "collect/lost_look.h"

#define CHAIN_MOST 24u /* blocks of a chain; of a longer one the middle is left out */
#define CHAIN_ENDS 8u
#define PULSE_ROWS 64u /* a chain may go over big blocks, which are searched for the pointer */

static const uint32_t link_kinds[] = {
	[ROOT_HEAP] = PROFILE_LINK_HEAP,       [ROOT_GLOBAL] = PROFILE_LINK_GLOBAL,
	[ROOT_STACK] = PROFILE_LINK_STACK,     [ROOT_LOCAL] = PROFILE_LINK_LOCAL,
	[ROOT_MAPPING] = PROFILE_LINK_MAPPING, [ROOT_REGISTER] = PROFILE_LINK_REGISTER,
	[ROOT_PLAIN] = PROFILE_LINK_MAPPING,
};

_Static_assert((int)REACH_DEFINITE == (int)PROFILE_LOST_DEFINITE &&
		       (int)REACH_INDIRECT == (int)PROFILE_LOST_INDIRECT &&
		       (int)REACH_INTERIOR == (int)PROFILE_LOST_INTERIOR &&
		       (int)REACH_HELD == (int)PROFILE_LOST_HELD,
	       "classes are the same");

/* ---- rows ------------------------------------------------------------------------------------ */

struct summing {
	const struct look *look;
	struct lost *to;
	struct map rows; /* site and class -> number of the row plus one */
};

/* The order of blocks is by distance from the roots: the first of a row has the shortest chain. */
static struct lost_row *get_row(struct summing *s, uint32_t block)
{
	const struct reach *r = &s->look->reach;
	uint32_t site = r->blocks.at[block].site;
	uint32_t class = r->classes[block];
	uint32_t *number = map_reserve(&s->rows, (uint64_t)site << 2 | class);

	if (!*number) {
		*vec_push(&s->to->rows) =
			(struct lost_row){.site = site, .class = class, .example = block};
		*number = (uint32_t)s->to->rows.count;
	}
	return &s->to->rows.at[*number - 1];
}

/* What is lost with a block comes right behind it. */
static void add_rows(struct summing *s)
{
	const struct reach *r = &s->look->reach;
	uint32_t leader = REACH_NONE;

	for (size_t i = 0; i < r->order.count; i++) {
		uint32_t block = r->order.at[i];
		uint64_t bytes = r->blocks.at[block].size;
		struct lost_row *row = get_row(s, block);

		row->blocks++;
		row->bytes += bytes;
		if (r->classes[block] == REACH_DEFINITE)
			leader = block;
		if (r->classes[block] != REACH_INDIRECT || leader == REACH_NONE)
			continue;
		row = get_row(s, leader);
		row->held_blocks++;
		row->held_bytes += bytes;
	}
}

/* The blocks between one and what holds it in the end. */
struct chain {
	VEC(uint32_t) blocks;
};

/* ---- chains ---------------------------------------------------------------------------------- */

static uint32_t add_name(struct lost *to, const char *name)
{
	size_t bytes = strlen(name) + 1, at;

	if (!to->names.count)
		*vec_push(&to->names) = '\0';
	at = to->names.count;
	vec_reserve(&to->names, bytes);
	memcpy(to->names.at + at, name, bytes);
	to->names.count += bytes;
	return (uint32_t)at;
}

static uint32_t add_link(struct lost *to, const struct lost_link *link)
{
	*vec_push(&to->links) = *link;
	return (uint32_t)to->links.count;
}

static uint32_t add_root(struct summing *s, uint32_t number)
{
	const struct roots *roots = &s->look->roots;
	const struct reach_root *root = &s->look->reach.roots.at[number];
	const struct root_span *span = &roots->spans.at[root->span];
	struct lost_link link = {.kind = link_kinds[span->kind],
				 .module = span->module,
				 .tid = (uint32_t)span->tid,
				 .address = root->address};

	if (span->kind == ROOT_GLOBAL) {
		const struct region *region = &roots->regions.list.at[span->region];

		if (!region->inode && region > roots->regions.list.at)
			region--;
		link.name = add_name(s->to, regions_get_name(&roots->regions, region));
	}
	return add_link(s->to, &link);
}

/* Blocks from the example outwards; returns what holds the last one. */
static uint32_t list_chain(const struct reach *r, uint32_t block, struct chain *chain)
{
	uint32_t holder;

	chain->blocks.count = 0;
	do {
		*vec_push(&chain->blocks) = block;
		holder = r->holders[block];
		block = holder;
	} while (holder != REACH_NONE && !(holder & REACH_ROOT));
	return holder;
}

static uint32_t add_block(struct summing *s, uint32_t block, uint32_t link_of_holder)
{
	const struct reach *r = &s->look->reach;
	uint32_t holder = r->holders[block];
	struct lost_link link = {.kind = PROFILE_LINK_BLOCK,
				 .site = r->blocks.at[block].site + 1,
				 .holder = link_of_holder};

	if (holder != REACH_NONE) {
		struct lost_place place = lost_look_find(s->look, block, holder);

		link.inside = place.inside;
		if (!(holder & REACH_ROOT))
			link.offset = place.address - r->blocks.at[holder].start;
	}
	return add_link(s->to, &link);
}

static uint32_t add_chain(struct summing *s, uint32_t example, struct chain *chain)
{
	uint32_t end = list_chain(&s->look->reach, example, chain);
	uint32_t link = end == REACH_NONE ? 0 : add_root(s, end & ~REACH_ROOT);
	size_t count = chain->blocks.count;

	for (size_t i = count; i-- > 0;) {
		if (count > CHAIN_MOST && i == count - CHAIN_ENDS - 1) {
			struct lost_link cut = {.kind = PROFILE_LINK_CUT,
						.holder = link,
						.offset = count - CHAIN_ENDS - CHAIN_ENDS};

			link = add_link(s->to, &cut);
			i = CHAIN_ENDS;
			continue;
		}
		link = add_block(s, chain->blocks.at[i], link);
	}
	return link;
}

void lost_look_sum(const struct look *l, struct lost *to)
{
	struct summing s = {.look = l, .to = to};
	struct chain chain = {0};

	add_rows(&s);
	for (size_t i = 0; i < to->rows.count; i++) {
		if (l->reach.holders[to->rows.at[i].example] != REACH_NONE)
			to->rows.at[i].chain = add_chain(&s, to->rows.at[i].example, &chain);
		if (i % PULSE_ROWS == 0)
			l->reach.pulse(l->reach.context);
	}
	vec_free(&chain.blocks);
	map_free(&s.rows);
}

/* ---- the profile ----------------------------------------------------------------------------- */

void lost_build(const struct collector *c, struct profile *p)
{
	const struct lost *l = &c->lost;

	if (!lost_is_known(c))
		return;
	p->run.lost_flags = l->flags | PROFILE_LOST_CHECKED;
	p->run.lost_time_ns = ticks_to_ns(&c->clock, l->ticks);
	/* What was tried with threads that cannot be stopped is no stop. */
	p->run.lost_pause_ns = l->flags & PROFILE_LOST_MOVING ? 0 : l->pause_ns;
	p->run.lost_read_bytes = l->read_bytes;
	p->run.lost_unread_bytes = l->unread_bytes;
	for (size_t i = 0; i < l->links.count; i++) {
		const struct lost_link *from = &l->links.at[i];

		*vec_push(&p->links) = (struct profile_link){
			.kind = from->kind,
			.site = from->site,
			.module = from->module < p->modules.count ? from->module : 0,
			.thread = from->tid,
			.holder = from->holder,
			.name = profile_add_string(p, from->name ? l->names.at + from->name : NULL),
			.address = from->address,
			.offset = from->offset,
			.inside = from->inside,
		};
	}
	for (size_t i = 0; i < l->rows.count; i++) {
		const struct lost_row *from = &l->rows.at[i];

		*vec_push(&p->lost) = (struct profile_lost){
			.site = from->site,
			.class = from->class,
			.blocks = from->blocks,
			.bytes = from->bytes,
			.held_blocks = from->held_blocks,
			.held_bytes = from->held_bytes,
			.chain = from->chain,
		};
	}
}
