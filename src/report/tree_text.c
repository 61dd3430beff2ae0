/* tree_text.c -- a call tree as lines of text. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tree_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "report/human.h"
#include "report/names.h"
#include "report/wording.h"

struct marks {
	const char *fork, *last; /* before a branch */
	const char *pass, *skip; /* before what is below it */
};

static const struct marks ascii_marks = {"|- ", "`- ", "|  ", "   "};
static const struct marks line_marks = {"\xe2\x94\x9c\xe2\x94\x80 ", "\xe2\x94\x94\xe2\x94\x80 ",
					"\xe2\x94\x82  ", "   "};

struct painter {
	FILE *out;
	const struct tree *tree;
	const struct style *style;
	const struct marks *marks;
	const char *directory;
	int count_width;
	VEC(char) prefix; /* the lines that pass by, NUL-terminated */
};

static void push_prefix(struct painter *p, const char *mark)
{
	size_t bytes = strlen(mark);

	vec_reserve(&p->prefix, bytes + 1);
	memcpy(p->prefix.at + p->prefix.count, mark, bytes + 1);
	p->prefix.count += bytes;
}

static void pop_prefix(struct painter *p, const char *mark)
{
	p->prefix.count -= strlen(mark);
	p->prefix.at[p->prefix.count] = '\0';
}

static bool has_bytes(const struct painter *p)
{
	return p->tree->view.figure != FIGURE_TEMPORARY;
}

static int columns_width(const struct painter *p)
{
	return 9 + (has_bytes(p) ? 10 : 0) + p->count_width + 2;
}

static void print_columns(const struct painter *p, struct amount a)
{
	enum figure f = p->tree->view.figure;
	uint64_t whole = figure_get_value(p->tree->nodes.at[0].amount, f);

	fprintf(p->out, "%7s  ", human_share(figure_get_value(a, f), whole).text);
	if (has_bytes(p))
		fprintf(p->out, "%8s  ", human_bytes(a.bytes).text);
	fprintf(p->out, "%*s  ", p->count_width, human_count(a.blocks).text);
}

static void print_blank_columns(const struct painter *p)
{
	fprintf(p->out, "%*s", columns_width(p), "");
}

static void print_titles(const struct painter *p)
{
	fprintf(p->out, "%s%7s  ", style_ink(p->style, STYLE_QUIET), "share");
	if (has_bytes(p))
		fprintf(p->out, "%8s  ", "bytes");
	fprintf(p->out, "%*s  %s%s\n", p->count_width, wording_get_unit(p->tree->view.figure),
		p->tree->view.direction == TREE_INVERTED ? "allocating function, callers below"
							 : "program start, callees below",
		style_ink(p->style, STYLE_PLAIN));
}

/* What is left of a terminal's line for a frame; without a terminal there is no limit. */
static void fit_label(const struct painter *p, struct names_label *l, const char *mark,
		      bool inlined)
{
	size_t taken = (size_t)columns_width(p) + utf8_length(p->prefix.at) + utf8_length(mark) +
		       strlen(" ()") + (inlined ? strlen(" [inlined]") : 0);

	if (p->style->width)
		names_label_fit(l, p->style->width > taken ? p->style->width - taken : 0,
				p->style->utf8);
}

static void print_frame(const struct painter *p, const struct tree_node *n, const char *mark)
{
	const struct model_frame *f = model_get_frame(p->tree->model, n->frame);
	struct names_label l = names_label(f, p->directory, p->style->utf8);

	fit_label(p, &l, mark, f->inlined);
	fprintf(p->out, "%s%s%s%s%s", p->prefix.at, mark, style_ink(p->style, STYLE_NAME), l.name,
		style_ink(p->style, STYLE_PLAIN));
	if (*l.place)
		fprintf(p->out, " %s(%s)%s", style_ink(p->style, STYLE_PLACE), l.place,
			style_ink(p->style, STYLE_PLAIN));
	fputs(f->inlined ? " [inlined]\n" : "\n", p->out);
	names_label_free(&l);
}

