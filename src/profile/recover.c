/* recover.c -- what can still be had from a damaged profile file.
 * Runs: offline; called by the reader.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "profile/recover.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

size_t recover_find_section(const uint8_t *data, size_t bytes, size_t from, uint32_t sequence,
			    struct section *s)
{
	while (bytes - from >= WIRE_SECTION_HEADER_BYTES) {
		size_t last = bytes - WIRE_SECTION_HEADER_BYTES + WIRE_SYNC_BYTES;
		const uint8_t *at = memmem(data + from, last - from, section_sync, WIRE_SYNC_BYTES);
		if (!at)
			break;
		/* An older sequence: a copy of a part, or a file inside a file. */
		if (section_take_header(at, s) && s->sequence >= sequence)
			return (size_t)(at - data);
		from = (size_t)(at - data) + 1;
	}
	return bytes;
}

/* ---- missing rows ---------------------------------------------------------------------------- */

static void complete_table(struct profile *p, enum columns_vec which)
{
	if (!columns_get_count(&columns_vecs[which], p))
		columns_set_count(&columns_vecs[which], p, 1);
}

void recover_complete(struct profile *p)
{
	complete_table(p, COLUMNS_TEXT);
	complete_table(p, COLUMNS_MODULES);
	complete_table(p, COLUMNS_NODES);
	complete_table(p, COLUMNS_FRAMES);
	if (p->strings.at[p->strings.count - 1])
		*vec_push(&p->strings) = 0;
}

static bool is_short(const struct profile *p, const struct columns_info *promised, size_t i)
{
	return columns_get_count(&columns_vecs[i], p) < promised->rows[i];
}

bool recover_is_short(const struct profile *p, const struct columns_info *promised)
{
	for (size_t i = 0; i < COLUMNS_VECS; i++)
		if (is_short(p, promised, i))
			return true;
	return false;
}

void recover_print_losses(const struct profile *p, const struct columns_info *promised, char *text,
			  size_t room)
{
	const char *separator = "; has ";

	for (size_t i = 0; i < COLUMNS_VECS; i++) {
		size_t used = strlen(text);
		if (!is_short(p, promised, i))
			continue;
		int n = snprintf(text + used, room - used, "%s%zu of %" PRIu64 " %s", separator,
				 columns_get_count(&columns_vecs[i], p), promised->rows[i],
				 columns_vecs[i].name);
		if (n < 0 || (size_t)n >= room - used) {
			text[used] = 0; /* a whole entry or none */
			return;
		}
		separator = ", ";
	}
}

/* ---- dangling references --------------------------------------------------------------------- */

static void trim_index(uint32_t *index, size_t count)
{
	if (*index >= count)
		*index = 0;
}

static void trim_strings(struct profile *p)
{
	struct profile_run *run = &p->run;
	struct string_id *ids[] = {&run->program, &run->executable, &run->command, &run->directory,
				   &run->host,	  &run->mode,	    &run->machine, &run->version};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		trim_index(&ids[i]->v, p->strings.count);
	for (size_t i = 0; i < p->modules.count; i++)
		trim_index(&p->modules.at[i].path.v, p->strings.count);
	for (size_t i = 0; i < p->threads.count; i++)
		trim_index(&p->threads.at[i].name.v, p->strings.count);
	for (size_t i = 0; i < p->inputs.count; i++) {
		trim_index(&p->inputs.at[i].name.v, p->strings.count);
		trim_index(&p->inputs.at[i].program.v, p->strings.count);
		trim_index(&p->inputs.at[i].command.v, p->strings.count);
		trim_index(&p->inputs.at[i].host.v, p->strings.count);
	}
	for (size_t i = 0; i < p->snapshots.count; i++)
		trim_index(&p->snapshots.at[i].name.v, p->strings.count);
	for (size_t i = 0; i < p->tags.count; i++)
		trim_index(&p->tags.at[i].name.v, p->strings.count);
	for (size_t i = 0; i < p->links.count; i++)
		trim_index(&p->links.at[i].name.v, p->strings.count);
	for (size_t i = 0; i < p->surveys.count; i++)
		trim_index(&p->surveys.at[i].fault.v, p->strings.count);
	for (size_t i = 0; i < p->types.count; i++)
		trim_index(&p->types.at[i].name.v, p->strings.count);
	for (size_t i = 0; i < p->variables.count; i++) {
		trim_index(&p->variables.at[i].name.v, p->strings.count);
		trim_index(&p->variables.at[i].section.v, p->strings.count);
		trim_index(&p->variables.at[i].file.v, p->strings.count);
	}
	for (size_t i = 0; i < p->frames.count; i++) {
		trim_index(&p->frames.at[i].function.v, p->strings.count);
		trim_index(&p->frames.at[i].file.v, p->strings.count);
	}
}

