/* flat_text.c -- functions, lines or modules as a table. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flat_text.h"

#include "report/human.h"
#include "report/names.h"
#include "report/wording.h"

struct table {
	FILE *out;
	const struct flat *flat;
	const struct style *style;
	struct figures figures;
};

/* What a row is called, in one and in many. */
static const char *const words[][2] = {
	[FLAT_BY_FUNCTION] = {"function", "functions"},
	[FLAT_BY_LINE] = {"line", "lines"},
	[FLAT_BY_MODULE] = {"module", "modules"},
	[FLAT_BY_TAG] = {"tag", "tags"},
};

static double share(const struct flat *f, struct amount a)
{
	uint64_t whole = figure_get_value(f->whole, f->figure);

	return whole ? 100.0 * (double)figure_get_value(a, f->figure) / (double)whole : 0.0;
}

static struct names_label module_label(const struct model_frame *f, bool utf8)
{
	if (!*f->module)
		return names_label(f, "", utf8);
	return (struct names_label){names_escape(names_base(f->module), utf8),
				    names_escape(f->module, utf8)};
}

static struct names_label tag_label(const struct model *m, uint32_t id, bool utf8)
{
	const char *name = id == FLAT_NO_TAG ? "(no tag)" : model_get_frame(m, id)->function;

	return (struct names_label){names_escape(name, utf8), names_escape("", utf8)};
}

struct names_label flat_text_label(const struct model *m, uint32_t id, enum flat_key key, bool utf8)
{
	const struct profile *p = model_get_profile(m);

	if (key == FLAT_BY_TAG)
		return tag_label(m, id, utf8);
	struct model_frame frame = *model_get_frame(m, id);
	if (key == FLAT_BY_MODULE)
		return module_label(&frame, utf8);
	/* A function's row stands for all its lines: without a number. */
	if (key == FLAT_BY_FUNCTION)
		frame.line = 0;
	return names_label(&frame, profile_string(p, p->run.directory), utf8);
}

static void print_row(const struct table *t, const struct flat_row *row)
{
	const struct style *style = t->style;
	struct names_label l =
		flat_text_label(t->flat->model, row->frame, t->flat->key, style->utf8);
	unsigned taken = 2 * (unsigned)figures_get_width(&t->figures) + 3;

	if (style->width)
		names_label_fit(&l, style->width > taken ? style->width - taken : 0, style->utf8);
	figures_print(t->out, &t->figures, row->self);
	figures_print(t->out, &t->figures, row->total);
	fprintf(t->out, "%s%s%s", style_ink(style, STYLE_NAME), l.name,
		style_ink(style, STYLE_PLAIN));
	if (*l.place)
		fprintf(t->out, " %s(%s)%s", style_ink(style, STYLE_PLACE), l.place,
			style_ink(style, STYLE_PLAIN));
	fputc('\n', t->out);
	names_label_free(&l);
}

/* Totals of several rows do not add up, for they share stacks; what they allocate themselves does.
 */
static void print_rest(const struct table *t, size_t count, struct amount rest)
{
	if (count == 0)
		return;
	figures_print(t->out, &t->figures, rest);
	figures_print_blank(t->out, &t->figures);
	fprintf(t->out, "%s... %s more %s%s\n", style_ink(t->style, STYLE_QUIET),
		human_count(count).text, words[t->flat->key][count != 1],
		style_ink(t->style, STYLE_PLAIN));
}

static void print_titles(const struct table *t)
{
	fputs(style_ink(t->style, STYLE_QUIET), t->out);
	figures_print_titles(t->out, &t->figures, "self");
	figures_print_titles(t->out, &t->figures, "total");
	fprintf(t->out, "%s%s\n", words[t->flat->key][0], style_ink(t->style, STYLE_PLAIN));
}

void flat_text_print_body(FILE *out, const struct flat *f, const struct flat_text_options *options,
			  const struct style *style)
{
	struct table t = {.out = out, .flat = f, .style = style};
	struct amount rest = {0};
	size_t shown = 0;

	figures_init(&t.figures, f->figure, options->sign, f->whole);
	print_titles(&t);
	for (size_t i = 0; i < f->rows.count; i++) {
		const struct flat_row *row = &f->rows.at[i];
		if (share(f, row->total) >= options->threshold &&
		    (!options->limit || shown < options->limit)) {
			print_row(&t, row);
			shown++;
			continue;
		}
		rest = amount_plus(rest, row->self);
	}
	print_rest(&t, f->rows.count - shown, rest);
}

void flat_text_print(FILE *out, const struct flat *f, double threshold, const struct style *style)
{
	const struct profile *p = model_get_profile(f->model);
	const struct flat_text_options options = {.threshold = threshold};

	if (f->rows.count == 0) {
		fprintf(out, "%s\n", wording_get_empty(p, f->figure));
		return;
	}
	wording_print_title(out, p, f->figure, f->whole, style);
	flat_text_print_body(out, f, &options, style);
}
