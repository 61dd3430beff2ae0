/* pack.c -- a profile as the viewer's page reads it. Runs: offline; called by the server and by
 * `midden html`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns are gathered first, because the header in front of them says where each one is. */
#include "serve/pack.h"

#include <endian.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "export/chains.h"
#include "model/figure.h"
#include "model/origin.h"

#define MAGIC	   "MDNPACK1"
#define ALIGNMENT  8u
#define NO_RULE	   UINT32_MAX
#define NAME_BYTES 40

enum column_type { COLUMN_U8, COLUMN_U32, COLUMN_F64 };

static const struct {
	const char *name;
	size_t bytes;
} column_types[] = {[COLUMN_U8] = {"u8", 1}, [COLUMN_U32] = {"u32", 4}, [COLUMN_F64] = {"f64", 8}};

struct column {
	char name[NAME_BYTES];
	enum column_type type;
	size_t count;
	void *values; /* owned */
};

struct pack {
	const struct model *model;
	const struct profile *profile;
	VEC(struct column) columns;
	struct chains chains;	  /* of display frames, from the root */
	struct map string_of;	  /* hash of a text to its number in `texts` plus one */
	VEC(const char *) texts;  /* in the order of their numbers; 0 is "" */
	VEC(uint32_t) site_nodes; /* by site: where its stack ends in `chains` */
};

/* ---- columns --------------------------------------------------------------------------------- */

static void *add_column(struct pack *p, enum column_type type, size_t count, const char *table,
			const char *name)
{
	struct column *c = vec_push(&p->columns);

	*c = (struct column){.type = type, .count = count};
	snprintf(c->name, sizeof(c->name), "%s.%s", table, name);
	c->values = mem_new(count ? count : 1, column_types[type].bytes);
	return c->values;
}

/* The page's numbers are doubles: whole up to 2^53, which no count or size of a real program
 * passes. UINT64_MAX, which stands for "none", becomes -1. */
static double number(uint64_t value)
{
	return value == UINT64_MAX ? -1.0 : (double)value;
}

/* A member of each row of a table, by its offset. */
struct member {
	const char *name;
	size_t offset;
};

struct table {
	const char *name;
	const void *rows;
	size_t count;
	size_t row_bytes;
};

/* Of a row that there is: a table without rows has no address to count from. */
static const char *get_member(const struct table *t, size_t row, const struct member *m)
{
	return (const char *)t->rows + row * t->row_bytes + m->offset;
}

static void add_numbers(struct pack *p, const struct table *t, const struct member *members)
{
	for (const struct member *m = members; m->name; m++) {
		double *to = add_column(p, COLUMN_F64, t->count, t->name, m->name);

		for (size_t i = 0; i < t->count; i++) {
			uint64_t value;

			memcpy(&value, get_member(t, i, m), sizeof(value));
			to[i] = number(value);
		}
	}
}

