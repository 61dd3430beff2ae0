/* lifetime_report.c -- how long blocks lived, as a table or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/lifetime_report.h"

#include "report/flat_text.h"
#include "report/human.h"
#include "report/names.h"
#include "report/tree_json.h"

#define COLUMNS_WIDTH 77u

static void print_figures(FILE *out, const struct lifetime_row *row)
{
	fprintf(out, "%11s  %11s  %11s  ", human_duration(lifetime_get_mean(row)).text,
		human_duration(row->min_ns).text, human_duration(row->max_ns).text);
	fprintf(out, "%13s  %9s  %10s  ", human_count(row->freed).text,
		human_bytes(row->freed_bytes).text, human_count(row->kept).text);
}

static void print_row(FILE *out, const struct lifetimes *l, const struct lifetime_row *row,
		      const struct style *style)
{
	struct names_label label = flat_text_label(l->model, row->frame, l->key, style->utf8);

	if (style->width)
		names_label_fit(&label,
				style->width > COLUMNS_WIDTH ? style->width - COLUMNS_WIDTH : 0,
				style->utf8);
	print_figures(out, row);
	fprintf(out, "%s%s%s", style_ink(style, STYLE_NAME), label.name,
		style_ink(style, STYLE_PLAIN));
	if (*label.place)
		fprintf(out, " %s(%s)%s", style_ink(style, STYLE_PLACE), label.place,
			style_ink(style, STYLE_PLAIN));
	fputc('\n', out);
	names_label_free(&label);
}

static void print_rest(FILE *out, const struct lifetimes *l, size_t limit)
{
	struct lifetime_row rest = {.min_ns = UINT64_MAX};

	for (size_t i = limit; i < l->rows.count; i++) {
		const struct lifetime_row *row = &l->rows.at[i];
		rest.freed += row->freed;
		rest.freed_bytes += row->freed_bytes;
		rest.kept += row->kept;
		rest.sum_ns += row->sum_ns;
		rest.min_ns = row->min_ns < rest.min_ns ? row->min_ns : rest.min_ns;
		rest.max_ns = row->max_ns > rest.max_ns ? row->max_ns : rest.max_ns;
	}
	print_figures(out, &rest);
	fprintf(out, "... %s more\n", human_count(l->rows.count - limit).text);
}

static void print_title(FILE *out, const struct lifetimes *l, const struct style *style)
{
	fprintf(out, "%sLifetimes: %s freed %s lived for %s on average, %s to %s%s\n",
		style_ink(style, STYLE_TITLE), human_count(l->whole.freed).text,
		l->whole.freed == 1 ? "block" : "blocks",
		human_duration(lifetime_get_mean(&l->whole)).text,
		human_duration(l->whole.min_ns).text, human_duration(l->whole.max_ns).text,
		style_ink(style, STYLE_PLAIN));
	if (l->never_freed)
		fprintf(out, "  not in the table: %s %s of %s %s that freed nothing\n",
			human_count(l->never_freed).text, l->never_freed == 1 ? "block" : "blocks",
			human_count(l->never_freed_sites).text,
			l->never_freed_sites == 1 ? "stack" : "stacks");
}

void lifetime_report_print(FILE *out, const struct lifetimes *l, size_t limit,
			   const struct style *style)
{
	if (l->rows.count == 0) {
		fputs("Nothing was freed.\n", out);
		return;
	}
	print_title(out, l, style);
	fprintf(out, "%s%11s  %11s  %11s  %13s  %9s  %10s  allocated by%s\n",
		style_ink(style, STYLE_QUIET), "mean", "shortest", "longest", "freed", "bytes",
		"not freed", style_ink(style, STYLE_PLAIN));
	for (size_t i = 0; i < l->rows.count && (!limit || i < limit); i++)
		print_row(out, l, &l->rows.at[i], style);
	if (limit && l->rows.count > limit)
		print_rest(out, l, limit);
}

static void add_row(struct json *j, const struct lifetime_row *row)
{
	json_add_uint(j, "freed_blocks", row->freed);
	json_add_uint(j, "freed_bytes", row->freed_bytes);
	json_add_uint(j, "live_blocks", row->kept);
	if (row->freed) {
		json_add_uint(j, "mean_ns", lifetime_get_mean(row));
		json_add_uint(j, "min_ns", row->min_ns);
		json_add_uint(j, "max_ns", row->max_ns);
		return;
	}
	json_add_null(j, "mean_ns");
	json_add_null(j, "min_ns");
	json_add_null(j, "max_ns");
}

void lifetime_report_add(struct json *j, const struct lifetimes *l)
{
	add_row(j, &l->whole);
	json_add_uint(j, "never_freed_blocks", l->never_freed);
	json_begin_list(j, "lifetimes");
	for (size_t i = 0; i < l->rows.count; i++) {
		json_begin_object(j, NULL);
		tree_json_add_frame(j, model_get_frame(l->model, l->rows.at[i].frame),
				    l->key == FLAT_BY_LINE);
		add_row(j, &l->rows.at[i]);
		json_end_object(j);
	}
	json_end_list(j);
}
