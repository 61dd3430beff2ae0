/* survey.c -- looks at which blocks keep which pages in memory: taken in a copy of the collector,
 * kept by the collector. Runs: in both, as said in the header.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/survey.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/libc_arenas.h"
#include "collect/collector.h"
#include "collect/obey.h"
#include "collect/regions.h"
#include "collect/residency.h"
#include "collect/usable.h"

/* Of all looks together: 64 bytes for each site that holds anything. A peak takes the place of the
 * one before, so that only snapshots can become many. */
#define LOOKS_MOST 256u
#define ROWS_MOST  2000000u

/* Ahead of the rows in the file. */
struct found {
	struct profile_survey row;
	uint64_t first; /* as in the order */
	uint64_t epoch;
	uint64_t pins;
	uint64_t cells;
	uint64_t types;
	char fault[SURVEY_FAULT_BYTES];
};

struct run_list {
	VEC(struct pagemap_run) runs;
};

/* What the copy gathers. The program goes on meanwhile: its pages come first, while the blocks are
 * as they were. */
struct gathering {
	struct regions regions;
	struct run_list seen; /* of all memory that can be a heap */
	struct placed_list blocks;
	struct run_list kept; /* of the heap */
	VEC(struct residency_extent) extents;
	enum usable_allocator allocator;
	pid_t pid;
};

/* A page without one of the samples may be full of objects all the same. */
static bool has_samples(const struct collector *c)
{
	return c->account.small_terms.period &&
	       atomic_load_explicit(&c->map.header->small, memory_order_relaxed) ==
		       SEGMENT_SMALL_HOOKED;
}

int survey_check_mode(const struct collector *c, struct error *e)
{
	if (c->mode == SEGMENT_MODE_EXACT)
		return 0;
	return error_set(e, "which blocks keep which pages in memory is known only where every "
			    "block is recorded: not with samples or tags");
}

uint32_t survey_count_snapshots(struct collector *c)
{
	c->told = (uint32_t)c->account.snapshots.count;
	return c->told;
}

uint64_t survey_get_epoch(const struct collector *c)
{
	return c->account.cleared_ticks;
}

void survey_lend(struct collector *c, bool lent)
{
	live_lend(&c->account.live, lent);
	if (lent)
		watch_sample_rss(&c->watch);
}

/* ---- gathering ------------------------------------------------------------------------------- */

static void add_run(void *context, const struct pagemap_run *run)
{
	struct run_list *l = context;

	*vec_push(&l->runs) = *run;
}

/* What nobody may touch is reserved: there can be much of it, and no memory in it. */
static int see_pages(struct gathering *g, struct pagemap *map, struct error *e)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < g->regions.list.count; i++) {
		const struct region *region = &g->regions.list.at[i];
		const struct pagemap_run range = {region->start, region->end, 0};

		if (region_is_anonymous(region) && (region->is_readable || region->is_writable))
			result = pagemap_visit(map, &range, add_run, &g->seen, e);
	}
	return result;
}

/* Of those seen, the ones in a region; `next` is where to look on. */
static void keep_runs(struct gathering *g, const struct region *region, size_t *next)
{
	while (*next < g->seen.runs.count && g->seen.runs.at[*next].end <= region->start)
		++*next;
	while (*next < g->seen.runs.count && g->seen.runs.at[*next].start < region->end)
		*vec_push(&g->kept.runs) = g->seen.runs.at[(*next)++];
}

/* Memory of files, and memory that is shared: blocks are guests there. */
static int keep_foreign(struct gathering *g, const struct region *region, struct pagemap *map,
			struct error *e)
{
	const struct pagemap_run range = {region->start, region->end, 0};
	size_t first = g->kept.runs.count;
	int result = pagemap_visit(map, &range, add_run, &g->kept, e);

	for (size_t i = first; i < g->kept.runs.count; i++)
		g->kept.runs.at[i].state |= RESIDENCY_FOREIGN;
	return result;
}

static bool is_brk_heap(const struct gathering *g, const struct region *region)
{
	return strcmp(regions_get_name(&g->regions, region), "[heap]") == 0;
}

/* Whether a block is in the region, or reaches into it. `next` and `reached` are where the blocks
 * before it left off. */
static bool has_blocks(const struct gathering *g, const struct region *region, size_t *next,
		       uint64_t *reached)
{
	bool any = *reached > region->start;

	for (; *next < g->blocks.blocks.count; ++*next) {
		const struct placed *block = &g->blocks.blocks.at[*next];

		if (block->ptr >= region->end)
			break;
		any = any || block->ptr >= region->start;
		if (block->ptr + block->size > *reached)
			*reached = block->ptr + block->size;
	}
	return any;
}

