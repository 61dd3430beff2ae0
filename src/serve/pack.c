/* pack.c -- a profile as the viewer's page reads it. Runs: offline; called by the server and by
 * `midden html`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns are gathered first, because the header in front of them says where each one is. */
#include "serve/pack.h"

#include <endian.h>
#include <string.h>

#include "base/json.h"
#include "model/figure.h"
#include "model/moment.h"
#include "serve/pack_memory.h"
#include "serve/packing.h"

#define MAGIC	  "MDNPACK1"
#define ALIGNMENT 8u
#define NO_RULE	  UINT32_MAX
#define MANY_ROWS 8192u /* with fewer, little is gained by planes */

/* ---- stacks ---------------------------------------------------------------------------------- */

static void gather_stacks(struct packing *p)
{
	*vec_push(&p->chains.nodes) = (struct chain_node){0}; /* the root: there may be no stack */
	for (size_t i = 0; i < p->profile->sites.count; i++)
		*vec_push(&p->site_nodes) = packing_find_stack(p, p->profile->sites.at[i].node);
}

static void add_nodes(struct packing *p)
{
	size_t count = p->chains.nodes.count;
	uint32_t *parents = packing_add_column(p, PACKING_U32, count, "node", "parent");
	uint32_t *frames = packing_add_column(p, PACKING_U32, count, "node", "frame");

	for (size_t i = 0; i < count; i++) {
		parents[i] = p->chains.nodes.at[i].parent;
		frames[i] = p->chains.nodes.at[i].id;
	}
}

enum frame_bit { FRAME_INLINED = 1, FRAME_PLACEHOLDER = 2, FRAME_HIDDEN = 4 };

static void add_frames(struct packing *p)
{
	size_t count = model_get_frame_count(p->model);
	uint32_t *function = packing_add_column(p, PACKING_U32, count, "frame", "function");
	uint32_t *module = packing_add_column(p, PACKING_U32, count, "frame", "module");
	uint32_t *file = packing_add_column(p, PACKING_U32, count, "frame", "file");
	uint32_t *line = packing_add_column(p, PACKING_U32, count, "frame", "line");
	uint32_t *group = packing_add_column(p, PACKING_U32, count, "frame", "group");
	double *offset = packing_add_column(p, PACKING_F64, count, "frame", "offset");
	uint8_t *bits = packing_add_column(p, PACKING_U8, count, "frame", "bits");

	for (uint32_t i = 0; i < count; i++) {
		const struct model_frame *f = model_get_frame(p->model, i);

		function[i] = packing_find_text(p, f->function);
		module[i] = packing_find_text(p, f->module);
		file[i] = packing_find_text(p, f->file);
		line[i] = f->line;
		group[i] = f->group;
		offset[i] = packing_get_number(f->offset);
		bits[i] = (uint8_t)((f->inlined ? FRAME_INLINED : 0) |
				    (f->placeholder ? FRAME_PLACEHOLDER : 0) |
				    (f->hidden ? FRAME_HIDDEN : 0));
	}
}

/* ---- tables of the profile ------------------------------------------------------------------- */

static const struct packing_member part_numbers[] = {
	PACKING_MEMBER(struct profile_part, allocations),
	PACKING_MEMBER(struct profile_part, allocated_bytes),
	PACKING_MEMBER(struct profile_part, frees),
	PACKING_MEMBER(struct profile_part, freed_bytes),
	PACKING_MEMBER(struct profile_part, live_blocks),
	PACKING_MEMBER(struct profile_part, live_bytes),
	PACKING_MEMBER(struct profile_part, at_peak_blocks),
	PACKING_MEMBER(struct profile_part, at_peak_bytes),
	PACKING_MEMBER(struct profile_part, temporary),
	{NULL, 0},
};

