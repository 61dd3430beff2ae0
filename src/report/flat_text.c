/* flat_text.c -- functions as a table. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flat_text.h"

#include "report/human.h"
#include "report/names.h"
#include "report/wording.h"

static double share(const struct flat *f, struct amount a)
{
	uint64_t whole = figure_get_value(f->whole, f->figure);

	return whole ? 100.0 * (double)figure_get_value(a, f->figure) / (double)whole : 0.0;
}

static bool has_bytes(const struct flat *f)
{
	return f->figure != FIGURE_TEMPORARY;
}

static unsigned columns_width(const struct flat *f)
{
	return 2 * (9 + (has_bytes(f) ? 10 : 0) + 11);
}

static void print_half(FILE *out, const struct flat *f, struct amount a)
{
	uint64_t whole = figure_get_value(f->whole, f->figure);

	fprintf(out, "%7s  ", human_share(figure_get_value(a, f->figure), whole).text);
	if (has_bytes(f))
		fprintf(out, "%8s  ", human_bytes(a.bytes).text);
	fprintf(out, "%9s  ", human_count(a.blocks).text);
}

/* The function's line stands for all its lines: without a number. */
static void print_row(FILE *out, const struct flat *f, const struct flat_row *row,
		      const struct style *style)
{
	struct model_frame frame = *model_get_frame(f->model, row->frame);
	const struct profile *p = model_get_profile(f->model);

	frame.line = 0;
	struct names_label l =
		names_label(&frame, profile_string(p, p->run.directory), style->utf8);
	unsigned taken = columns_width(f) + 3;
	if (style->width)
		names_label_fit(&l, style->width > taken ? style->width - taken : 0, style->utf8);
	print_half(out, f, row->self);
	print_half(out, f, row->total);
	fprintf(out, "%s%s%s", style_ink(style, STYLE_NAME), l.name, style_ink(style, STYLE_PLAIN));
	if (*l.place)
		fprintf(out, " %s(%s)%s", style_ink(style, STYLE_PLACE), l.place,
			style_ink(style, STYLE_PLAIN));
	fputc('\n', out);
	names_label_free(&l);
}

static void print_rest(FILE *out, const struct flat *f, size_t count, struct amount rest)
{
	if (count == 0)
		return;
	fprintf(out, "%*s... %s more %s: self ", (int)columns_width(f), "", human_count(count).text,
		count == 1 ? "function" : "functions");
	wording_print_amount(out, rest, f->figure);
	fputc('\n', out);
}

static void print_half_titles(FILE *out, const struct flat *f, const char *share_title)
{
	fprintf(out, "%7s  ", share_title);
	if (has_bytes(f))
		fprintf(out, "%8s  ", "bytes");
	fprintf(out, "%9s  ", wording_get_unit(f->figure));
}

static void print_titles(FILE *out, const struct flat *f, const struct style *style)
{
	fputs(style_ink(style, STYLE_QUIET), out);
	print_half_titles(out, f, "self");
	print_half_titles(out, f, "total");
	fprintf(out, "function%s\n", style_ink(style, STYLE_PLAIN));
}

void flat_text_print(FILE *out, const struct flat *f, double threshold, const struct style *style)
{
	struct amount rest = {0, 0};
	size_t left_out = 0;

	if (f->rows.count == 0) {
		fprintf(out, "%s\n", wording_get_empty(model_get_profile(f->model), f->figure));
		return;
	}
	wording_print_title(out, model_get_profile(f->model), f->figure, f->whole, style);
	print_titles(out, f, style);
	for (size_t i = 0; i < f->rows.count; i++) {
		const struct flat_row *row = &f->rows.at[i];
		if (share(f, row->total) >= threshold) {
			print_row(out, f, row, style);
			continue;
		}
		left_out++;
		rest = amount_plus(rest, row->self);
	}
	print_rest(out, f, left_out, rest);
}
