/* findings.c -- what a reader of the profile should look at: habits that cost time or memory, with
 * the numbers that show them. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/findings.h"

#include "base/map.h"
#include "model/filter.h"
#include "model/habits.h"
#include "model/origin.h"

static const char *const names[FINDING_KINDS] = {
	[FINDING_GROWING_LEAK] = "growing-leak", [FINDING_TEMPORARY] = "temporary",
	[FINDING_REGROWN] = "regrown",		 [FINDING_TINY] = "tiny-blocks",
	[FINDING_LEFT_BEHIND] = "left-behind",
};

const char *findings_get_name(enum finding_kind kind)
{
	return names[kind];
}

static bool is_judged_out(const uint8_t *verdicts, size_t site)
{
	return verdicts && verdicts[site] != FILTER_KEPT && verdicts[site] != FILTER_SUPPRESSED;
}

/* The place of every site, numbered from 1; 0 for sites that are filtered out. */
static uint32_t *list_places(const struct model *m, const uint8_t *verdicts, size_t *count)
{
	const struct profile *p = model_get_profile(m);
	uint32_t *places = mem_new(p->sites.count, sizeof(*places));
	struct map index = {0};
	struct model_stack stack = {0};

	*count = 0;
	for (size_t i = 0; i < p->sites.count; i++) {
		if (is_judged_out(verdicts, i))
			continue;
		model_get_stack(m, i, &stack);
		uint32_t frame = stack.frames.at[origin_find_own(m, &stack)];
		uint32_t *place = map_reserve(&index, frame);
		if (*place == 0)
			*place = (uint32_t)++ * count;
		places[i] = *place;
	}
	vec_free(&stack.frames);
	map_free(&index);
	return places;
}

static int compare_findings(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;
	bool leaks[2] = {a->kind == FINDING_GROWING_LEAK, b->kind == FINDING_GROWING_LEAK};

	/* A leak that grows ends the program sooner or later: first, however small. */
	if (leaks[0] != leaks[1])
		return leaks[0] ? -1 : 1;
	if (a->weight < b->weight || a->weight > b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static void count_other_leaks(struct findings *f, const struct profile *p, const uint8_t *verdicts)
{
	for (size_t i = 0; i < p->sites.count; i++)
		if (!verdicts || verdicts[i] == FILTER_KEPT)
			f->other_leaks = amount_plus(f->other_leaks,
						     figure_get(&p->sites.at[i], FIGURE_LEAKED));
	for (size_t i = 0; i < f->list.count; i++)
		if (f->list.at[i].kind == FINDING_GROWING_LEAK)
			f->other_leaks = amount_minus(f->other_leaks, f->list.at[i].amount);
}

struct findings *findings_build(const struct model *m, const uint8_t *verdicts)
{
	const struct profile *p = model_get_profile(m);
	struct findings *f = mem_new(1, sizeof(*f));
	struct habits h = {.model = m, .verdicts = verdicts, .findings = f};

	h.places = list_places(m, verdicts, &h.place_count);
	habits_find_temporary(&h);
	habits_find_regrown(&h);
	habits_find_tiny(&h);
	habits_find_left_behind(&h);
	f->has_time_line = habits_find_growing_leaks(&h);
	free(h.places);
	if (f->list.count)
		qsort(f->list.at, f->list.count, sizeof(*f->list.at), compare_findings);
	count_other_leaks(f, p, verdicts);
	return f;
}

void findings_free(struct findings *f)
{
	if (!f)
		return;
	vec_free(&f->list);
	free(f);
}
