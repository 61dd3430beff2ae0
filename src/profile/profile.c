/* profile.c -- a profile in memory: its life, its strings, its invariants.
 * Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "format/wire.h"
#include "profile/trace_store.h"

/* ---- life ------------------------------------------------------------------------------------ */

struct profile *profile_new(void)
{
	struct profile *p = mem_new(1, sizeof(*p));

	*vec_push(&p->strings) = 0;
	memset(vec_push(&p->modules), 0, sizeof(struct profile_module));
	memset(vec_push(&p->nodes), 0, sizeof(struct profile_node));
	memset(vec_push(&p->frames), 0, sizeof(struct profile_frame));
	return p;
}

/* Open addressing over the ids of known strings; 0 is a free place. The text itself is the key. */
struct string_index {
	uint32_t *ids;
	size_t places; /* a power of two, at most half of them taken */
	size_t taken;
};

void profile_free(struct profile *p)
{
	if (!p)
		return;
	vec_free(&p->strings);
	vec_free(&p->inputs);
	vec_free(&p->modules);
	vec_free(&p->nodes);
	vec_free(&p->frames);
	vec_free(&p->sites);
	vec_free(&p->parts);
	vec_free(&p->threads);
	vec_free(&p->points);
	vec_free(&p->changes);
	vec_free(&p->blocks);
	vec_free(&p->snapshots);
	vec_free(&p->tags);
	vec_free(&p->map_kinds);
	vec_free(&p->map_sites);
	vec_free(&p->lost);
	vec_free(&p->links);
	vec_free(&p->surveys);
	vec_free(&p->pins);
	vec_free(&p->cells);
	vec_free(&p->types);
	vec_free(&p->extents);
	vec_free(&p->variables);
	vec_free(&p->depths);
	trace_store_free(p->trace);
	if (p->index)
		free(p->index->ids);
	free(p->index);
	free(p);
}

/* ---- strings --------------------------------------------------------------------------------- */

#define FIRST_PLACES 256u

/* The place of the string that equals `text`, or the free one where it would go. */
static uint32_t *find_place(const struct profile *p, const char *text, size_t bytes)
{
	const struct string_index *index = p->index;
	size_t mask = index->places - 1;
	size_t i = XXH64(text, bytes, 0) & mask;

	while (index->ids[i] && strcmp(p->strings.at + index->ids[i], text) != 0)
		i = (i + 1) & mask;
	return &index->ids[i];
}

static void index_string(struct profile *p, uint32_t id)
{
	const char *text = p->strings.at + id;
	uint32_t *place = find_place(p, text, strlen(text));

	if (!*place)
		p->index->taken++;
	*place = id;
}

static void grow_index(struct profile *p)
{
	struct string_index *index = p->index;
	struct string_index old = *index;

	if (2 * (index->taken + 1) <= index->places)
		return;
	index->places = 2 * old.places;
	index->ids = mem_new(index->places, sizeof(*index->ids));
	index->taken = 0;
	for (size_t i = 0; i < old.places; i++)
		if (old.ids[i])
			index_string(p, old.ids[i]);
	free(old.ids);
}

/* Strings that came from a file are found again too. */
static void build_index(struct profile *p)
{
	p->index = mem_new(1, sizeof(*p->index));
	p->index->places = FIRST_PLACES;
	p->index->ids = mem_new(FIRST_PLACES, sizeof(*p->index->ids));
	for (size_t at = 1; at < p->strings.count; at += strlen(p->strings.at + at) + 1) {
		grow_index(p);
		index_string(p, (uint32_t)at);
	}
}

struct string_id profile_add_string(struct profile *p, const char *text)
{
	size_t bytes = text ? strlen(text) : 0;

	if (!bytes || bytes >= UINT32_MAX - p->strings.count)
		return (struct string_id){0};
	if (!p->index)
		build_index(p);
	grow_index(p);

