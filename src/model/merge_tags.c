/* merge_tags.c -- what several recordings counted by tag, in one profile. Runs: offline; called by
 * merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_tags.h"

#include "model/merge_figures.h"
#include "model/merge_threads.h"

#define PLAIN_COUNTS 6u
#define COUNTS	     (PLAIN_COUNTS + PROFILE_APIS)

/* The numbers of a row that are added up. */
struct counts {
	uint64_t *at[COUNTS];
};

static struct counts list_counts(struct profile_tag *row)
{
	struct counts c = {{&row->entered, &row->requested_bytes, &row->allocated_bytes,
			    &row->freed_bytes, &row->frees, &row->resizes}};

	for (unsigned i = 0; i < PROFILE_APIS; i++)
		c.at[PLAIN_COUNTS + i] = &row->calls[i];
	return c;
}

void merge_tags_fini(struct merge_tags *t)
{
	map_free(&t->by_path);
}

/* A parent is of one thread: its row and the name say which tag it is. */
static struct profile_tag *reserve(struct merge_tags *t, struct profile *to,
				   const struct profile_tag *row, uint32_t *place)
{
	uint64_t key = row->parent ? (uint64_t)row->parent << 32 | row->name.v
				   : UINT64_C(1) << 63 | row->thread;
	uint32_t *known = map_reserve(&t->by_path, key);

	if (!*known) {
		*vec_push(&to->tags) = (struct profile_tag){
			.thread = row->thread, .parent = row->parent, .name = row->name};
		*known = (uint32_t)to->tags.count;
	}
	*place = *known;
	return &to->tags.at[*known - 1];
}

static void add_counts(struct profile_tag *to, struct profile_tag *from, enum profile_merge mode)
{
	struct counts sums = list_counts(to), more = list_counts(from);

	for (unsigned i = 0; i < COUNTS; i++)
		*sums.at[i] = merge_figures_value(*sums.at[i], *more.at[i], mode);
	to->open = (uint32_t)merge_figures_value(to->open, from->open, mode);
}

void merge_tags_add(struct merge_tags *t, struct remap *remap, const struct profile *p,
		    struct remap_table *table, struct map *serials)
{
	struct profile *to = remap->to;
	uint32_t *places = mem_new(p->tags.count + 1, sizeof(*places)); /* row + 1 -> row + 1 */

	for (size_t i = 0; i < p->tags.count; i++) {
		struct profile_tag row = p->tags.at[i];

		if (row.snapshot)
			continue;
		row.thread = merge_threads_find(serials, row.thread);
		row.name = remap_string(remap, p, table, row.name);
		row.parent = places[row.parent];
		add_counts(reserve(t, to, &row, &places[i + 1]), &row, to->run.merge);
	}
	free(places);
}

void merge_tags_divide(struct profile *p, uint64_t count)
{
	for (size_t i = 0; i < p->tags.count; i++) {
		struct counts sums = list_counts(&p->tags.at[i]);

		for (unsigned k = 0; k < COUNTS; k++)
			*sums.at[k] = merge_figures_divide(*sums.at[k], count);
		p->tags.at[i].open = (uint32_t)merge_figures_divide(p->tags.at[i].open, count);
	}
}