static const struct packing_member thread_numbers[] = {
	PACKING_MEMBER(struct profile_thread, start_ns),
	PACKING_MEMBER(struct profile_thread, end_ns),
	PACKING_MEMBER(struct profile_thread, allocations),
	PACKING_MEMBER(struct profile_thread, allocated_bytes),
	PACKING_MEMBER(struct profile_thread, frees),
	PACKING_MEMBER(struct profile_thread, freed_bytes),
	PACKING_MEMBER(struct profile_thread, temporary),
	PACKING_MEMBER(struct profile_thread, reallocations),
	PACKING_MEMBER(struct profile_thread, failed_allocations),
	PACKING_MEMBER(struct profile_thread, live_blocks),
	PACKING_MEMBER(struct profile_thread, live_bytes),
	PACKING_MEMBER(struct profile_thread, own_peak_bytes),
	PACKING_MEMBER(struct profile_thread, own_peak_time_ns),
	PACKING_MEMBER(struct profile_thread, at_peak_bytes),
	PACKING_MEMBER(struct profile_thread, at_peak_blocks),
	PACKING_MEMBER(struct profile_thread, lifetime_min_ns),
	PACKING_MEMBER(struct profile_thread, lifetime_max_ns),
	PACKING_MEMBER(struct profile_thread, lifetime_sum_ns),
	PACKING_MEMBER(struct profile_thread, size_min),
	PACKING_MEMBER(struct profile_thread, size_max),
	PACKING_MEMBER(struct profile_thread, losses),
	PACKING_MEMBER(struct profile_thread, stack_reserved_bytes),
	PACKING_MEMBER(struct profile_thread, stack_resident_bytes),
	PACKING_MEMBER(struct profile_thread, stack_deepest_bytes),
	{NULL, 0},
};

static const struct packing_member point_numbers[] = {
	PACKING_MEMBER(struct profile_point, time_ns),
	PACKING_MEMBER(struct profile_point, live_bytes),
	PACKING_MEMBER(struct profile_point, live_blocks),
	PACKING_MEMBER(struct profile_point, peak_bytes),
	PACKING_MEMBER(struct profile_point, allocations),
	PACKING_MEMBER(struct profile_point, allocated_bytes),
	PACKING_MEMBER(struct profile_point, frees),
	PACKING_MEMBER(struct profile_point, freed_bytes),
	PACKING_MEMBER(struct profile_point, rss_bytes),
	{NULL, 0},
};

static const struct packing_member change_numbers[] = {
	PACKING_MEMBER(struct profile_change, live_bytes),
	PACKING_MEMBER(struct profile_change, live_blocks),
	{NULL, 0},
};

static const struct packing_member snapshot_numbers[] = {
	PACKING_MEMBER(struct profile_snapshot, time_ns),
	PACKING_MEMBER(struct profile_snapshot, live_bytes),
	PACKING_MEMBER(struct profile_snapshot, live_blocks),
	{NULL, 0},
};

/* Which leaks a rule names: the rule's text, or none. */
static void add_rules(struct packing *p, const struct suppress_list *rules)
{
	size_t count = p->profile->sites.count;
	uint32_t *names = packing_add_column(p, PACKING_U32, count, "site", "rule");

	if (!rules)
		return;
	uint8_t *verdicts = mem_new(count ? count : 1, 1);
	uint32_t *found = suppress_judge(rules, p->model, verdicts);
	for (size_t i = 0; i < count; i++)
		if (found[i] != NO_RULE)
			names[i] = packing_find_text(p, rules->rules.at[found[i]].text);
	free(found);
	free(verdicts);
}

/* How doubtful the figures of a sampled profile are: variances, which add up. */
static void add_variances(struct packing *p)
{
	static const struct {
		enum figure figure;
		const char *bytes; /* NULL: the figure has none */
		const char *blocks;
	} kept[] = {
		{FIGURE_PEAK, "at_peak_bytes", "at_peak_blocks"},
		{FIGURE_LEAKED, "live_bytes", "live_blocks"},
		{FIGURE_ALLOCATED, "allocated_bytes", "allocations"},
		{FIGURE_TEMPORARY, NULL, "temporary"},
	};
	size_t count = p->profile->sites.count;

	if (!p->profile->run.sample_period)
		return;
	for (size_t f = 0; f < sizeof(kept) / sizeof(*kept); f++) {
		double *bytes = NULL;

		if (kept[f].bytes)
			bytes = packing_add_column(p, PACKING_F64, count, "variance",
						   kept[f].bytes);
		double *blocks =
			packing_add_column(p, PACKING_F64, count, "variance", kept[f].blocks);
		for (size_t i = 0; i < count; i++) {
			struct amount a = figure_get_estimate(p->profile, i, kept[f].figure);

			blocks[i] = a.blocks_variance;
			if (bytes)
				bytes[i] = a.bytes_variance;
		}
	}
}

