/* write.c -- a profile to its file, so that a crash leaves the old file or the new one.
 * Runs: offline.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/write.h"

#include <string.h>

#include "format/wire.h"
#include "profile/columns.h"
#include "profile/relay.h"
#include "profile/trace_store.h"

#define RELAY_ROWS 16384u /* fewer are written in a millisecond */

/* Rows [first, end) in as many sections as that takes. */
static void write_rows(struct relay *r, const struct table *t, const void *base,
		       struct codec_block rows)
{
	uint64_t end = rows.first + rows.count;
	bool good = true;

	while (rows.first < end && good) {
		rows.count = end - rows.first < t->block_rows ? end - rows.first : t->block_rows;
		codec_put_rows(&r->raw, t, base, rows);
		good = relay_write_section(r, t->tag);
		rows.first += rows.count;
	}
}

static void write_table(struct relay *r, const struct table *t, const void *base)
{
	write_rows(r, t, base, (struct codec_block){0, columns_get_count(t, base)});
}

static void write_vec(struct relay *r, enum columns_vec which, const struct profile *p)
{
	write_table(r, &columns_vecs[which], p);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_info(struct relay *r, const struct profile *p)
{
	struct columns_info info = {.resolved = p->resolved, .damaged = p->damaged};

	for (size_t i = 0; i < COLUMNS_VECS; i++)
		info.rows[i] = columns_get_count(&columns_vecs[i], p);
	memcpy(info.damage, p->damage, sizeof(info.damage));
	write_table(r, &columns_info, &info);
}

static void raise_to(uint32_t *highest, struct string_id id)
{
	if (id.v > *highest)
		*highest = id.v;
}

/* The end of the last string that anything but a frame refers to. What comes after it are the names
 * of functions and source files: much text, and of no use before the stacks. */
static size_t find_early_text(const struct profile *p)
{
	const struct profile_run *run = &p->run;
	const struct string_id ids[] = {run->program, run->executable, run->command, run->directory,
					run->host,    run->mode,       run->machine, run->version};
	uint32_t highest = 0;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		raise_to(&highest, ids[i]);
	for (size_t i = 0; i < p->modules.count; i++)
		raise_to(&highest, p->modules.at[i].path);
	for (size_t i = 0; i < p->threads.count; i++)
		raise_to(&highest, p->threads.at[i].name);
	for (size_t i = 0; i < p->inputs.count; i++) {
		raise_to(&highest, p->inputs.at[i].name);
		raise_to(&highest, p->inputs.at[i].program);
		raise_to(&highest, p->inputs.at[i].command);
		raise_to(&highest, p->inputs.at[i].host);
	}
	for (size_t i = 0; i < p->snapshots.count; i++)
		raise_to(&highest, p->snapshots.at[i].name);
	for (size_t i = 0; i < p->tags.count; i++)
		raise_to(&highest, p->tags.at[i].name);
	for (size_t i = 0; i < p->links.count; i++)
		raise_to(&highest, p->links.at[i].name);
	for (size_t i = 0; i < p->surveys.count; i++)
		raise_to(&highest, p->surveys.at[i].fault);
	if (highest >= p->strings.count)
		return p->strings.count;
	return highest + strnlen(p->strings.at + highest, p->strings.count - highest - 1) + 1;
}

/* Small and telling sections first, each before those that refer to it where that is possible: a
 * file that was cut off is good up to the cut. */
void write_tables(struct sink *s, const struct profile *p)
{
	struct relay relay, *r = &relay;
	const struct table *text = &columns_vecs[COLUMNS_TEXT];
	size_t early = find_early_text(p);

	relay_start(r, s, p->nodes.count + p->sites.count + p->strings.count > RELAY_ROWS);
	write_info(r, p);
	write_table(r, &columns_totals, p);
	write_rows(r, text, p, (struct codec_block){0, early});
	write_table(r, &columns_run, p);
	write_vec(r, COLUMNS_INPUTS, p);
	write_vec(r, COLUMNS_THREADS, p);
	write_table(r, &columns_sizes, p);
	write_table(r, &columns_lives, p);
	write_vec(r, COLUMNS_POINTS, p);
	write_vec(r, COLUMNS_SNAPSHOTS, p);
	write_vec(r, COLUMNS_TAGS, p);
	if (p->map_kinds.count)
		write_table(r, &columns_map_totals, p);
	write_vec(r, COLUMNS_MAP_KINDS, p);
	write_vec(r, COLUMNS_SURVEYS, p);
	write_vec(r, COLUMNS_MODULES, p);
	write_vec(r, COLUMNS_NODES, p);
	write_vec(r, COLUMNS_SITES, p);
	write_vec(r, COLUMNS_MAP_SITES, p);
	write_vec(r, COLUMNS_LOST, p);
	write_vec(r, COLUMNS_LINKS, p);
	write_rows(r, text, p, (struct codec_block){early, p->strings.count - early});
	write_vec(r, COLUMNS_FRAMES, p);
	write_vec(r, COLUMNS_PARTS, p);
	write_vec(r, COLUMNS_PINS, p);
	write_vec(r, COLUMNS_CELLS, p);
	write_vec(r, COLUMNS_TYPES, p);
	write_vec(r, COLUMNS_EXTENTS, p);
	write_vec(r, COLUMNS_VARIABLES, p);
	write_vec(r, COLUMNS_DEPTHS, p);
	write_vec(r, COLUMNS_CHANGES, p);
	write_vec(r, COLUMNS_TRACE, p);
	relay_finish(r);
}

int profile_write(const struct profile *p, const char *path, struct error *e)
{
	struct sink s;

	sink_open(&s, path);
	write_tables(&s, p);
	trace_store_copy(p->trace, &s);
	sink_write_section(&s, WIRE_TAG_END);
	return sink_close(&s, path) ? error_set_errno(e, "%s", path) : 0;
}