/* What malloc has for itself, also if all blocks in it are freed. */
static bool is_allocators(const struct gathering *g, const struct region *region)
{
	return is_brk_heap(g, region) ||
	       (g->allocator == USABLE_GLIBC && libc_arenas_is_one(g->pid, region));
}

/* The heap: what malloc grows by brk, its arenas, and all memory in which a block lives. */
static int keep_heap(struct gathering *g, struct pagemap *map, struct error *e)
{
	size_t block = 0, run = 0;
	uint64_t reached = 0;
	int result = 0;

	for (size_t i = 0; result == 0 && i < g->regions.list.count; i++) {
		const struct region *region = &g->regions.list.at[i];

		if (!has_blocks(g, region, &block, &reached) && !is_allocators(g, region))
			continue;
		*vec_push(&g->extents) = (struct residency_extent){region->start, region->end};
		if (region_is_anonymous(region))
			keep_runs(g, region, &run);
		else
			result = keep_foreign(g, region, map, e);
	}
	return result;
}

static void recognise_allocator(struct gathering *g)
{
	g->allocator = USABLE_GLIBC;
	for (size_t i = 0; i < g->regions.list.count; i++) {
		int found = usable_recognise(regions_get_name(&g->regions, &g->regions.list.at[i]));

		if (found >= 0)
			g->allocator = (enum usable_allocator)found;
	}
}

static uint64_t add_up_usable(const struct gathering *g)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->blocks.blocks.count; i++)
		sum += usable_get(g->allocator, g->blocks.blocks.at[i].ptr,
				  g->blocks.blocks.at[i].size);
	return sum;
}

static int gather(struct gathering *g, struct collector *c, struct error *e)
{
	struct pagemap map;

	if (regions_read(&g->regions, c->watch.pid, e) || pagemap_open(&map, c->watch.pid, e))
		return -1;
	int result = see_pages(g, &map, e);
	if (result == 0) {
		placed_build(&g->blocks, &c->account);
		recognise_allocator(g);
		result = keep_heap(g, &map, e);
	}
	pagemap_close(&map);
	return result;
}

static void gathering_fini(struct gathering *g)
{
	placed_fini(&g->blocks);
	regions_fini(&g->regions);
	vec_free(&g->seen.runs);
	vec_free(&g->kept.runs);
	vec_free(&g->extents);
}

/* A process that ended, or became another program, meanwhile had no pages any more. The copy has
 * none of the collector's descriptors. */
static int check_alive(const struct collector *c, struct error *e)
{
	struct regions now = {0};
	struct error ignored = {0};
	bool is_there = regions_read(&now, c->watch.pid, &ignored) == 0 &&
			watch_has_segment(&c->watch, c->map.inode);

	regions_fini(&now);
	return is_there ? 0 : error_set(e, "the program ended while its pages were looked at");
}

static int join(struct collector *c, struct residency *r, struct error *e)
{
	struct gathering g = {.pid = c->watch.pid};

	if (has_samples(c))
		return error_set(e, "small objects of Python are sampled here, and it is not known "
				    "which pages they keep: record with --rss or "
				    "--pymalloc=exact (`midden report --types` has the objects by "
				    "type)");
	int result = gather(&g, c, e);

	if (result == 0) {
		const struct residency_input in = {
			.blocks = &g.blocks,
			.runs = g.kept.runs.at,
			.run_count = g.kept.runs.count,
			.extents = g.extents.at,
			.extent_count = g.extents.count,
			.page_bytes = c->watch.page_bytes,
			.site_count = (uint32_t)c->account.sites.list.count,
		};

		residency_join(r, &in);
		r->totals.usable_bytes = add_up_usable(&g);
		result = check_alive(c, e);
	}
	gathering_fini(&g);
	return result;
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool write_all(int fd, const void *data, size_t bytes)
{
	const char *at = data;

	while (bytes) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		bytes -= (size_t)n;
	}
	return true;
}