static void add_sites(struct packing *p, const struct suppress_list *rules)
{
	static const struct packing_member ids[] = {PACKING_MEMBER(struct profile_site, thread),
						    {NULL, 0}};
	const struct packing_table t = PACKING_TABLE("site", p->profile->sites);
	uint32_t *nodes = packing_add_column(p, PACKING_U32, t.count, "site", "node");

	if (t.count)
		memcpy(nodes, p->site_nodes.at, t.count * sizeof(*nodes));
	packing_add_ids(p, &t, ids);
	packing_add_numbers(p, &t, packing_site_numbers);
	add_rules(p, rules);
	packing_add_own(p, t.rows, t.count, "site");
	add_variances(p);
}

static void add_threads(struct packing *p)
{
	static const struct packing_member ids[] = {PACKING_MEMBER(struct profile_thread, tid),
						    PACKING_MEMBER(struct profile_thread, serial),
						    {NULL, 0}};
	const struct packing_table t = PACKING_TABLE("thread", p->profile->threads);
	uint32_t *names = packing_add_column(p, PACKING_U32, t.count, "thread", "name");

	for (size_t i = 0; i < t.count; i++)
		names[i] = packing_find_text(
			p, profile_string(p->profile, p->profile->threads.at[i].name));
	packing_add_ids(p, &t, ids);
	packing_add_numbers(p, &t, thread_numbers);
}

static void add_parts(struct packing *p)
{
	static const struct packing_member ids[] = {PACKING_MEMBER(struct profile_part, site),
						    PACKING_MEMBER(struct profile_part, thread),
						    {NULL, 0}};
	const struct packing_table t = PACKING_TABLE("part", p->profile->parts);

	packing_add_ids(p, &t, ids);
	packing_add_numbers(p, &t, part_numbers);
}

static void add_times(struct packing *p)
{
	static const struct packing_member change_ids[] = {
		PACKING_MEMBER(struct profile_change, point),
		PACKING_MEMBER(struct profile_change, site),
		{NULL, 0}};
	static const struct packing_member snapshot_ids[] = {
		PACKING_MEMBER(struct profile_snapshot, point), {NULL, 0}};
	const struct packing_table points = PACKING_TABLE("point", p->profile->points);
	const struct packing_table changes = PACKING_TABLE("change", p->profile->changes);
	const struct packing_table snapshots = PACKING_TABLE("snapshot", p->profile->snapshots);

	packing_add_numbers(p, &points, point_numbers);
	packing_add_ids(p, &changes, change_ids);
	packing_add_numbers(p, &changes, change_numbers);
	uint32_t *names = packing_add_column(p, PACKING_U32, snapshots.count, "snapshot", "name");
	for (size_t i = 0; i < snapshots.count; i++)
		names[i] = packing_find_text(
			p, profile_string(p->profile, p->profile->snapshots.at[i].name));
	packing_add_ids(p, &snapshots, snapshot_ids);
	packing_add_numbers(p, &snapshots, snapshot_numbers);
}

