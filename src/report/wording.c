/* wording.c -- how reports speak of a figure. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/wording.h"

#include <inttypes.h>

#include "report/figures.h"
#include "report/human.h"

struct wording {
	const char *title;
	const char *empty;
};

static const struct wording wordings[FIGURE_ALL] = {
	[FIGURE_PEAK] = {"Held at the peak", "Nothing was allocated."},
	[FIGURE_LEAKED] = {"Not freed when the program ended", "Nothing leaked."},
	[FIGURE_ALLOCATED] = {"Allocated in all", "Nothing was allocated."},
	[FIGURE_CALLS] = {"Calls that allocated", "Nothing was allocated."},
	[FIGURE_TEMPORARY] = {"Freed before anything else was allocated",
			      "There were no temporary allocations."},
	[FIGURE_LIVE] = {"Live", "Nothing was live then."},
	[FIGURE_GROWTH] = {"Grown", "Nothing grew or shrank in between."},
	[FIGURE_OWN_PEAK] = {"The most that each stack ever held, added up",
			     "Nothing was allocated."},
	[FIGURE_REALLOC] = {"Calls of realloc that resized a block", "No block was resized."},
};

const char *wording_get_unit(enum figure f)
{
	return figure_is_count(f) ? "calls" : "blocks";
}

const char *wording_get_merge(uint32_t merge)
{
	static const char *const names[] = {
		[PROFILE_MERGE_NONE] = "one",
		[PROFILE_MERGE_SUM] = "sum",
		[PROFILE_MERGE_MAX] = "maximum",
		[PROFILE_MERGE_MEAN] = "mean",
	};

	return merge <= PROFILE_MERGE_MEAN ? names[merge] : "combination";
}

void wording_print_process(FILE *out, const struct profile *p)
{
	if (p->run.merge)
		fprintf(out, "%s of %s", wording_get_merge(p->run.merge),
			human_things(p->inputs.count, "profile").text);
	else
		fprintf(out, "pid %" PRIu32, p->run.pid);
}

const char *wording_get_input(const struct profile *p, const struct profile_thread *t)
{
	return t->input ? profile_string(p, p->inputs.at[t->input - 1].name) : "";
}

const char *wording_get_empty(const struct profile *p, enum figure f)
{
	if (profile_is_by_tag(p))
		return "This profile counts by tag and has no stacks: see `midden tags`.";
	if (profile_has_never_begun(p))
		return "Recording never began.";
	/* A damaged file may have its totals and no stacks. */
	if (p->totals.allocations && p->sites.count == 0)
		return "The stacks are missing from this file.";
	if (p->of_maps)
		return p->map_totals.allocations ? "Of the maps that were recorded, none is left "
						   "here: `midden stats` "
						   "lists their kinds."
						 : "No map was recorded: the program, which was "
						   "recorded with --maps, "
						   "mapped nothing itself.";
	return wordings[f].empty;
}

const char *wording_get_title(enum figure f)
{
	return wordings[f].title;
}

void wording_print_amount(FILE *out, struct amount a, enum figure f)
{
	figures_print_amount(out, a, f, FIGURES_PLAIN);
}

void wording_print_recursion(FILE *out, unsigned cycle, unsigned least, unsigned most)
{
	if (most <= 1)
		return;
	fputs(" [", out);
	if (cycle > 1)
		fprintf(out, "%u functions in a cycle, ", cycle);
	if (least < most)
		fprintf(out, "%s to ", human_count(least).text);
	fprintf(out, "%s%s", human_count(most).text, cycle > 1 ? " times]" : " in a row]");
}

void wording_print_title(FILE *out, const struct profile *p, enum figure f, struct amount seen,
			 const struct style *style)
{
	struct amount counted = figure_get_total(p, f);

	fprintf(out, "%s%s: ", style_ink(style, STYLE_TITLE), wordings[f].title);
	wording_print_amount(out, seen, f);
	fprintf(out, "%s\n", style_ink(style, STYLE_PLAIN));
	if ((seen.bytes == counted.bytes && seen.blocks == counted.blocks) || p->run.sample_period)
		return;
	fprintf(out, "%s  ! the recorder counted ", style_ink(style, STYLE_WARNING));
	wording_print_amount(out, counted, f);
	fprintf(out, ": the difference has no stack%s\n", style_ink(style, STYLE_PLAIN));
}