/* The one child that has all of a node's amount, if it is to be shown. */
static const struct tree_node *find_only_child(const struct painter *p, const struct tree_node *n,
					       unsigned depth)
{
	if (n->child_count != 1 || !amount_is_zero(n->self) ||
	    tree_get_shown(p->tree, n, depth) == 0)
		return NULL;
	return tree_get_child(p->tree, n, 0);
}

/* Stacks that end at a node which others pass through. */
static void print_self(const struct painter *p, const struct tree_node *n, const char *mark)
{
	print_columns(p, n->self);
	fprintf(p->out, "%s%s%s\n", p->prefix.at, mark,
		p->tree->view.direction == TREE_INVERTED ? "[no caller]" : "[allocated here]");
}

static const char *rest_word(const struct painter *p, unsigned depth, bool one)
{
	if (depth == 0)
		return one ? "function" : "functions";
	if (p->tree->view.direction == TREE_INVERTED)
		return one ? "caller" : "callers";
	return one ? "callee" : "callees";
}

static void print_rest(const struct painter *p, const struct tree_node *n, unsigned depth,
		       const char *mark)
{
	uint32_t shown = tree_get_shown(p->tree, n, depth);
	uint32_t count = n->child_count - shown;

	print_blank_columns(p);
	fprintf(p->out, "%s%s%s... %s more %s: ", p->prefix.at, mark,
		style_ink(p->style, STYLE_QUIET), human_count(count).text,
		rest_word(p, depth, count == 1));
	wording_print_amount(p->out, tree_get_rest(p->tree, n, shown), p->tree->view.figure);
	fprintf(p->out, "%s\n", style_ink(p->style, STYLE_PLAIN));
}

static void print_below(struct painter *p, const struct tree_node *n, unsigned depth);

static void print_branch(struct painter *p, const struct tree_node *n, unsigned depth, bool last)
{
	bool top = depth == 1;
	const char *mark = last ? p->marks->last : p->marks->fork;
	const char *below = last ? p->marks->skip : p->marks->pass;

	print_columns(p, n->amount);
	print_frame(p, n, top ? "" : mark);
	push_prefix(p, top ? "" : below);
	print_below(p, n, depth);
	pop_prefix(p, top ? "" : below);
}

/* The children of a node at `depth`. Recursion is bounded by MODEL_STACK_MAX. */
static void print_branches(struct painter *p, const struct tree_node *n, unsigned depth)
{
	uint32_t shown = tree_get_shown(p->tree, n, depth);
	bool has_rest = shown < n->child_count;
	bool has_self = n->child_count && !amount_is_zero(n->self);

	for (uint32_t i = 0; i < shown; i++)
		print_branch(p, tree_get_child(p->tree, n, i), depth + 1,
			     i + 1 == shown && !has_self && !has_rest);
	if (has_self)
		print_self(p, n, has_rest ? p->marks->fork : p->marks->last);
	if (has_rest)
		print_rest(p, n, depth, depth ? p->marks->last : "");
}

static void print_below(struct painter *p, const struct tree_node *n, unsigned depth)
{
	const struct tree_node *only;

	while ((only = find_only_child(p, n, depth))) {
		print_blank_columns(p);
		print_frame(p, only, "");
		n = only;
		depth++;
	}
	print_branches(p, n, depth);
}

static int count_width(const struct tree *t)
{
	size_t digits = strlen(human_count(t->nodes.at[0].amount.blocks).text);
	size_t title = strlen(wording_get_unit(t->view.figure));

	return (int)(digits > title ? digits : title);
}

void tree_text_print(FILE *out, const struct tree *t, const struct style *style)
{
	const struct profile *profile = model_get_profile(t->model);
	struct painter p = {
		.out = out,
		.tree = t,
		.style = style,
		.marks = style->utf8 ? &line_marks : &ascii_marks,
		.directory = profile_string(profile, profile->run.directory),
		.count_width = count_width(t),
	};

	if (t->nodes.at[0].child_count == 0) {
		fprintf(out, "%s\n", wording_get_empty(profile, t->view.figure));
		return;
	}
	wording_print_title(out, profile, t->view.figure, t->nodes.at[0].amount, style);
	push_prefix(&p, "");
	print_titles(&p);
	print_branches(&p, &t->nodes.at[0], 0);
	vec_free(&p.prefix);
}
