/* rss_report.c -- who keeps the heap's pages resident, as text or JSON. Runs: offline, called by
 * sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/rss_report.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/flat_text.h"
#include "report/human.h"
#include "report/names.h"
#include "report/tree_json.h"

#define COLUMNS_WIDTH 81u
#define ROWS_LEAST    5u /* however small: where a heap has many sites, each has little */

struct printer {
	FILE *out;
	const struct rss_report *report;
	const struct profile *profile;
	const struct profile_survey *survey;
	const struct style *style;
};

/* ---- the sums -------------------------------------------------------------------------------- */

static bool went_well(const struct profile *p, size_t survey)
{
	return !*profile_string(p, p->surveys.at[survey].fault);
}

/* Whoever asks for the peak may get a look that was made for another reason. */
static void print_highest(FILE *out, const struct profile *p, size_t survey)
{
	size_t looks = 0;

	for (size_t i = 0; i < p->surveys.count; i++)
		looks += went_well(p, i);
	if (looks > 1 && p->surveys.at[survey].reason != PROFILE_REASON_PEAK &&
	    pinning_is_highest(p, survey))
		fprintf(out, ", where the resident size was highest of %s",
			human_things(looks, "look").text);
}

void rss_report_print_moment(FILE *out, const struct profile *p, size_t survey,
			     const struct style *style)
{
	const struct profile_survey *s = &p->surveys.at[survey];

	if (s->snapshot) {
		const struct profile_snapshot *at = &p->snapshots.at[s->snapshot - 1];
		char *name = names_escape(profile_string(p, at->name), style->utf8);

		fprintf(out, "at snapshot %u%s%s", s->snapshot, *name ? " " : "", name);
		free(name);
	} else {
		fputs(s->reason == PROFILE_REASON_END ? "at the end"
		      : pinning_is_highest(p, survey) ? "at the peak of the resident size"
						      : "at a peak of the resident size",
		      out);
	}
	fprintf(out, ", %s", human_duration(s->time_ns).text);
	print_highest(out, p, survey);
}

static void print_title(const struct printer *p)
{
	fprintf(p->out, "%sWho keeps the heap resident, ", style_ink(p->style, STYLE_TITLE));
	rss_report_print_moment(p->out, p->profile, p->report->pinning->survey, p->style);
	fprintf(p->out, "%s\n", style_ink(p->style, STYLE_PLAIN));
}

/* The option that shows a look, malloc'ed; NULL: it is one of the snapshots, which are counted. */
static char *name_look(const struct profile *p, size_t survey)
{
	if (pinning_is_highest(p, survey))
		return mem_copy_string("@peak");
	if (p->surveys.at[survey].reason == PROFILE_REASON_END)
		return mem_copy_string("@end");
	return p->surveys.at[survey].snapshot ? NULL : pinning_name_time(p, survey);
}

/* Somebody who has not asked for this one may want another. */
void rss_report_print_others(FILE *out, const struct profile *p, size_t survey)
{
	const char *before = "  other looks: ";
	size_t snapshots = 0;

	for (size_t i = 0; i < p->surveys.count; i++) {
		if (i == survey || !went_well(p, i))
			continue;
		char *name = name_look(p, i);

		if (name)
			fprintf(out, "%s--at %s", before, name);
		before = name ? ", " : before;
		snapshots += !name;
		free(name);
	}
	if (snapshots)
		fprintf(out, "%s--at NAME or number of %s", before,
			human_things(snapshots, "snapshot").text);
	if (snapshots || *before == ',')
		fputc('\n', out);
}

static void print_live(const struct printer *p)
{
	const struct profile_survey *s = p->survey;

	fprintf(p->out, "  live      %10s in %s", human_bytes(s->live_bytes).text,
		human_things(s->live_blocks, "block").text);
	if (s->usable_bytes)
		fprintf(p->out, ", for which the allocator set aside %s",
			human_bytes(s->usable_bytes).text);
	fprintf(p->out, "\n  touched   %10s of that, on resident pages",
		human_bytes(s->touched_bytes).text);
	if (s->untouched_bytes)
		fprintf(p->out, "; %s never touched, or given back",
			human_bytes(s->untouched_bytes).text);
	if (s->swapped_live_bytes)
		fprintf(p->out, "; %s swapped out", human_bytes(s->swapped_live_bytes).text);
	fputc('\n', p->out);
}