static void add_ids(struct pack *p, const struct table *t, const struct member *members)
{
	for (const struct member *m = members; m->name; m++) {
		uint32_t *to = add_column(p, COLUMN_U32, t->count, t->name, m->name);

		for (size_t i = 0; i < t->count; i++)
			memcpy(&to[i], get_member(t, i, m), sizeof(to[i]));
	}
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Two texts with one hash would be a wrong name on the page: the second goes in as one of its own.
 */
static uint32_t text_id(struct pack *p, const char *text)
{
	if (!*text)
		return 0;
	uint32_t *known = map_reserve(&p->string_of, map_hash_text(text));
	if (*known && strcmp(p->texts.at[*known - 1], text) == 0)
		return *known - 1;
	*vec_push(&p->texts) = text;
	*known = (uint32_t)p->texts.count;
	return *known - 1;
}

static void add_texts(struct pack *p)
{
	size_t bytes = 0;

	for (size_t i = 0; i < p->texts.count; i++)
		bytes += strlen(p->texts.at[i]);
	uint32_t *ends = add_column(p, COLUMN_U32, p->texts.count, "text", "end");
	char *all = add_column(p, COLUMN_U8, bytes, "text", "bytes");
	size_t used = 0;
	for (size_t i = 0; i < p->texts.count; i++) {
		size_t length = strlen(p->texts.at[i]);

		memcpy(all + used, p->texts.at[i], length);
		used += length;
		ends[i] = (uint32_t)used;
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void gather_stacks(struct pack *p)
{
	struct model_stack stack = {0};

	*vec_push(&p->chains.nodes) = (struct chain_node){0}; /* the root: there may be no stack */
	for (size_t i = 0; i < p->profile->sites.count; i++) {
		uint32_t node = 0;

		model_get_stack(p->model, i, &stack);
		for (size_t j = stack.frames.count; j-- > 0;)
			node = chains_extend(&p->chains, node, stack.frames.at[j]);
		*vec_push(&p->site_nodes) = node;
	}
	vec_free(&stack.frames);
}

static void add_nodes(struct pack *p)
{
	size_t count = p->chains.nodes.count;
	uint32_t *parents = add_column(p, COLUMN_U32, count, "node", "parent");
	uint32_t *frames = add_column(p, COLUMN_U32, count, "node", "frame");

	for (size_t i = 0; i < count; i++) {
		parents[i] = p->chains.nodes.at[i].parent;
		frames[i] = p->chains.nodes.at[i].id;
	}
}

enum frame_bit { FRAME_INLINED = 1, FRAME_PLACEHOLDER = 2, FRAME_HIDDEN = 4 };

static void add_frames(struct pack *p)
{
	size_t count = model_get_frame_count(p->model);
	uint32_t *function = add_column(p, COLUMN_U32, count, "frame", "function");
	uint32_t *module = add_column(p, COLUMN_U32, count, "frame", "module");
	uint32_t *file = add_column(p, COLUMN_U32, count, "frame", "file");
	uint32_t *line = add_column(p, COLUMN_U32, count, "frame", "line");
	uint32_t *group = add_column(p, COLUMN_U32, count, "frame", "group");
	double *offset = add_column(p, COLUMN_F64, count, "frame", "offset");
	uint8_t *bits = add_column(p, COLUMN_U8, count, "frame", "bits");

	for (uint32_t i = 0; i < count; i++) {
		const struct model_frame *f = model_get_frame(p->model, i);

		function[i] = text_id(p, f->function);
		module[i] = text_id(p, f->module);
		file[i] = text_id(p, f->file);
		line[i] = f->line;
		group[i] = f->group;
		offset[i] = number(f->offset);
		bits[i] = (uint8_t)((f->inlined ? FRAME_INLINED : 0) |
				    (f->placeholder ? FRAME_PLACEHOLDER : 0) |
				    (f->hidden ? FRAME_HIDDEN : 0));
	}
}

/* ---- tables of the profile ------------------------------------------------------------------- */

#define MEMBER(type, field)                   \
	{                                     \
#field, offsetof(type, field) \
	}
#define TABLE(name, vec)                                       \
	{                                                      \
		name, (vec).at, (vec).count, sizeof(*(vec).at) \
	}

static const struct member site_numbers[] = {
	MEMBER(struct profile_site, allocations),     MEMBER(struct profile_site, allocated_bytes),
	MEMBER(struct profile_site, frees),	      MEMBER(struct profile_site, freed_bytes),
	MEMBER(struct profile_site, size_min),	      MEMBER(struct profile_site, size_max),
	MEMBER(struct profile_site, live_blocks),     MEMBER(struct profile_site, live_bytes),
	MEMBER(struct profile_site, at_peak_blocks),  MEMBER(struct profile_site, at_peak_bytes),
	MEMBER(struct profile_site, own_peak_bytes),  MEMBER(struct profile_site, own_peak_time_ns),
	MEMBER(struct profile_site, lifetime_min_ns), MEMBER(struct profile_site, lifetime_max_ns),
	MEMBER(struct profile_site, lifetime_sum_ns), MEMBER(struct profile_site, temporary),
	MEMBER(struct profile_site, reallocations),   {NULL, 0},
};

static const struct member part_numbers[] = {
	MEMBER(struct profile_part, allocations),    MEMBER(struct profile_part, allocated_bytes),
	MEMBER(struct profile_part, frees),	     MEMBER(struct profile_part, freed_bytes),
	MEMBER(struct profile_part, live_blocks),    MEMBER(struct profile_part, live_bytes),
	MEMBER(struct profile_part, at_peak_blocks), MEMBER(struct profile_part, at_peak_bytes),
	MEMBER(struct profile_part, temporary),	     {NULL, 0},
};

static const struct member thread_numbers[] = {
	MEMBER(struct profile_thread, start_ns),
	MEMBER(struct profile_thread, end_ns),
	MEMBER(struct profile_thread, allocations),
	MEMBER(struct profile_thread, allocated_bytes),
	MEMBER(struct profile_thread, frees),
	MEMBER(struct profile_thread, freed_bytes),
	MEMBER(struct profile_thread, temporary),
	MEMBER(struct profile_thread, reallocations),
	MEMBER(struct profile_thread, failed_allocations),
	MEMBER(struct profile_thread, live_blocks),
	MEMBER(struct profile_thread, live_bytes),
	MEMBER(struct profile_thread, own_peak_bytes),
	MEMBER(struct profile_thread, own_peak_time_ns),
	MEMBER(struct profile_thread, at_peak_bytes),
	MEMBER(struct profile_thread, at_peak_blocks),
	MEMBER(struct profile_thread, lifetime_min_ns),
	MEMBER(struct profile_thread, lifetime_max_ns),
	MEMBER(struct profile_thread, lifetime_sum_ns),
	MEMBER(struct profile_thread, size_min),
	MEMBER(struct profile_thread, size_max),
	MEMBER(struct profile_thread, losses),
	{NULL, 0},
};

static const struct member point_numbers[] = {
	MEMBER(struct profile_point, time_ns),	   MEMBER(struct profile_point, live_bytes),
	MEMBER(struct profile_point, live_blocks), MEMBER(struct profile_point, peak_bytes),
	MEMBER(struct profile_point, allocations), MEMBER(struct profile_point, allocated_bytes),
	MEMBER(struct profile_point, frees),	   MEMBER(struct profile_point, freed_bytes),
	MEMBER(struct profile_point, rss_bytes),   {NULL, 0},
};

static const struct member change_numbers[] = {
	MEMBER(struct profile_change, live_bytes),
	MEMBER(struct profile_change, live_blocks),
	{NULL, 0},
};

static const struct member snapshot_numbers[] = {
	MEMBER(struct profile_snapshot, time_ns),
	MEMBER(struct profile_snapshot, live_bytes),
	MEMBER(struct profile_snapshot, live_blocks),
	{NULL, 0},
};

/* Which leaks a rule names: the rule's text, or none. */
static void add_rules(struct pack *p, const struct suppress_list *rules)
{
	size_t count = p->profile->sites.count;
	uint32_t *names = add_column(p, COLUMN_U32, count, "site", "rule");

	if (!rules)
		return;
	uint8_t *verdicts = mem_new(count ? count : 1, 1);
	uint32_t *found = suppress_judge(rules, p->model, verdicts);
	for (size_t i = 0; i < count; i++)
		if (found[i] != NO_RULE)
			names[i] = text_id(p, rules->rules.at[found[i]].text);
	free(found);
	free(verdicts);
}

/* The frame of each stack that a reader can do something about. */
static void add_own_frames(struct pack *p)
{
	uint32_t *own = origin_list_own(p->model);
	uint32_t *frames = add_column(p, COLUMN_U32, p->profile->sites.count, "site", "own");

	for (size_t i = 0; i < p->profile->sites.count; i++)
		frames[i] = own[p->profile->sites.at[i].node];
	free(own);
}

/* How doubtful the figures of a sampled profile are: variances, which add up. */
static void add_variances(struct pack *p)
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
			bytes = add_column(p, COLUMN_F64, count, "variance", kept[f].bytes);
		double *blocks = add_column(p, COLUMN_F64, count, "variance", kept[f].blocks);
		for (size_t i = 0; i < count; i++) {
			struct amount a = figure_get_estimate(p->profile, i, kept[f].figure);

			blocks[i] = a.blocks_variance;
			if (bytes)
				bytes[i] = a.bytes_variance;
		}
	}
}

static void add_sites(struct pack *p, const struct suppress_list *rules)
{
	static const struct member ids[] = {MEMBER(struct profile_site, thread), {NULL, 0}};
	const struct table t = TABLE("site", p->profile->sites);
	uint32_t *nodes = add_column(p, COLUMN_U32, t.count, "site", "node");

	if (t.count)
		memcpy(nodes, p->site_nodes.at, t.count * sizeof(*nodes));
	add_ids(p, &t, ids);
	add_numbers(p, &t, site_numbers);
	add_rules(p, rules);
	add_own_frames(p);
	add_variances(p);
}

static void add_threads(struct pack *p)
{
	static const struct member ids[] = {MEMBER(struct profile_thread, tid),
					    MEMBER(struct profile_thread, serial),
					    {NULL, 0}};
	const struct table t = TABLE("thread", p->profile->threads);
	uint32_t *names = add_column(p, COLUMN_U32, t.count, "thread", "name");

	for (size_t i = 0; i < t.count; i++)
		names[i] = text_id(p, profile_string(p->profile, p->profile->threads.at[i].name));
	add_ids(p, &t, ids);
	add_numbers(p, &t, thread_numbers);
}

static void add_parts(struct pack *p)
{
	static const struct member ids[] = {
		MEMBER(struct profile_part, site), MEMBER(struct profile_part, thread), {NULL, 0}};
	const struct table t = TABLE("part", p->profile->parts);

	add_ids(p, &t, ids);
	add_numbers(p, &t, part_numbers);
}

static void add_times(struct pack *p)
{
	static const struct member change_ids[] = {MEMBER(struct profile_change, point),
						   MEMBER(struct profile_change, site),
						   {NULL, 0}};
	static const struct member snapshot_ids[] = {MEMBER(struct profile_snapshot, point),
						     {NULL, 0}};
	const struct table points = TABLE("point", p->profile->points);
	const struct table changes = TABLE("change", p->profile->changes);
	const struct table snapshots = TABLE("snapshot", p->profile->snapshots);

	add_numbers(p, &points, point_numbers);
	add_ids(p, &changes, change_ids);
	add_numbers(p, &changes, change_numbers);
	uint32_t *names = add_column(p, COLUMN_U32, snapshots.count, "snapshot", "name");
	for (size_t i = 0; i < snapshots.count; i++)
		names[i] = text_id(p, profile_string(p->profile, p->profile->snapshots.at[i].name));
	add_ids(p, &snapshots, snapshot_ids);
	add_numbers(p, &snapshots, snapshot_numbers);
}

static void add_histograms(struct pack *p)
{
	static const struct member numbers[] = {MEMBER(struct profile_bucket, count),
						MEMBER(struct profile_bucket, bytes),
						MEMBER(struct profile_bucket, live_count),
						MEMBER(struct profile_bucket, live_bytes),
						{NULL, 0}};
	static const struct member cell[] = {{"count", 0}, {NULL, 0}};
	const struct table sizes = {"size", p->profile->sizes, PROFILE_SIZE_BUCKETS,
				    sizeof(struct profile_bucket)};
	const struct table cells = {"size_by_life", p->profile->size_by_life,
				    (size_t)PROFILE_SIZE_BUCKETS * PROFILE_LIFE_BUCKETS,
				    sizeof(uint64_t)};

	add_numbers(p, &sizes, numbers);
	add_numbers(p, &cells, cell);
}

/* ---- writing --------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t column_bytes(const struct column *c)
{
	return c->count * column_types[c->type].bytes;
}

static void write_columns_table(struct json *j, const struct pack *p)
{
	size_t at = 0;

	json_begin_object(j, "columns");
	for (size_t i = 0; i < p->columns.count; i++) {
		const struct column *c = &p->columns.at[i];

		json_begin_object(j, c->name);
		json_add_string(j, "type", column_types[c->type].name);
		json_add_uint(j, "at", at);
		json_add_uint(j, "count", c->count);
		json_end_object(j);
		at += round_up(column_bytes(c));
	}
	json_end_object(j);
}

/* A text that is JSON already goes in as it is. */
static void write_text(struct json *j, const char *key, const char *text)
{
	json_add_raw(j, key, text ? text : "null");
}

/* NULL: no memory. */
static char *make_header(const struct pack *p, const struct pack_request *r, size_t *bytes)
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
	write_text(&j, "stats", r->texts.stats);
	write_text(&j, "findings", r->texts.findings);
	write_text(&j, "diff", r->texts.diff);
	write_text(&j, "lines", r->lines_json);
	write_columns_table(&j, p);
	json_end_object(&j);
	fclose(out);
	return text;
}

