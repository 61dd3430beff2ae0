/* diff_text.c -- what changed between two profiles, as text. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/diff_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/fold.h"
#include "report/change.h"
#include "report/losses.h"
#include "report/names.h"
#include "report/wording.h"

/* ---- totals ---------------------------------------------------------------------------------- */

static void print_run(FILE *out, const char *label, const struct profile *p,
		      const struct style *style)
{
	char *program = names_escape(profile_string(p, p->run.program), style->utf8);
	char *command = names_escape(profile_string(p, p->run.command), style->utf8);

	fprintf(out, "%s  %s%s%s  ", label, style_ink(style, STYLE_TITLE),
		*program ? program : "unknown program", style_ink(style, STYLE_PLAIN));
	wording_print_process(out, p);
	fprintf(out, ", %s\n", command);
	losses_print(out, p, style);
	free(program);
	free(command);
}

static void print_bytes(FILE *out, const char *label, uint64_t before, uint64_t now)
{
	fprintf(out, "  %-12s  %13s  ", label, human_bytes(before).text);
	fprintf(out, "%13s  ", human_bytes(now).text);
	fprintf(out, "%13s  ", change_bytes(diff_change(before, now)).text);
	fprintf(out, "%9s\n", change_relative(before, now).text);
}

static void print_count(FILE *out, const char *label, uint64_t before, uint64_t now)
{
	fprintf(out, "  %-12s  %13s  ", label, human_count(before).text);
	fprintf(out, "%13s  ", human_count(now).text);
	fprintf(out, "%13s  ", change_count(diff_change(before, now)).text);
	fprintf(out, "%9s\n", change_relative(before, now).text);
}

static void print_suppressed(FILE *out, const struct amount suppressed[2])
{
	if (!amount_is_zero(suppressed[0]) || !amount_is_zero(suppressed[1]))
		print_bytes(out, "  suppressed", suppressed[0].bytes, suppressed[1].bytes);
}

