/* packing.c -- the columns and texts of a pack while it is put together. Runs: offline; called by
 * pack.c and pack_memory.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/packing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/origin.h"

const struct packing_member packing_site_numbers[] = {
	PACKING_MEMBER(struct profile_site, allocations),
	PACKING_MEMBER(struct profile_site, allocated_bytes),
	PACKING_MEMBER(struct profile_site, frees),
	PACKING_MEMBER(struct profile_site, freed_bytes),
	PACKING_MEMBER(struct profile_site, size_min),
	PACKING_MEMBER(struct profile_site, size_max),
	PACKING_MEMBER(struct profile_site, live_blocks),
	PACKING_MEMBER(struct profile_site, live_bytes),
	PACKING_MEMBER(struct profile_site, at_peak_blocks),
	PACKING_MEMBER(struct profile_site, at_peak_bytes),
	PACKING_MEMBER(struct profile_site, own_peak_bytes),
	PACKING_MEMBER(struct profile_site, own_peak_time_ns),
	PACKING_MEMBER(struct profile_site, lifetime_min_ns),
	PACKING_MEMBER(struct profile_site, lifetime_max_ns),
	PACKING_MEMBER(struct profile_site, lifetime_sum_ns),
	PACKING_MEMBER(struct profile_site, temporary),
	PACKING_MEMBER(struct profile_site, reallocations),
	{NULL, 0},
};

static const struct {
	const char *name;
	size_t bytes;
} column_types[] = {
	[PACKING_U8] = {"u8", 1}, [PACKING_U32] = {"u32", 4}, [PACKING_F64] = {"f64", 8}};

/* ---- columns --------------------------------------------------------------------------------- */

void *packing_add_column(struct packing *p, enum packing_type type, size_t count, const char *table,
			 const char *name)
{
	struct packing_column *c = vec_push(&p->columns);

	*c = (struct packing_column){.type = type, .count = count};
	snprintf(c->name, sizeof(c->name), "%s.%s", table, name);
	c->values = mem_new(count ? count : 1, column_types[type].bytes);
	return c->values;
}

double packing_get_number(uint64_t value)
{
	return value == UINT64_MAX ? -1.0 : (double)value;
}

/* Of a row that there is: a table without rows has no address to count from. */
static const char *get_member(const struct packing_table *t, size_t row,
			      const struct packing_member *m)
{
	return (const char *)t->rows + row * t->row_bytes + m->offset;
}

void packing_add_numbers(struct packing *p, const struct packing_table *t,
			 const struct packing_member *members)
{
	for (const struct packing_member *m = members; m->name; m++) {
		double *to = packing_add_column(p, PACKING_F64, t->count, t->name, m->name);

		for (size_t i = 0; i < t->count; i++) {
			uint64_t value;

			memcpy(&value, get_member(t, i, m), sizeof(value));
			to[i] = packing_get_number(value);
		}
	}
}

void packing_add_ids(struct packing *p, const struct packing_table *t,
		     const struct packing_member *members)
{
	for (const struct packing_member *m = members; m->name; m++) {
		uint32_t *to = packing_add_column(p, PACKING_U32, t->count, t->name, m->name);

		for (size_t i = 0; i < t->count; i++)
			memcpy(&to[i], get_member(t, i, m), sizeof(to[i]));
	}
}

const char *packing_name_type(enum packing_type type)
{
	return column_types[type].name;
}

size_t packing_get_bytes(const struct packing_column *c)
{
	return c->count * column_types[c->type].bytes;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Two texts with one hash would be a wrong name on the page: the second goes in as one of its own.
 */
uint32_t packing_find_text(struct packing *p, const char *text)
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

void packing_add_texts(struct packing *p)
{
	size_t bytes = 0;

	for (size_t i = 0; i < p->texts.count; i++)
		bytes += strlen(p->texts.at[i]);
	uint32_t *ends = packing_add_column(p, PACKING_U32, p->texts.count, "text", "end");
	char *all = packing_add_column(p, PACKING_U8, bytes, "text", "bytes");
	size_t used = 0;
	for (size_t i = 0; i < p->texts.count; i++) {
		size_t length = strlen(p->texts.at[i]);

		memcpy(all + used, p->texts.at[i], length);
		used += length;
		ends[i] = (uint32_t)used;
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

uint32_t packing_find_stack(struct packing *p, uint32_t node)
{
	uint32_t end = 0;

	model_get_path(p->model, node, &p->stack);
	for (size_t i = p->stack.frames.count; i-- > 0;)
		end = chains_extend(&p->chains, end, p->stack.frames.at[i]);
	return end;
}

void packing_add_own(struct packing *p, const struct profile_site *rows, size_t count,
		     const char *table)
{
	uint32_t *frames = packing_add_column(p, PACKING_U32, count, table, "own");

	if (!p->own)
		p->own = origin_list_own(p->model);
	for (size_t i = 0; i < count; i++)
		frames[i] = p->own[rows[i].node];
}

void packing_fini(struct packing *p)
{
	for (size_t i = 0; i < p->columns.count; i++)
		free(p->columns.at[i].values);
	for (size_t i = 0; i < p->made.count; i++)
		free(p->made.at[i]);
	vec_free(&p->columns);
	vec_free(&p->texts);
	vec_free(&p->made);
	vec_free(&p->site_nodes);
	vec_free(&p->stack.frames);
	map_free(&p->string_of);
	chains_free(&p->chains);
	free(p->own);
}
