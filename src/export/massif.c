/* massif.c -- the heap over time with trees at some moments, as ms_print reads it. Runs: offline;
 * called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "export/export.h"
#include "export/labels.h"
#include "export/places.h"
#include "model/tree.h"

/* Massif's own: what a tree leaves out, and how many snapshots come for one with a tree. */
#define THRESHOLD_PERCENT 1.0
#define DETAILED_COUNT	  10u

/* ms_print takes what follows a '#' for a comment, and C++ has lambdas "{lambda()#1}". */
#define REPLACED "#@"

static const struct tree_view view = {
	.figure = FIGURE_PEAK, .direction = TREE_INVERTED, .threshold = THRESHOLD_PERCENT};

struct writer {
	FILE *out;
	const struct model *model;
	const struct profile *profile;
	struct amount *live; /* by site, at the point at hand */
	size_t next_change;
	uint64_t snapshots;
};

static void put_spaces(FILE *out, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		fputc(' ', out);
}

static void write_rest(struct writer *w, const struct tree *t, const struct tree_node *n,
		       uint32_t shown)
{
	uint32_t places = n->child_count - shown;

	fprintf(w->out,
		"n0: %" PRIu64 " in %" PRIu32 " place%s below massif's threshold (%.2f%%)\n",
		tree_get_rest(t, n, shown).bytes, places, places == 1 ? "," : "s, all",
		THRESHOLD_PERCENT);
}

/* Recursion is bounded by MODEL_STACK_MAX. */
static void write_node(struct writer *w, const struct tree *t, const struct tree_node *n,
		       unsigned depth)
{
	uint32_t shown = tree_get_shown(t, n, depth);
	bool has_rest = n->child_count > shown;

	put_spaces(w->out, depth);
	fprintf(w->out, "n%" PRIu32 ": %" PRIu64 " ", shown + has_rest, n->amount.bytes);
	if (depth) {
		char *place = places_format(model_get_frame(t->model, n->frame), REPLACED);
		fprintf(w->out, "%s\n", place);
		free(place);
	} else {
		fputs("(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", w->out);
	}
	for (uint32_t i = 0; i < shown; i++)
		write_node(w, t, tree_get_child(t, n, i), depth + 1);
	if (has_rest) {
		put_spaces(w->out, depth + 1);
		write_rest(w, t, n, shown);
	}
}

static void write_state(struct writer *w, uint64_t time_ns, uint64_t bytes, const char *tree)
{
	fprintf(w->out, "#-----------\nsnapshot=%" PRIu64 "\n#-----------\n", w->snapshots++);
	/* Milliseconds, which for a short run need their fractions. */
	fprintf(w->out, "time=%" PRIu64 ".%03" PRIu64 "\n", time_ns / 1000000,
		time_ns / 1000 % 1000);
	fprintf(w->out,
		"mem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n", bytes,
		tree);
}

/* A tree that holds more than the whole, as a damaged file may give, would end ms_print. */
static void write_detailed(struct writer *w, uint64_t time_ns, uint64_t bytes, const char *kind)
{
	struct tree *t = tree_build_of(w->model, &view, strcmp(kind, "peak") ? w->live : NULL);
	const struct tree_node *whole = &t->nodes.at[0];

	if (whole->amount.bytes <= bytes) {
		write_state(w, time_ns, bytes, kind);
		write_node(w, t, whole, 0);
	} else {
		write_state(w, time_ns, bytes, "empty");
	}
	tree_free(t);
}

static void apply_changes(struct writer *w, size_t point)
{
	const struct profile *p = w->profile;

	for (; w->next_change < p->changes.count && p->changes.at[w->next_change].point <= point;
	     w->next_change++) {
		const struct profile_change *c = &p->changes.at[w->next_change];
		w->live[c->site] =
			(struct amount){.bytes = c->live_bytes, .blocks = c->live_blocks};
	}
}

/* The last point is the end: its tree shows what leaked. */
static bool is_detailed(const struct profile *p, size_t point)
{
	size_t step = p->points.count / DETAILED_COUNT + 1;

	return point + 1 == p->points.count || point % step == step - 1;
}

static void write_point(struct writer *w, size_t point)
{
	const struct profile_point *state = &w->profile->points.at[point];

	apply_changes(w, point);
	if (is_detailed(w->profile, point))
		write_detailed(w, state->time_ns, state->live_bytes, "detailed");
	else
		write_state(w, state->time_ns, state->live_bytes, "empty");
}

static void write_snapshots(struct writer *w)
{
	const struct profile *p = w->profile;
	const struct profile_totals *t = &p->totals;
	size_t point = 0;

	write_state(w, 0, 0, "empty");
	for (; point < p->points.count && p->points.at[point].time_ns < t->peak_time_ns; point++)
		write_point(w, point);
	if (t->peak_bytes)
		write_detailed(w, t->peak_time_ns, t->peak_bytes, "peak");
	for (; point < p->points.count; point++)
		write_point(w, point);
}

static int write_massif(FILE *out, const struct export_request *r, struct error *e)
{
	const struct profile *p = model_get_profile(r->model);
	struct writer w = {.out = out, .model = r->model, .profile = p};
	char *command = labels_clean(profile_string(p, p->run.command), REPLACED);

	(void)e;
	w.live = mem_new(p->sites.count, sizeof(*w.live));
	fprintf(out, "desc: midden %s, requested bytes\ncmd: %s\ntime_unit: ms\n", MIDDEN_VERSION,
		command);
	write_snapshots(&w);
	free(command);
	free(w.live);
	return 0;
}

const struct export_format export_massif = {
	.name = "massif",
	.summary = "the heap over time with trees at the peak and other moments: ms_print",
	.suffix = ".massif",
	.write = write_massif,
};