	uint32_t *place = find_place(p, text, bytes);
	if (!*place) {
		*place = (uint32_t)p->strings.count;
		p->index->taken++;
		vec_reserve(&p->strings, bytes + 1);
		memcpy(p->strings.at + p->strings.count, text, bytes + 1);
		p->strings.count += bytes + 1;
	}
	return (struct string_id){*place};
}

const char *profile_string(const struct profile *p, struct string_id id)
{
	return id.v < p->strings.count ? p->strings.at + id.v : "";
}

/* ---- invariants ------------------------------------------------------------------------------ */

static bool has_string(const struct profile *p, struct string_id id)
{
	return id.v < p->strings.count;
}

static int check_counts(const struct profile *p, struct error *e)
{
	const size_t counts[] = {
		p->strings.count,   p->modules.count,	p->nodes.count,	    p->frames.count,
		p->sites.count,	    p->threads.count,	p->points.count,    p->changes.count,
		p->parts.count,	    p->blocks.count,	p->snapshots.count, p->inputs.count,
		p->tags.count,	    p->lost.count,	p->links.count,	    p->map_kinds.count,
		p->map_sites.count, p->surveys.count,	p->pins.count,	    p->cells.count,
		p->extents.count,   p->variables.count, p->types.count,	    p->depths.count};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i] > UINT32_MAX)
			return error_set(e, "more elements than an index can name");
	if (!p->strings.count || !p->modules.count || !p->nodes.count || !p->frames.count)
		return error_set(e, "element 0 of a table is missing");
	return 0;
}

static int check_strings(const struct profile *p, struct error *e)
{
	const struct string_id ids[] = {p->run.program,	  p->run.executable, p->run.command,
					p->run.directory, p->run.host,	     p->run.mode,
					p->run.machine,	  p->run.version};

	if (p->strings.at[0] || p->strings.at[p->strings.count - 1])
		return error_set(e, "strings do not begin and end with a NUL byte");
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (!has_string(p, ids[i]))
			return error_set(e, "run: string %u not defined", ids[i].v);
	if (!memchr(p->damage, 0, sizeof(p->damage)))
		return error_set(e, "damage text does not end");
	return 0;
}

static int check_modules(const struct profile *p, struct error *e)
{
	const struct profile_module *none = &p->modules.at[0];

	if (none->path.v || none->bias || none->map_start || none->map_end || none->build_id_bytes)
		return error_set(e, "module 0 is not empty");
	for (size_t i = 1; i < p->modules.count; i++) {
		const struct profile_module *m = &p->modules.at[i];
		if (!has_string(p, m->path))
			return error_set(e, "module %zu: string %u not defined", i, m->path.v);
		if (m->build_id_bytes > sizeof(m->build_id))
			return error_set(e, "module %zu: build-id of %u bytes", i,
					 m->build_id_bytes);
	}
	return 0;
}

static int check_nodes(const struct profile *p, struct error *e)
{
	const struct profile_node *none = &p->nodes.at[0];

	if (none->pc || none->parent || none->module || none->frames || none->exact || none->cut ||
	    none->named)
		return error_set(e, "stack node 0 is not empty");
	for (size_t i = 1; i < p->nodes.count; i++) {
		const struct profile_node *n = &p->nodes.at[i];
		if (n->parent >= i)
			return error_set(e, "stack node %zu: parent %u is not before it", i,
					 n->parent);
		if (n->module >= p->modules.count)
			return error_set(e, "stack node %zu: module %u not defined", i, n->module);
		if (n->frames >= p->frames.count)
			return error_set(e, "stack node %zu: frame %u not defined", i, n->frames);
		if (n->named && (n->pc || n->module || n->cut || n->exact))
			return error_set(e, "stack node %zu: named, and has an address", i);
	}
	return 0;
}