void diff_text_print_totals(FILE *out, const struct diff *d, const struct style *style)
{
	print_run(out, "old", model_get_profile(d->models[0]), style);
	print_run(out, "new", model_get_profile(d->models[1]), style);
	fprintf(out, "\n%s  %-12s  %13s  %13s  %13s  %9s%s\n", style_ink(style, STYLE_QUIET), "",
		"old", "new", "change", "relative", style_ink(style, STYLE_PLAIN));
	for (unsigned f = 0; f < FIGURE_KINDS; f++) {
		struct amount a = diff_get_total(d, 0, (enum figure)f);
		struct amount b = diff_get_total(d, 1, (enum figure)f);
		if (figure_is_count((enum figure)f)) {
			print_count(out, figure_name((enum figure)f), a.blocks, b.blocks);
			continue;
		}
		print_bytes(out, figure_name((enum figure)f), a.bytes, b.bytes);
		if (f != FIGURE_ALLOCATED)
			print_count(out, "  blocks", a.blocks, b.blocks);
		if (f == FIGURE_LEAKED)
			print_suppressed(out, d->suppressed);
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct painter {
	FILE *out;
	const struct diff *diff;
	const struct style *style;
	unsigned depth;
	bool bytes;	    /* the figure has bytes */
	bool counts;	    /* it is a number of calls: bytes come last, if it has any */
	struct fold *folds; /* by side: recursion in its stacks; NULL: there are no stacks */
};

static unsigned columns_width(const struct painter *p)
{
	if (p->counts)
		return 12 + 11 + 12 + 12 + (p->bytes ? 11 : 0);
	return 11 + 11 + 11 + 12 + 11;
}

static struct painter make_painter(FILE *out, const struct diff *d, const struct style *style)
{
	return (struct painter){.out = out,
				.diff = d,
				.style = style,
				.bytes = d->figure != FIGURE_TEMPORARY,
				.counts = figure_is_count(d->figure)};
}

static struct human describe_change(const struct diff_row *row, uint64_t before, uint64_t now)
{
	if (row->status == DIFF_NEW)
		return (struct human){"new"};
	if (row->status == DIFF_GONE)
		return (struct human){"gone"};
	return change_relative(before, now);
}

static void print_columns(const struct painter *p, const struct diff_row *row,
			  const struct amount a[2])
{
	int64_t blocks = diff_change(a[0].blocks, a[1].blocks);
	uint64_t before = figure_get_value(a[0], p->diff->figure);
	uint64_t now = figure_get_value(a[1], p->diff->figure);

	if (!p->counts) {
		fprintf(p->out, "%9s  ", change_bytes(diff_change(a[0].bytes, a[1].bytes)).text);
		fprintf(p->out, "%9s  ", describe_change(row, before, now).text);
		fprintf(p->out, "%9s  ", human_bytes(a[0].bytes).text);
		fprintf(p->out, "%10s  ", human_bytes(a[1].bytes).text);
		fprintf(p->out, "%9s  ", change_count(blocks).text);
		return;
	}
	fprintf(p->out, "%10s  ", change_count(blocks).text);
	fprintf(p->out, "%9s  ", describe_change(row, before, now).text);
	fprintf(p->out, "%10s  ", human_count(a[0].blocks).text);
	fprintf(p->out, "%10s  ", human_count(a[1].blocks).text);
	if (p->bytes)
		fprintf(p->out, "%9s  ", change_bytes(diff_change(a[0].bytes, a[1].bytes)).text);
}

static const char *row_word(enum diff_by by, bool one)
{
	static const char *const words[DIFF_BY_KINDS][2] = {
		{"stacks", "stack"},
		{"functions", "function"},
		{"lines", "line"},
		{"modules", "module"},
	};

	return words[by][one];
}

static void print_titles(const struct painter *p, const char *title)
{
	const char *unit = wording_get_unit(p->diff->figure);
	const char *name = row_word(p->diff->by, true);

	fprintf(p->out, "\n%s%s%s\n%s", style_ink(p->style, STYLE_TITLE), title,
		style_ink(p->style, STYLE_PLAIN), style_ink(p->style, STYLE_QUIET));
	if (!p->counts)
		fprintf(p->out, "%9s  %9s  %9s  %10s  %9s  %s", "change", "relative", "old", "new",
			unit, name);
	else
		fprintf(p->out, "%10s  %9s  %10s  %10s  %s%s", unit, "relative", "old", "new",
			p->bytes ? "    bytes  " : "", name);
	fprintf(p->out, "%s\n", style_ink(p->style, STYLE_PLAIN));
}

static void print_label(const struct painter *p, unsigned side, struct model_frame frame)
{
	const struct profile *profile = model_get_profile(p->diff->models[side]);
	const char *directory = profile_string(profile, profile->run.directory);
	struct names_label l = names_label(&frame, directory, p->style->utf8);
	unsigned taken = columns_width(p) + 13; /* " (" ")" " [inlined]" */

	if (p->style->width)
		names_label_fit(&l, p->style->width > taken ? p->style->width - taken : 0,
				p->style->utf8);
	fprintf(p->out, "%s%s%s", style_ink(p->style, STYLE_NAME), l.name,
		style_ink(p->style, STYLE_PLAIN));
	if (*l.place)
		fprintf(p->out, " %s(%s)%s", style_ink(p->style, STYLE_PLACE), l.place,
			style_ink(p->style, STYLE_PLAIN));
	if (frame.inlined)
		fputs(" [inlined]", p->out);
	names_label_free(&l);
}

/* What else a row stands for. */
static void print_others(const struct painter *p, const struct diff_row *row)
{
	uint32_t most = row->counts[0] > row->counts[1] ? row->counts[0] : row->counts[1];

	if (most > 1 && p->diff->by <= DIFF_BY_LINE)
		fprintf(p->out, " %s[%s %s in one]%s", style_ink(p->style, STYLE_QUIET),
			human_count(most).text, row_word(p->diff->by, false),
			style_ink(p->style, STYLE_PLAIN));
}

static void print_stack(const struct painter *p, const struct diff_row *row)
{
	unsigned side = diff_get_side(row);
	struct fold *fold = &p->folds[side];
	struct model_stack stack = {0};

	model_get_stack(p->diff->models[side], row->subjects[side], &stack);
	fold_stack(p->diff->models[side], &stack, fold);
	for (size_t i = 0; i < stack.frames.count; i++) {
		if (i > 0)
			fprintf(p->out, "%*s", (int)columns_width(p), "");
		if (p->depth && i >= p->depth) {
			fprintf(p->out, "... %s more\n", human_count(stack.frames.count - i).text);
			break;
		}
		struct fold_mark mark = fold_get_mark(fold, i);
		print_label(p, side, *model_get_frame(p->diff->models[side], stack.frames.at[i]));
		wording_print_recursion(p->out, mark.cycle, mark.repeats, mark.repeats);
		if (i == 0)
			print_others(p, row);
		fputc('\n', p->out);
	}
	vec_free(&stack.frames);
}

static void print_module(const struct painter *p, const struct model_frame *f)
{
	char *name = names_escape(*f->module ? f->module : "[generated code]", p->style->utf8);

	fprintf(p->out, "%s%s%s\n", style_ink(p->style, STYLE_NAME), name,
		style_ink(p->style, STYLE_PLAIN));
	free(name);
}

static void print_row(const struct painter *p, const struct diff_row *row)
{
	unsigned side = diff_get_side(row);

	print_columns(p, row, diff_is_caller(row) ? row->totals : row->amounts);
	if (p->diff->by == DIFF_BY_STACK) {
		print_stack(p, row);
		return;
	}
	struct model_frame f = *model_get_frame(p->diff->models[side], row->subjects[side]);
	if (p->diff->by == DIFF_BY_MODULE) {
		print_module(p, &f);
		return;
	}
	if (p->diff->by == DIFF_BY_FUNCTION) {
		f.line = 0;
		f.inlined = false;
	}
	print_label(p, side, f);
	print_others(p, row);
	fputc('\n', p->out);
}

/* ---- sections -------------------------------------------------------------------------------- */

static void print_delta(const struct painter *p, struct diff_delta d)
{
	const char *one = p->counts ? "call" : "block";

	if (p->bytes && !p->counts)
		fprintf(p->out, "%s, ", change_bytes(d.bytes).text);
	fprintf(p->out, "%s %s", change_count(d.blocks).text,
		d.blocks == 1 || d.blocks == -1 ? one : wording_get_unit(p->diff->figure));
	if (p->bytes && p->counts)
		fprintf(p->out, ", %s", change_bytes(d.bytes).text);
}

static bool is_large(const struct diff *d, const struct diff_row *row, double threshold)
{
	int64_t change = diff_get_change(d, row);
	uint64_t distance = change < 0 ? -(uint64_t)change : (uint64_t)change;

	return d->gross == 0 || 100.0 * (double)distance / (double)d->gross >= threshold;
}

/* 0 what grew, 1 what shrank, 2 callers: the order of the rows. */
static unsigned get_section(const struct diff *d, const struct diff_row *row)
{
	if (diff_is_caller(row))
		return 2;
	return diff_has_grown(d, row) ? 0 : 1;
}

/* Prints the section that begins at a row; returns where the next one does. */
static size_t print_section(const struct painter *p, size_t i, double threshold)
{
	static const char *const titles[] = {"Grew", "Shrank", "Called what grew or shrank"};
	const struct diff *d = p->diff;
	unsigned section = get_section(d, &d->rows.at[i]);
	struct diff_delta rest = {0, 0};
	size_t left_out = 0;

	print_titles(p, titles[section]);
	for (; i < d->rows.count && get_section(d, &d->rows.at[i]) == section; i++) {
		const struct diff_row *row = &d->rows.at[i];
		if (is_large(d, row, threshold)) {
			print_row(p, row);
			continue;
		}
		left_out++;
		diff_tree_add(&rest, diff_tree_get_delta(row));
	}
	if (left_out == 0)
		return i;
	fprintf(p->out, "%*s%s... %s more %s", (int)columns_width(p), "",
		style_ink(p->style, STYLE_QUIET), human_count(left_out).text,
		row_word(d->by, left_out == 1));
	if (section != 2) {
		fputs(": ", p->out);
		print_delta(p, rest);
	}
	fprintf(p->out, "%s\n", style_ink(p->style, STYLE_PLAIN));
	return i;
}

/* A damaged file may have its totals and not all stacks, which must not pass for a change. */
static void print_missing(const struct painter *p, unsigned side)
{
	const struct diff *d = p->diff;
	struct amount counted = diff_get_total(d, side, d->figure);

	if (model_get_profile(d->models[side])->run.sample_period ||
	    figure_get_value(counted, d->figure) == figure_get_value(d->whole[side], d->figure))
		return;
	fprintf(p->out, "%s  ! %s: the recorder counted ", style_ink(p->style, STYLE_WARNING),
		side ? "new" : "old");
	wording_print_amount(p->out, counted, d->figure);
	fputs(", its stacks come to ", p->out);
	wording_print_amount(p->out, d->whole[side], d->figure);
	fprintf(p->out, ": what is missing may look %s here%s\n", side ? "gone" : "new",
		style_ink(p->style, STYLE_PLAIN));
}

static void print_heading(const struct painter *p)
{
	const struct diff *d = p->diff;

	fprintf(p->out, "\n%sChange of %s by %s%s: ", style_ink(p->style, STYLE_TITLE),
		figure_name(d->figure), row_word(d->by, true), style_ink(p->style, STYLE_PLAIN));
	print_delta(p, (struct diff_delta){diff_change(d->whole[0].bytes, d->whole[1].bytes),
					   diff_change(d->whole[0].blocks, d->whole[1].blocks)});
	fputc('\n', p->out);
	print_missing(p, 0);
	print_missing(p, 1);
}

static void print_same(const struct painter *p)
{
	const struct diff *d = p->diff;

	if (d->same_count == 0)
		return;
	fprintf(p->out, "\nunchanged: %s %s, ", human_count(d->same_count).text,
		row_word(d->by, d->same_count == 1));
	wording_print_amount(p->out, d->same, d->figure);
	fputc('\n', p->out);
}

void diff_text_print(FILE *out, const struct diff *d, double threshold, unsigned depth,
		     const struct style *style)
{
	struct painter p = make_painter(out, d, style);
	struct fold folds[2] = {0};

	p.depth = depth;
	p.folds = folds;
	print_heading(&p);
	if (d->rows.count == 0)
		fputs("Nothing changed.\n", out);
	for (size_t i = 0; i < d->rows.count;)
		i = print_section(&p, i, threshold);
	print_same(&p);
	fold_free(&folds[0]);
	fold_free(&folds[1]);
}

/* ---- the tree -------------------------------------------------------------------------------- */

#define TREE_COLUMNS 22 /* change, blocks */

struct climber {
	struct painter painter;
	const struct diff_tree *tree;
};

static void print_tree_columns(const struct climber *c, struct diff_delta d)
{
	FILE *out = c->painter.out;

	if (c->painter.bytes)
		fprintf(out, "%9s  ", change_bytes(d.bytes).text);
	else
		fprintf(out, "%11s", "");
	fprintf(out, "%9s  ", change_count(d.blocks).text);
}

static void print_node(const struct climber *c, const struct diff_node *n, unsigned depth)
{
	struct model_frame f = *model_get_frame(c->tree->diff->models[n->side], n->frame);

	f.line = 0;
	f.inlined = false;
	fprintf(c->painter.out, "%*s", (int)(2 * depth), "");
	print_label(&c->painter, n->side, f);
	fputc('\n', c->painter.out);
}

static bool is_zero(struct diff_delta d)
{
	return d.bytes == 0 && d.blocks == 0;
}

static void print_tree_rest(const struct climber *c, const struct diff_node *n, unsigned depth)
{
	const struct diff_node *children = &c->tree->nodes.at[n->first_child];
	uint32_t count = n->child_count - n->shown;
	struct diff_delta rest = {0, 0};

	for (uint32_t i = n->shown; i < n->child_count; i++)
		diff_tree_add(&rest, children[i].delta);
	print_tree_columns(c, rest);
	fprintf(c->painter.out, "%*s%s... %s more%s\n", (int)(2 * depth), "",
		style_ink(c->painter.style, STYLE_QUIET), human_count(count).text,
		style_ink(c->painter.style, STYLE_PLAIN));
}

/* Recursion is bounded by MODEL_STACK_MAX. A node whose only child has all of it goes on in the
 * same column. */
static void print_children(const struct climber *c, const struct diff_node *n, unsigned depth)
{
	const struct diff_node *children = &c->tree->nodes.at[n->first_child];
	bool only = n->child_count == 1 && is_zero(n->self) && n != c->tree->nodes.at;

	for (uint32_t i = 0; i < n->shown; i++) {
		if (only)
			fprintf(c->painter.out, "%*s", TREE_COLUMNS, "");
		else
			print_tree_columns(c, children[i].delta);
		print_node(c, &children[i], only ? depth - 1 : depth);
		print_children(c, &children[i], only ? depth : depth + 1);
	}
	if (n->child_count && !is_zero(n->self)) {
		print_tree_columns(c, n->self);
		fprintf(c->painter.out, "%*s%s\n", (int)(2 * depth), "",
			c->tree->direction == TREE_INVERTED ? "[no caller]" : "[allocated here]");
	}
	if (n->shown < n->child_count)
		print_tree_rest(c, n, depth);
}

void diff_text_print_tree(FILE *out, const struct diff_tree *t, const struct style *style)
{
	struct climber c = {.painter = make_painter(out, t->diff, style), .tree = t};

	print_heading(&c.painter);
	if (t->nodes.at[0].child_count == 0) {
		fputs("Nothing changed.\n", out);
		return;
	}
	fprintf(out, "%s%9s  %9s  %s%s\n", style_ink(style, STYLE_QUIET),
		c.painter.bytes ? "change" : "", wording_get_unit(t->diff->figure),
		t->direction == TREE_INVERTED ? "allocating function, callers below"
					      : "program start, callees below",
		style_ink(style, STYLE_PLAIN));
	print_children(&c, t->nodes.at, 0);
	print_same(&c.painter);
}