static void print_sums(const struct printer *p)
{
	const struct profile_survey *s = p->survey;
	uint64_t most = p->profile->totals.rss_peak_bytes;

	fprintf(p->out, "  resident  %10s of heap", human_bytes(s->resident_bytes).text);
	if (s->rss_bytes)
		fprintf(p->out, ", %s in all", human_bytes(s->rss_bytes).text);
	if (s->huge_bytes)
		fprintf(p->out, "; %s in huge pages", human_bytes(s->huge_bytes).text);
	if (s->reason == PROFILE_REASON_PEAK && s->rss_bytes < most / 8 * 7 &&
	    pinning_is_highest(p->profile, p->report->pinning->survey))
		fprintf(p->out, "; it rose to %s, where nobody looked", human_bytes(most).text);
	fputc('\n', p->out);
	print_live(p);
	fprintf(p->out, "  pinned    %10s (%s of the heap) is dead, on pages that live blocks hold",
		human_bytes(s->pinned_bytes).text,
		human_share(s->pinned_bytes, s->resident_bytes).text);
	fprintf(p->out,
		"\n  free      %10s (%s) on pages without a live block, kept by the allocator\n",
		human_bytes(s->free_bytes).text,
		human_share(s->free_bytes, s->resident_bytes).text);
	if (s->lone_pages)
		fprintf(p->out, "  lone      %10s page%s held by one small block alone\n",
			human_count(s->lone_pages).text, s->lone_pages == 1 ? "" : "s");
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_figures(const struct printer *p, const struct profile_pin *held)
{
	fprintf(p->out, "%10s  %7s  %10s  %10s  ", human_bytes(held->resident_bytes).text,
		human_share(held->resident_bytes, p->survey->resident_bytes).text,
		human_bytes(held->pinned_bytes).text, human_bytes(held->live_bytes).text);
	fprintf(p->out, "%11s  %9s  %10s  ", human_count(held->live_blocks).text,
		human_count(held->lone_pages).text, human_bytes(held->sole_bytes).text);
}

static void print_row(const struct printer *p, const struct pinning_row *row)
{
	const struct pinning *n = p->report->pinning;
	struct names_label l = flat_text_label(n->model, row->frame, n->key, p->style->utf8);
	unsigned width = p->style->width;

	if (width)
		names_label_fit(&l, width > COLUMNS_WIDTH ? width - COLUMNS_WIDTH : 0,
				p->style->utf8);
	print_figures(p, &row->held);
	fprintf(p->out, "%s%s%s", style_ink(p->style, STYLE_NAME), l.name,
		style_ink(p->style, STYLE_PLAIN));
	if (*l.place)
		fprintf(p->out, " %s(%s)%s", style_ink(p->style, STYLE_PLACE), l.place,
			style_ink(p->style, STYLE_PLAIN));
	fputc('\n', p->out);
	names_label_free(&l);
}

static bool is_shown(const struct printer *p, size_t i)
{
	const struct rss_report *r = p->report;
	double share = 100.0 * (double)r->pinning->rows.at[i].held.resident_bytes;

	return (!r->limit || i < r->limit) &&
	       (i < ROWS_LEAST || share >= r->threshold * (double)p->survey->resident_bytes);
}

static void print_table(const struct printer *p)
{
	const struct pinning *n = p->report->pinning;
	struct profile_pin rest = n->whole.held;
	size_t i;

	fprintf(p->out, "\n%s%10s  %7s  %10s  %10s  %11s  %9s  %10s  allocated by%s\n",
		style_ink(p->style, STYLE_QUIET), "resident", "of heap", "pinned", "live", "blocks",
		"lone", "alone", style_ink(p->style, STYLE_PLAIN));
	for (i = 0; i < n->rows.count && is_shown(p, i); i++) {
		const struct profile_pin *held = &n->rows.at[i].held;

		print_row(p, &n->rows.at[i]);
		rest.resident_bytes -= held->resident_bytes;
		rest.pinned_bytes -= held->pinned_bytes;
		rest.live_bytes -= held->live_bytes;
		rest.live_blocks -= held->live_blocks;
		rest.lone_pages -= held->lone_pages;
		rest.sole_bytes -= held->sole_bytes;
	}
	if (i < n->rows.count) {
		print_figures(p, &rest);
		fprintf(p->out, "... %s more\n", human_count(n->rows.count - i).text);
	}
	fputs("Alone: what would be free if these blocks were gone and all others stayed.\n",
	      p->out);
}

void rss_report_print(FILE *out, const struct rss_report *r, const struct style *style)
{
	const struct profile *profile = model_get_profile(r->pinning->model);
	const struct printer p = {out, r, profile, &profile->surveys.at[r->pinning->survey], style};

	print_title(&p);
	rss_report_print_others(out, profile, r->pinning->survey);
	print_sums(&p);
	if (r->pinning->rows.count)
		print_table(&p);
	else
		fputs("\nNo block is live.\n", out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_survey(struct json *j, const struct profile *p, const struct profile_survey *s)
{
	static const char *const reasons[PROFILE_REASONS] = {
		[PROFILE_REASON_SNAPSHOT] = "snapshot",
		[PROFILE_REASON_PEAK] = "peak",
		[PROFILE_REASON_END] = "end",
	};
	const char *fault = profile_string(p, s->fault);

	json_add_string(j, "reason", reasons[s->reason]);
	if (s->snapshot)
		json_add_uint(j, "snapshot", s->snapshot);
	json_add_uint(j, "time_ns", s->time_ns);
	json_add_uint(j, "cost_ns", s->cost_ns);
	json_add_uint(j, "rss_bytes", s->rss_bytes);
	if (*fault) {
		json_add_string(j, "fault", fault);
		return;
	}
	json_add_uint(j, "live_blocks", s->live_blocks);
	json_add_uint(j, "live_bytes", s->live_bytes);
	if (s->usable_bytes)
		json_add_uint(j, "usable_bytes", s->usable_bytes);
	else
		json_add_null(j, "usable_bytes");
	json_add_uint(j, "touched_bytes", s->touched_bytes);
	json_add_uint(j, "untouched_bytes", s->untouched_bytes);
	json_add_uint(j, "swapped_live_bytes", s->swapped_live_bytes);
	json_add_uint(j, "resident_bytes", s->resident_bytes);
	json_add_uint(j, "held_bytes", s->held_bytes);
	json_add_uint(j, "free_bytes", s->free_bytes);
	json_add_uint(j, "pinned_bytes", s->pinned_bytes);
	json_add_uint(j, "swapped_bytes", s->swapped_bytes);
	json_add_uint(j, "huge_bytes", s->huge_bytes);
	json_add_uint(j, "lone_pages", s->lone_pages);
	json_add_real(j, "fragmentation",
		      s->resident_bytes ? (double)(s->pinned_bytes + s->free_bytes) /
						  (double)s->resident_bytes
					: 0);
}

void rss_report_add_survey(struct json *j, const char *key, const struct profile *p, size_t survey)
{
	json_begin_object(j, key);
	add_survey(j, p, &p->surveys.at[survey]);
	json_end_object(j);
}

void rss_report_add_surveys(struct json *j, const char *key, const struct profile *p)
{
	json_begin_list(j, key);
	for (size_t i = 0; i < p->surveys.count; i++) {
		json_begin_object(j, NULL);
		add_survey(j, p, &p->surveys.at[i]);
		json_end_object(j);
	}
	json_end_list(j);
}

static void add_held(struct json *j, const struct profile_pin *held)
{
	json_add_uint(j, "resident_bytes", held->resident_bytes);
	json_add_uint(j, "pinned_bytes", held->pinned_bytes);
	json_add_uint(j, "live_bytes", held->live_bytes);
	json_add_uint(j, "live_blocks", held->live_blocks);
	json_add_uint(j, "lone_pages", held->lone_pages);
	json_add_uint(j, "alone_bytes", held->sole_bytes);
}

static void add_stack(struct json *j, const struct model *m, const struct profile_pin *pin)
{
	json_begin_object(j, NULL);
	add_held(j, pin);
	tree_json_add_own_stack(j, m, pin->site);
	json_end_object(j);
}

void rss_report_add(struct json *j, const struct pinning *n)
{
	const struct profile *p = model_get_profile(n->model);

	rss_report_add_survey(j, "rss", p, n->survey);
	json_begin_list(j, "rows");
	for (size_t i = 0; i < n->rows.count; i++) {
		json_begin_object(j, NULL);
		tree_json_add_frame(j, model_get_frame(n->model, n->rows.at[i].frame),
				    n->key == FLAT_BY_LINE);
		json_add_uint(j, "stacks", n->rows.at[i].stacks);
		add_held(j, &n->rows.at[i].held);
		json_end_object(j);
	}
	json_end_list(j);
	json_begin_list(j, "stacks");
	for (size_t i = 0; i < n->pins.count; i++)
		add_stack(j, n->model, &n->pins.at[i]);
	json_end_list(j);
}