static int check_frames(const struct profile *p, struct error *e)
{
	const struct profile_frame *none = &p->frames.at[0];

	if (none->function.v || none->file.v || none->line || none->next)
		return error_set(e, "frame 0 is not empty");
	for (size_t i = 1; i < p->frames.count; i++) {
		const struct profile_frame *f = &p->frames.at[i];
		if (!has_string(p, f->function) || !has_string(p, f->file))
			return error_set(e, "frame %zu: string not defined", i);
		if (f->next >= i)
			return error_set(e, "frame %zu: next %u is not before it", i, f->next);
	}
	return 0;
}

static int check_sites(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->sites.count; i++)
		if (p->sites.at[i].node >= p->nodes.count)
			return error_set(e, "site %zu: stack node %u not defined", i,
					 p->sites.at[i].node);
	for (size_t i = 0; i < p->threads.count; i++)
		if (!has_string(p, p->threads.at[i].name))
			return error_set(e, "thread %zu: string %u not defined", i,
					 p->threads.at[i].name.v);
	return 0;
}

static int check_maps(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->map_kinds.count; i++)
		if (p->map_kinds.at[i].kind >= PROFILE_MAP_KINDS)
			return error_set(e, "kind of maps %zu: there is no such kind", i);
	for (size_t i = 0; i < p->map_sites.count; i++) {
		const struct profile_site *site = &p->map_sites.at[i];
		if (site->node >= p->nodes.count)
			return error_set(e, "maps %zu: stack node %u not defined", i, site->node);
		if (site->kind >= PROFILE_MAP_KINDS)
			return error_set(e, "maps %zu: there is no such kind", i);
	}
	return 0;
}

static bool is_part_before(const struct profile_part *a, const struct profile_part *b)
{
	return a->site < b->site || (a->site == b->site && a->thread < b->thread);
}

static int check_parts(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->parts.count; i++) {
		const struct profile_part *part = &p->parts.at[i];
		if (part->site >= p->sites.count)
			return error_set(e, "part %zu: site %u not defined", i, part->site);
		if (i && !is_part_before(part - 1, part))
			return error_set(e, "part %zu: out of order", i);
	}
	return 0;
}

static int check_inputs(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->inputs.count; i++) {
		const struct profile_input *in = &p->inputs.at[i];
		if (!has_string(p, in->name) || !has_string(p, in->program) ||
		    !has_string(p, in->command) || !has_string(p, in->host))
			return error_set(e, "input %zu: string not defined", i);
	}
	for (size_t i = 0; i < p->threads.count; i++)
		if (p->threads.at[i].input > p->inputs.count)
			return error_set(e, "thread %zu: input %u not defined", i,
					 p->threads.at[i].input);
	return 0;
}

static bool is_before(const struct profile_change *a, const struct profile_change *b)
{
	return a->point < b->point || (a->point == b->point && a->site < b->site);
}

static int check_time_line(const struct profile *p, struct error *e)
{
	for (size_t i = 1; i < p->points.count; i++)
		if (p->points.at[i].time_ns < p->points.at[i - 1].time_ns)
			return error_set(e, "point %zu: time goes back", i);
	for (size_t i = 0; i < p->changes.count; i++) {
		const struct profile_change *c = &p->changes.at[i];
		if (c->point >= p->points.count)
			return error_set(e, "change %zu: point %u not defined", i, c->point);
		if (c->site >= p->sites.count)
			return error_set(e, "change %zu: site %u not defined", i, c->site);
		if (i && !is_before(c - 1, c))
			return error_set(e, "change %zu: out of order", i);
	}
	return 0;
}

static int check_snapshots(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->snapshots.count; i++) {
		const struct profile_snapshot *s = &p->snapshots.at[i];
		if (!has_string(p, s->name))
			return error_set(e, "snapshot %zu: string %u not defined", i, s->name.v);
		if (s->point >= p->points.count)
			return error_set(e, "snapshot %zu: point %u not defined", i, s->point);
		if (i && s->point <= s[-1].point)
			return error_set(e, "snapshot %zu: out of order", i);
	}
	return 0;
}

