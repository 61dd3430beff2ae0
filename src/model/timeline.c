/* timeline.c -- what was live over time, of the whole program or of some of its stacks.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/timeline.h"

#include "model/filter.h"

static void add_point(struct timeline *t, struct timeline_point point)
{
	*vec_push(&t->points) = point;
	if (point.highest_bytes > t->highest.highest_bytes)
		t->highest = point;
}

static void add_counted(struct timeline *t, const struct profile *p)
{
	for (size_t i = 0; i < p->points.count; i++) {
		const struct profile_point *point = &p->points.at[i];
		add_point(t, (struct timeline_point){
				     point->time_ns,
				     {.bytes = point->live_bytes, .blocks = point->live_blocks},
				     point->peak_bytes});
	}
}

/* Changes are ordered by point; each replaces what its site had. */
static void add_summed(struct timeline *t, const struct profile *p, const uint8_t *verdicts)
{
	struct amount *held = mem_new(p->sites.count, sizeof(*held));
	struct amount sum = {0};
	size_t next = 0;

	for (size_t i = 0; i < p->points.count; i++) {
		for (; next < p->changes.count && p->changes.at[next].point == i; next++) {
			const struct profile_change *c = &p->changes.at[next];
			if (verdicts[c->site] != FILTER_KEPT)
				continue;
			sum = amount_minus(sum, held[c->site]);
			held[c->site] =
				(struct amount){.bytes = c->live_bytes, .blocks = c->live_blocks};
			sum = amount_plus(sum, held[c->site]);
		}
		add_point(t, (struct timeline_point){p->points.at[i].time_ns, sum, sum.bytes});
	}
	free(held);
}

void timeline_build(struct timeline *t, const struct profile *p, const uint8_t *verdicts)
{
	*t = (struct timeline){0};
	if (verdicts)
		add_summed(t, p, verdicts);
	else
		add_counted(t, p);
}