static void trim_stacks(struct profile *p)
{
	for (size_t i = 0; i < p->nodes.count; i++) {
		trim_index(&p->nodes.at[i].module, p->modules.count);
		trim_index(&p->nodes.at[i].frames, p->frames.count);
	}
	for (size_t i = 0; i < p->sites.count; i++)
		trim_index(&p->sites.at[i].node, p->nodes.count);
	for (size_t i = 0; i < p->map_sites.count; i++)
		trim_index(&p->map_sites.at[i].node, p->nodes.count);
}

static void trim_changes(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->changes.count; i++) {
		struct profile_change change = p->changes.at[i];
		if (change.point < p->points.count && change.site < p->sites.count)
			p->changes.at[kept++] = change;
	}
	p->changes.count = kept;
}

static void trim_parts(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->parts.count; i++)
		if (p->parts.at[i].site < p->sites.count)
			p->parts.at[kept++] = p->parts.at[i];
	p->parts.count = kept;
}

static void trim_threads(struct profile *p)
{
	for (size_t i = 0; i < p->threads.count; i++)
		trim_index(&p->threads.at[i].input, p->inputs.count + 1);
}

static void trim_snapshots(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->snapshots.count; i++)
		if (p->snapshots.at[i].point < p->points.count)
			p->snapshots.at[kept++] = p->snapshots.at[i];
	p->snapshots.count = kept;
}

/* Rows of a snapshot that got lost: the others are of other moments. */
static void trim_tags(struct profile *p)
{
	size_t kept = 0;

	while (kept < p->tags.count && p->tags.at[kept].snapshot <= p->snapshots.count)
		kept++;
	p->tags.count = kept;
}

/* Chains lose their ends. */
static void trim_lost(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->links.count; i++) {
		trim_index(&p->links.at[i].site, p->sites.count + 1);
		trim_index(&p->links.at[i].module, p->modules.count);
	}
	for (size_t i = 0; i < p->lost.count; i++) {
		trim_index(&p->lost.at[i].chain, p->links.count + 1);
		if (p->lost.at[i].site < p->sites.count)
			p->lost.at[kept++] = p->lost.at[i];
	}
	p->lost.count = kept;
}

/* Rows of sites and looks that got lost. */
static void trim_surveys(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->surveys.count; i++)
		trim_index(&p->surveys.at[i].snapshot, p->snapshots.count + 1);
	for (size_t i = 0; i < p->pins.count; i++)
		if (p->pins.at[i].survey < p->surveys.count && p->pins.at[i].site < p->sites.count)
			p->pins.at[kept++] = p->pins.at[i];
	p->pins.count = kept;
	kept = 0;
	for (size_t i = 0; i < p->cells.count; i++)
		if (p->cells.at[i].survey < p->surveys.count)
			p->cells.at[kept++] = p->cells.at[i];
	p->cells.count = kept;
	for (size_t i = 0; i < kept; i++)
		trim_index(&p->cells.at[i].site, p->sites.count + 1);
	kept = 0;
	for (size_t i = 0; i < p->types.count; i++)
		if (p->types.at[i].survey < p->surveys.count)
			p->types.at[kept++] = p->types.at[i];
	p->types.count = kept;
}

/* Rows of objects that got lost. */
static void trim_variables(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->extents.count; i++)
		if (p->extents.at[i].module < p->modules.count && p->extents.at[i].bytes)
			p->extents.at[kept++] = p->extents.at[i];
	p->extents.count = kept;
	kept = 0;
	for (size_t i = 0; i < p->variables.count; i++)
		if (p->variables.at[i].module < p->modules.count)
			p->variables.at[kept++] = p->variables.at[i];
	p->variables.count = kept;
}

/* Frames that got lost: a stack loses its inner end. */
static void trim_depths(struct profile *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->depths.count; i++)
		if (p->depths.at[i].node && p->depths.at[i].node < p->nodes.count)
			p->depths.at[kept++] = p->depths.at[i];
	p->depths.count = kept;
}

void recover_trim(struct profile *p)
{
	trim_strings(p);
	trim_threads(p);
	trim_stacks(p);
	trim_parts(p);
	trim_snapshots(p);
	trim_tags(p);
	trim_lost(p);
	trim_surveys(p);
	trim_variables(p);
	trim_depths(p);
	trim_changes(p);
}