static bool read_all(int fd, void *data, size_t bytes, off_t from)
{
	char *at = data;

	while (bytes) {
		ssize_t n = pread(fd, at, bytes, from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		from += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* Sites without a block hold nothing. */
static void drop_empty(struct residency *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->pins.count; i++)
		if (r->pins.at[i].live_blocks)
			r->pins.at[kept++] = r->pins.at[i];
	r->pins.count = kept;
}

/* Of the copy, which does nothing else. */
static uint64_t get_processor_ns(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* First, while the blocks are what they were. */
static void take_types(struct types *t, struct collector *c)
{
	if (atomic_load_explicit(&c->map.header->small, memory_order_relaxed) != SEGMENT_SMALL_NONE)
		types_take(t, &c->account, c->watch.pid);
}

void survey_take(struct collector *c, const struct survey_order *order, int fd)
{
	struct residency r = {0};
	struct types types = {0};
	struct error e = {0};
	struct found found = {.first = order->first, .epoch = order->epoch};

	take_types(&types, c);
	if (join(c, &r, &e)) {
		residency_fini(&r);
		r.totals = (struct profile_survey){0};
		(void)snprintf(found.fault, sizeof(found.fault), "%s", e.text);
	}
	drop_empty(&r);
	found.row = r.totals;
	found.row.reason = order->reason;
	found.row.snapshot = order->snapshot;
	found.row.time_ns = c->drain.limit; /* ticks; ns when a profile is built */
	found.row.rss_bytes = c->watch.rss_bytes;
	found.row.cost_ns = get_processor_ns();
	found.pins = r.pins.count;
	found.cells = r.cells.count;
	found.types = types.rows.count;
	(void)(write_all(fd, &found, sizeof(found)) &&
	       write_all(fd, r.pins.at, r.pins.count * sizeof(r.pins.at[0])) &&
	       write_all(fd, r.cells.at, r.cells.count * sizeof(r.cells.at[0])) &&
	       write_all(fd, types.rows.at, types.rows.count * sizeof(types.rows.at[0])));
	types_fini(&types);
	residency_fini(&r);
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void survey_fini(struct survey *s)
{
	vec_free(&s->pins);
	vec_free(&s->cells);
	types_fini(&s->types);
}

void surveys_fini(struct surveys *s)
{
	for (size_t i = 0; i < s->list.count; i++)
		survey_fini(&s->list.at[i]);
	vec_free(&s->list);
}

static uint64_t get_rows(const struct survey *s)
{
	return s->pins.count + s->cells.count + s->types.rows.count;
}

static void drop(struct surveys *s, size_t i)
{
	s->rows -= get_rows(&s->list.at[i]);
	survey_fini(&s->list.at[i]);
	s->list.count--;
	memmove(&s->list.at[i], &s->list.at[i + 1], (s->list.count - i) * sizeof(s->list.at[0]));
}

/* What a new one takes the place of: an earlier peak, and what was before figures started over. */
static void drop_replaced(struct surveys *s, const struct survey *by)
{
	for (size_t i = s->list.count; i-- > 0;) {
		const struct survey *old = &s->list.at[i];

		if (old->epoch != by->epoch || (old->row.reason == PROFILE_REASON_PEAK &&
						by->row.reason == PROFILE_REASON_PEAK))
			drop(s, i);
	}
}

static bool read_rows(struct survey *s, const struct found *found, int fd)
{
	size_t pin_bytes = found->pins * sizeof(s->pins.at[0]);
	size_t cell_bytes = found->cells * sizeof(s->cells.at[0]);
	size_t type_bytes = found->types * sizeof(s->types.rows.at[0]);

	vec_reserve(&s->pins, found->pins);
	vec_reserve(&s->cells, found->cells);
	vec_reserve(&s->types.rows, found->types);
	s->pins.count = found->pins;
	s->cells.count = found->cells;
	s->types.rows.count = found->types;
	return read_all(fd, s->pins.at, pin_bytes, sizeof(*found)) &&
	       read_all(fd, s->cells.at, cell_bytes, (off_t)(sizeof(*found) + pin_bytes)) &&
	       read_all(fd, s->types.rows.at, type_bytes,
			(off_t)(sizeof(*found) + pin_bytes + cell_bytes));
}

/* Takes what it is given; false: there is no room, or no use for it. */
static bool keep_one(struct surveys *all, struct survey *s, bool is_valid)
{
	bool is_full = s->row.reason == PROFILE_REASON_SNAPSHOT &&
		       (all->list.count >= LOOKS_MOST || all->rows + get_rows(s) > ROWS_MOST);

	if (is_full || !is_valid) {
		all->lost++;
		survey_fini(s);
		return false;
	}
	all->rows += get_rows(s);
	*vec_push(&all->list) = *s;
	return true;
}

#define COPY_ROWS(to, from)                                                                  \
	do {                                                                                 \
		vec_reserve(to, (from)->count);                                              \
		if ((from)->count)                                                           \
			memcpy((to)->at, (from)->at, (from)->count * sizeof((from)->at[0])); \
		(to)->count = (from)->count;                                                 \
	} while (0)

/* The same look for one snapshot more. */
static struct survey copy_for(const struct survey *from, uint32_t snapshot)
{
	struct survey s = {.row = from->row, .epoch = from->epoch};

	s.row.snapshot = snapshot;
	memcpy(s.fault, from->fault, sizeof(s.fault));
	COPY_ROWS(&s.pins, &from->pins);
	COPY_ROWS(&s.cells, &from->cells);
	COPY_ROWS(&s.types.rows, &from->types.rows);
	return s;
}

/* The last one is for all snapshots from `first` on, 0: for itself. */
static void keep_shared(struct surveys *all, uint64_t first)
{
	size_t last = all->list.count - 1;
	uint64_t snapshot = all->list.at[last].row.snapshot;

	while (first && snapshot-- > first) {
		struct survey s = copy_for(&all->list.at[last], (uint32_t)snapshot);

		(void)keep_one(all, &s, true);
	}
}

bool survey_keep(struct collector *c, int fd, struct profile_survey *row, char *fault)
{
	struct surveys *all = &c->surveys;
	struct found found;
	struct survey s = {0};

	if (!read_all(fd, &found, sizeof(found), 0) || !read_rows(&s, &found, fd)) {
		survey_fini(&s);
		return false;
	}
	s.row = *row = found.row;
	s.epoch = found.epoch;
	memcpy(s.fault, found.fault, sizeof(s.fault));
	memcpy(fault, found.fault, sizeof(found.fault));
	drop_replaced(all, &s);
	if (keep_one(all, &s, s.epoch == survey_get_epoch(c)))
		keep_shared(all, found.first);
	return true;
}

/* ---- a target that waits to end -------------------------------------------------------------- */

bool survey_is_awaited(const struct collector *c)
{
	return c->account.farewell.question != 0;
}

void survey_release(struct collector *c)
{
	struct farewell *f = &c->account.farewell;

	if (f->question)
		obey_answer(&c->account, f->slot, f->question, true);
	f->question = 0;
}

/* ---- the profile ----------------------------------------------------------------------------- */

static uint64_t get_deviation(double variance)
{
	return variance > 0 ? (uint64_t)(sqrt(variance) + 0.5) : 0;
}

static void build_one(const struct collector *c, const struct survey *from, struct profile *p)
{
	uint32_t number = (uint32_t)p->surveys.count;
	struct profile_survey row = from->row;

	row.time_ns = ticks_to_ns(&c->clock, row.time_ns);
	row.fault = profile_add_string(p, from->fault);
	*vec_push(&p->surveys) = row;
	for (size_t i = 0; i < from->pins.count; i++) {
		from->pins.at[i].survey = number;
		*vec_push(&p->pins) = from->pins.at[i];
	}
	for (size_t i = 0; i < from->cells.count; i++) {
		from->cells.at[i].survey = number;
		*vec_push(&p->cells) = from->cells.at[i];
	}
	for (size_t i = 0; i < from->types.rows.count; i++) {
		const struct types_row *type = &from->types.rows.at[i];

		*vec_push(&p->types) = (struct profile_type){
			.survey = number,
			.name = profile_add_string(p, type->name),
			.objects = type->objects,
			.bytes = type->bytes,
			.objects_deviation = get_deviation(type->objects_variance),
			.bytes_deviation = get_deviation(type->bytes_variance),
		};
	}
}

/* A peak may have been seen after snapshots that came before it. */
static int compare_times(const void *a, const void *b)
{
	const struct survey *x = *(const struct survey *const *)a;
	const struct survey *y = *(const struct survey *const *)b;

	if (x->row.time_ns != y->row.time_ns)
		return x->row.time_ns > y->row.time_ns ? 1 : -1;
	return (x->row.snapshot > y->row.snapshot) - (x->row.snapshot < y->row.snapshot);
}

void survey_build(const struct collector *c, struct profile *p)
{
	size_t count = c->surveys.list.count;
	const struct survey **order = mem_new(count + 1, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = &c->surveys.list.at[i];
	qsort(order, count, sizeof(*order), compare_times);
	for (size_t i = 0; i < count; i++)
		if (order[i]->epoch == survey_get_epoch(c) &&
		    order[i]->row.snapshot <= p->snapshots.count)
			build_one(c, order[i], p);
	free(order);
}