static int check_trace(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->blocks.count; i++) {
		const struct profile_block *block = &p->blocks.at[i];
		if (!block->events || block->events > WIRE_BLOCK_ROWS)
			return error_set(e, "trace block %zu: impossible number of events", i);
		if (i && block->ticks < block[-1].ticks)
			return error_set(e, "trace block %zu: time goes back", i);
	}
	for (size_t i = 1; i < p->points.count; i++)
		if (p->points.at[i].events < p->points.at[i - 1].events)
			return error_set(e, "point %zu: events go back", i);
	if (!p->run.clock_ticks != !p->run.clock_ns)
		return error_set(e, "run: impossible clock");
	return 0;
}

static bool is_same_tree(const struct profile_tag *a, const struct profile_tag *b)
{
	return a->snapshot == b->snapshot && a->thread == b->thread;
}

static int check_tags(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->tags.count; i++) {
		const struct profile_tag *tag = &p->tags.at[i];
		if (!has_string(p, tag->name))
			return error_set(e, "tag %zu: string %u not defined", i, tag->name.v);
		if (tag->snapshot > p->snapshots.count)
			return error_set(e, "tag %zu: snapshot %u not defined", i, tag->snapshot);
		if (tag->parent > i)
			return error_set(e, "tag %zu: parent %u is not before it", i, tag->parent);
		if (tag->parent && !is_same_tree(&p->tags.at[tag->parent - 1], tag))
			return error_set(e, "tag %zu: parent %u is of another tree", i,
					 tag->parent);
	}
	return 0;
}

static int check_links(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->links.count; i++) {
		const struct profile_link *l = &p->links.at[i];
		if (l->kind >= PROFILE_LINK_KINDS)
			return error_set(e, "link %zu: kind %u not known", i, l->kind);
		if (l->site > p->sites.count || l->module >= p->modules.count)
			return error_set(e, "link %zu: site or module not defined", i);
		if (l->holder > i)
			return error_set(e, "link %zu: holder %u is not before it", i, l->holder);
		if (!has_string(p, l->name))
			return error_set(e, "link %zu: string %u not defined", i, l->name.v);
	}
	return 0;
}

static int check_surveys(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->surveys.count; i++) {
		const struct profile_survey *s = &p->surveys.at[i];
		if (!has_string(p, s->fault))
			return error_set(e, "survey %zu: string %u not defined", i, s->fault.v);
		if (s->snapshot > p->snapshots.count)
			return error_set(e, "survey %zu: snapshot %u not defined", i, s->snapshot);
		if (s->reason >= PROFILE_REASONS)
			return error_set(e, "survey %zu: reason %u not defined", i, s->reason);
	}
	return 0;
}

static int check_pins(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->pins.count; i++) {
		const struct profile_pin *pin = &p->pins.at[i];
		if (pin->survey >= p->surveys.count)
			return error_set(e, "pin %zu: survey %u not defined", i, pin->survey);
		if (pin->site >= p->sites.count)
			return error_set(e, "pin %zu: site %u not defined", i, pin->site);
		if (i && (pin[-1].survey > pin->survey ||
			  (pin[-1].survey == pin->survey && pin[-1].site >= pin->site)))
			return error_set(e, "pin %zu: out of order", i);
	}
	return 0;
}

static int check_cells(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->cells.count; i++) {
		const struct profile_cell *cell = &p->cells.at[i];
		if (cell->survey >= p->surveys.count)
			return error_set(e, "cell %zu: survey %u not defined", i, cell->survey);
		if (cell->site > p->sites.count)
			return error_set(e, "cell %zu: site %u not defined", i, cell->site);
		if (cell->resident_pages > cell->pages || cell->held_pages > cell->resident_pages)
			return error_set(e, "cell %zu: impossible number of pages", i);
		if (i && (cell[-1].survey > cell->survey ||
			  (cell[-1].survey == cell->survey && cell[-1].start >= cell->start)))
			return error_set(e, "cell %zu: out of order", i);
	}
	return 0;
}