static void add_histograms(struct packing *p)
{
	static const struct packing_member numbers[] = {
		PACKING_MEMBER(struct profile_bucket, count),
		PACKING_MEMBER(struct profile_bucket, bytes),
		PACKING_MEMBER(struct profile_bucket, live_count),
		PACKING_MEMBER(struct profile_bucket, live_bytes),
		{NULL, 0}};
	static const struct packing_member cell[] = {{"count", 0}, {NULL, 0}};
	const struct packing_table sizes = {"size", p->profile->sizes, PROFILE_SIZE_BUCKETS,
					    sizeof(struct profile_bucket)};
	const struct packing_table cells = {"size_by_life", p->profile->size_by_life,
					    (size_t)PROFILE_SIZE_BUCKETS * PROFILE_LIFE_BUCKETS,
					    sizeof(uint64_t)};

	packing_add_numbers(p, &sizes, numbers);
	packing_add_numbers(p, &cells, cell);
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* First bytes of all numbers lie side by side, then all second ones, and so on: alike as they are,
 * a quarter less is left of them when all is compressed. */
static bool is_in_planes(const struct packing_column *c)
{
	return c->type != PACKING_U8 && c->count >= MANY_ROWS;
}

static void write_columns_table(struct json *j, const struct packing *p)
{
	size_t at = 0;

	json_begin_object(j, "columns");
	for (size_t i = 0; i < p->columns.count; i++) {
		const struct packing_column *c = &p->columns.at[i];

		json_begin_object(j, c->name);
		json_add_string(j, "type", packing_name_type(c->type));
		json_add_uint(j, "at", at);
		json_add_uint(j, "count", c->count);
		if (is_in_planes(c))
			json_add_bool(j, "planes", true);
		json_end_object(j);
		at += round_up(packing_get_bytes(c));
	}
	json_end_object(j);
}

/* A text that is JSON already goes in as it is. */
static void write_text(struct json *j, const char *key, const char *text)
{
	json_add_raw(j, key, text ? text : "null");
}

/* NULL: no memory. */
static char *make_header(const struct packing *p, const struct pack_request *r, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	struct json j = {.out = out};

	if (!out)
		return NULL;
	json_begin_object(&j, NULL);
	json_add_uint(&j, "schema", 1);
	json_add_bool(&j, "live", r->live);
	json_add_uint(&j, "generation", r->generation);
	json_add_uint(&j, "duration_ns", p->profile->run.duration_ns);
	json_add_uint(&j, "start_unix_ns", p->profile->run.start_unix_ns);
	json_add_bool(&j, "lost_stacks_over_time", moment_has_lost_stacks(p->profile));
	if (r->file)
		json_add_string(&j, "file", r->file);
	write_text(&j, "stats", r->texts.stats);
	write_text(&j, "findings", r->texts.findings);
	write_text(&j, "diff", r->texts.diff);
	write_text(&j, "leaks", r->texts.leaks);
	write_text(&j, "globals", r->texts.globals);
	json_add_uint(&j, "page_bytes", p->profile->run.page_bytes);
	write_text(&j, "lines", r->lines_json);
	write_columns_table(&j, p);
	json_end_object(&j);
	fclose(out);
	return text;
}

static void pad(FILE *out, size_t written, char padding)
{
	for (size_t i = written; i < round_up(written); i++)
		putc(padding, out);
}

static void write_padded(FILE *out, const void *bytes, size_t count, char padding)
{
	fwrite(bytes, 1, count, out);
	pad(out, count, padding);
}

static void write_planes(FILE *out, const struct packing_column *c)
{
	size_t width = packing_get_bytes(c) / c->count;
	const uint8_t *bytes = c->values;
	uint8_t *plane = mem_new(c->count, 1);

	for (size_t byte = 0; byte < width; byte++) {
		for (size_t i = 0; i < c->count; i++)
			plane[i] = bytes[i * width + byte];
		fwrite(plane, 1, c->count, out);
	}
	pad(out, packing_get_bytes(c), 0);
	free(plane);
}

/* The page reads columns where they lie, and browsers run on little-endian machines only. */
static void write_column(FILE *out, const struct packing_column *c)
{
#if __BYTE_ORDER == __BIG_ENDIAN
#error "columns must be turned into little-endian ones"
#endif
	if (is_in_planes(c))
		write_planes(out, c);
	else
		write_padded(out, c->values, packing_get_bytes(c), 0);
}

static int write_all(FILE *out, const struct packing *p, const struct pack_request *r)
{
	size_t bytes = 0;
	char *header = make_header(p, r, &bytes);
	uint64_t padded = htole64(round_up(bytes));

	if (!header)
		return -1;
	fwrite(MAGIC, 1, sizeof(MAGIC) - 1, out);
	fwrite(&padded, sizeof(padded), 1, out);
	write_padded(out, header, bytes, ' ');
	for (size_t i = 0; i < p->columns.count; i++)
		write_column(out, &p->columns.at[i]);
	free(header);
	return 0;
}

int pack_write(FILE *out, const struct pack_request *r, struct error *e)
{
	struct packing p = {.model = r->model, .profile = model_get_profile(r->model)};

	*vec_push(&p.texts) = "";
	gather_stacks(&p);
	pack_memory_add(&p); /* stacks of maps may have nodes of their own */
	add_nodes(&p);
	add_frames(&p);
	add_sites(&p, r->suppress);
	add_threads(&p);
	add_parts(&p);
	add_times(&p);
	add_histograms(&p);
	packing_add_texts(&p);
	int result = write_all(out, &p, r);
	if (result != 0)
		error_set(e, "the page's data cannot be put together: out of memory");
	packing_fini(&p);
	return result;
}
