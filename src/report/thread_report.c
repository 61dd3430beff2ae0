/* thread_report.c -- a figure thread by thread, as a table or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/thread_report.h"

#include <inttypes.h>

#include "report/figures.h"
#include "report/human.h"
#include "report/names.h"
#include "report/stack_report.h"
#include "report/wording.h"

static double share(const struct thread_report *r, struct amount a)
{
	uint64_t whole = figure_get_value(r->threads->kept, r->figure);

	return whole ? 100.0 * (double)figure_get_value(a, r->figure) / (double)whole : 0.0;
}

static void print_row(FILE *out, const struct thread_report *r, const struct by_thread_row *row,
		      const struct style *style)
{
	const struct profile_thread *t = row->thread;
	char *name = names_escape(profile_string(r->profile, t->name), style->utf8);
	char *input = names_escape(wording_get_input(r->profile, t), style->utf8);

	fprintf(out, "%s%s%s %s(thread %" PRIu32, style_ink(style, STYLE_NAME),
		*name ? name : "unnamed", style_ink(style, STYLE_PLAIN),
		style_ink(style, STYLE_PLACE), t->serial);
	if (t->tid)
		fprintf(out, ", tid %" PRIu32, t->tid);
	if (t->stack_reserved_bytes)
		fprintf(out, ", stack %s of %s", human_bytes(t->stack_deepest_bytes).text,
			human_bytes(t->stack_reserved_bytes).text);
	fprintf(out, "%s%s)%s\n", *input ? ", of " : "", input, style_ink(style, STYLE_PLAIN));
	free(name);
	free(input);
}

static void print_title(FILE *out, const struct thread_report *r, const struct style *style)
{
	const struct by_thread *t = r->threads;

	fprintf(out, "%s%s: ", style_ink(style, STYLE_TITLE), wording_get_title(r->figure));
	wording_print_amount(out, t->kept, r->figure);
	if (t->kept.bytes != t->whole.bytes || t->kept.blocks != t->whole.blocks) {
		fputs(" (of ", out);
		wording_print_amount(out, t->whole, r->figure);
		fputc(')', out);
	}
	fprintf(out, "%s\n", style_ink(style, STYLE_PLAIN));
}

/* False if the row belongs to the rest. */
static bool is_shown(const struct thread_report *r, size_t i)
{
	return share(r, r->threads->rows.at[i].amount) >= r->threshold &&
	       (!r->limit || i < r->limit);
}

void thread_report_print(FILE *out, const struct thread_report *r, const struct style *style)
{
	struct amount rest = {0};
	struct figures figures;
	size_t left_out = 0;

	if (r->threads->rows.count == 0) {
		fputs("There is no such thread.\n", out);
		return;
	}
	print_title(out, r, style);
	figures_init(&figures, r->figure, FIGURES_PLAIN, r->threads->kept);
	fputs(style_ink(style, STYLE_QUIET), out);
	figures_print_titles(out, &figures, "share");
	fprintf(out, "thread%s\n", style_ink(style, STYLE_PLAIN));
	for (size_t i = 0; i < r->threads->rows.count; i++) {
		const struct by_thread_row *row = &r->threads->rows.at[i];
		if (is_shown(r, i)) {
			figures_print(out, &figures, row->amount);
			print_row(out, r, row, style);
			continue;
		}
		left_out++;
		rest = amount_plus(rest, row->amount);
	}
	if (!left_out)
		return;
	figures_print(out, &figures, rest);
	fprintf(out, "... %s more %s\n", human_count(left_out).text,
		left_out == 1 ? "thread" : "threads");
}

void thread_report_add(struct json *j, const struct thread_report *r)
{
	json_add_string(j, "figure", figure_name(r->figure));
	json_add_uint(j, "total_bytes", r->threads->kept.bytes);
	json_add_uint(j, "total_blocks", r->threads->kept.blocks);
	json_begin_list(j, "thread_list");
	for (size_t i = 0; i < r->threads->rows.count; i++) {
		const struct by_thread_row *row = &r->threads->rows.at[i];
		json_begin_object(j, NULL);
		json_add_uint(j, "serial", row->thread->serial);
		json_add_uint(j, "tid", row->thread->tid);
		json_add_string(j, "name", profile_string(r->profile, row->thread->name));
		if (row->thread->input)
			json_add_uint(j, "input", row->thread->input - 1);
		json_add_uint(j, "bytes", row->amount.bytes);
		json_add_uint(j, "blocks", row->amount.blocks);
		json_add_real(j, "share", share(r, row->amount));
		stack_report_add(j, row->thread);
		json_end_object(j);
	}
	json_end_list(j);
}