static int check_types(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->types.count; i++) {
		const struct profile_type *t = &p->types.at[i];
		if (t->survey >= p->surveys.count)
			return error_set(e, "type %zu: survey %u not defined", i, t->survey);
		if (!has_string(p, t->name))
			return error_set(e, "type %zu: string %u not defined", i, t->name.v);
		if (i && t[-1].survey > t->survey)
			return error_set(e, "type %zu: out of order", i);
	}
	return 0;
}

static int check_extents(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->extents.count; i++) {
		const struct profile_extent *x = &p->extents.at[i];
		if (x->module >= p->modules.count)
			return error_set(e, "extent %zu: module %u not defined", i, x->module);
		if (!x->bytes || x->bytes > UINT64_MAX - x->start)
			return error_set(e, "extent %zu: impossible size", i);
		if (i && (x[-1].module > x->module ||
			  (x[-1].module == x->module && x[-1].start + x[-1].bytes > x->start)))
			return error_set(e, "extent %zu: out of order", i);
	}
	return 0;
}

static int check_variables(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->variables.count; i++) {
		const struct profile_variable *v = &p->variables.at[i];
		if (v->module >= p->modules.count)
			return error_set(e, "variable %zu: module %u not defined", i, v->module);
		if (!has_string(p, v->name) || !has_string(p, v->section) ||
		    !has_string(p, v->file))
			return error_set(e, "variable %zu: string not defined", i);
		if (v->resident_bytes > v->size_bytes)
			return error_set(e, "variable %zu: more resident than there is", i);
		if (i && v[-1].size_bytes < v->size_bytes)
			return error_set(e, "variable %zu: out of order", i);
	}
	return 0;
}

static int check_depths(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->depths.count; i++) {
		const struct profile_depth *d = &p->depths.at[i];
		if (!d->node || d->node >= p->nodes.count)
			return error_set(e, "depth %zu: node %u not defined", i, d->node);
		if (i && d[-1].thread > d->thread)
			return error_set(e, "depth %zu: out of order", i);
	}
	return 0;
}

static int check_lost(const struct profile *p, struct error *e)
{
	for (size_t i = 0; i < p->lost.count; i++) {
		const struct profile_lost *l = &p->lost.at[i];
		if (l->site >= p->sites.count)
			return error_set(e, "lost row %zu: site %u not defined", i, l->site);
		if (l->class >= PROFILE_LOST_CLASSES)
			return error_set(e, "lost row %zu: class %u not known", i, l->class);
		if (l->chain > p->links.count)
			return error_set(e, "lost row %zu: link %u not defined", i, l->chain);
	}
	return check_links(p, e);
}

bool profile_is_by_tag(const struct profile *p)
{
	return strcmp(profile_string(p, p->run.mode), "tags") == 0;
}

/* The collector takes both from one moment. */
bool profile_has_never_begun(const struct profile *p)
{
	return p->run.duration_ns && p->run.stopped_ns >= p->run.duration_ns;
}

int profile_check(const struct profile *p, struct error *e)
{
	if (check_counts(p, e) || check_strings(p, e) || check_modules(p, e) || check_nodes(p, e) ||
	    check_frames(p, e) || check_sites(p, e) || check_maps(p, e) || check_parts(p, e) ||
	    check_inputs(p, e) || check_time_line(p, e) || check_trace(p, e) ||
	    check_snapshots(p, e) || check_tags(p, e) || check_lost(p, e) || check_surveys(p, e) ||
	    check_pins(p, e) || check_cells(p, e) || check_types(p, e) || check_extents(p, e) ||
	    check_variables(p, e) || check_depths(p, e))
		return -1;
	return 0;
}