static void write_padded(FILE *out, const void *bytes, size_t count, char padding)
{
	fwrite(bytes, 1, count, out);
	for (size_t i = count; i < round_up(count); i++)
		putc(padding, out);
}

/* The page reads columns where they lie, and browsers run on little-endian machines only. */
static void write_column(FILE *out, const struct column *c)
{
#if __BYTE_ORDER == __BIG_ENDIAN
#error "columns must be turned into little-endian ones"
#endif
	write_padded(out, c->values, column_bytes(c), 0);
}

static int write_all(FILE *out, const struct pack *p, const struct pack_request *r)
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

static void pack_fini(struct pack *p)
{
	for (size_t i = 0; i < p->columns.count; i++)
		free(p->columns.at[i].values);
	vec_free(&p->columns);
	vec_free(&p->texts);
	vec_free(&p->site_nodes);
	map_free(&p->string_of);
	chains_free(&p->chains);
}

int pack_write(FILE *out, const struct pack_request *r, struct error *e)
{
	struct pack p = {.model = r->model, .profile = model_get_profile(r->model)};

	*vec_push(&p.texts) = "";
	gather_stacks(&p);
	add_nodes(&p);
	add_frames(&p);
	add_sites(&p, r->suppress);
	add_threads(&p);
	add_parts(&p);
	add_times(&p);
	add_histograms(&p);
	add_texts(&p);
	int result = write_all(out, &p, r);
	if (result != 0)
		error_set(e, "the page's data cannot be put together: out of memory");
	pack_fini(&p);
	return result;
}
