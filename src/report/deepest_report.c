/* deepest_report.c -- the deepest stack of each thread by function, as text or JSON. Runs: offline,
 * called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/deepest_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/human.h"
#include "report/names.h"
#include "report/tree_json.h"
#include "report/wording.h"

#define STACKS_SHOWN  20u
#define COLUMNS_WIDTH 21u /* of the numbers before a name */

struct printer {
	FILE *out;
	const struct deepest_report *report;
	const struct style *style;
};

static void print_thread(const struct printer *p, const struct deepest_stack *s)
{
	const struct profile *profile = model_get_profile(p->report->model);
	char *name = names_escape(profile_string(profile, s->thread->name), p->style->utf8);

	fprintf(p->out, "\n%s%s%s %s(thread %" PRIu32 ", tid %" PRIu32 ")%s: %s\n",
		style_ink(p->style, STYLE_NAME), *name ? name : "unnamed",
		style_ink(p->style, STYLE_PLAIN), style_ink(p->style, STYLE_PLACE),
		s->thread->serial, s->thread->tid, style_ink(p->style, STYLE_PLAIN),
		human_bytes(s->bytes).text);
	fprintf(p->out, "%s%10s  %7s  function%s\n", style_ink(p->style, STYLE_QUIET), "bytes",
		"share", style_ink(p->style, STYLE_PLAIN));
	free(name);
}

static void print_row(const struct printer *p, const struct deepest_row *row, uint64_t whole)
{
	const struct model *m = p->report->model;
	const char *directory =
		profile_string(model_get_profile(m), model_get_profile(m)->run.directory);
	struct names_label label =
		names_label(model_get_frame(m, row->frame), directory, p->style->utf8);

	if (p->style->width)
		names_label_fit(
			&label,
			p->style->width > COLUMNS_WIDTH + 20 ? p->style->width - COLUMNS_WIDTH : 20,
			p->style->utf8);
	fprintf(p->out, "%10s  %7s  %s%s%s", human_bytes(row->bytes).text,
		human_share(row->bytes, whole).text, style_ink(p->style, STYLE_NAME), label.name,
		style_ink(p->style, STYLE_PLAIN));
	if (*label.place)
		fprintf(p->out, " %s(%s)%s", style_ink(p->style, STYLE_PLACE), label.place,
			style_ink(p->style, STYLE_PLAIN));
	if (row->calls > 1)
		wording_print_recursion(p->out, 1, row->calls, row->calls);
	fputc('\n', p->out);
	names_label_free(&label);
}

static void print_stack(const struct printer *p, const struct deepest_stack *s)
{
	const struct deepest_row *rows = p->report->deepest->rows.at + s->first;
	size_t limit = p->report->limit, shown = limit && limit < s->count ? limit : s->count;
	uint64_t rest = 0;

	print_thread(p, s);
	for (size_t i = 0; i < shown; i++)
		print_row(p, &rows[i], s->bytes);
	for (size_t i = shown; i < s->count; i++)
		rest += rows[i].bytes;
	if (shown < s->count)
		fprintf(p->out, "%10s  %7s  ... %s further in\n", human_bytes(rest).text,
			human_share(rest, s->bytes).text,
			human_things(s->count - shown, "function").text);
}

void deepest_report_print(FILE *out, const struct deepest_report *r, const struct style *style)
{
	const struct printer p = {out, r, style};
	size_t count = r->deepest->stacks.count;

	fprintf(out, "%sDeepest stacks by function%s\n", style_ink(style, STYLE_TITLE),
		style_ink(style, STYLE_PLAIN));
	for (size_t i = 0; i < count && i < STACKS_SHOWN; i++)
		print_stack(&p, &r->deepest->stacks.at[i]);
	if (count > STACKS_SHOWN)
		fprintf(out, "\n... %s more, the deepest %s\n",
			human_things(count - STACKS_SHOWN, "thread").text,
			human_bytes(r->deepest->stacks.at[STACKS_SHOWN].bytes).text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_stack(struct json *j, const struct deepest_report *r, const struct deepest_stack *s)
{
	const struct deepest_row *rows = r->deepest->rows.at + s->first;

	json_begin_object(j, NULL);
	json_add_uint(j, "thread", s->thread->serial);
	json_add_uint(j, "tid", s->thread->tid);
	json_add_text(j, "name", profile_string(model_get_profile(r->model), s->thread->name));
	json_add_uint(j, "bytes", s->bytes);
	json_begin_list(j, "frames");
	for (size_t i = 0; i < s->count; i++) {
		json_begin_object(j, NULL);
		tree_json_add_frame(j, model_get_frame(r->model, rows[i].frame), true);
		json_add_uint(j, "bytes", rows[i].bytes);
		json_add_uint(j, "calls", rows[i].calls);
		json_end_object(j);
	}
	json_end_list(j);
	json_end_object(j);
}

void deepest_report_add(struct json *j, const struct deepest_report *r)
{
	json_begin_list(j, "deepest_stacks");
	for (size_t i = 0; i < r->deepest->stacks.count; i++)
		add_stack(j, r, &r->deepest->stacks.at[i]);
	json_end_list(j);
}
