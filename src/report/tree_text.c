/* tree_text.c -- a call tree as lines of text. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "report/tree_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "report/figures.h"
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
	struct figures figures;
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

static void print_titles(const struct painter *p)
{
	fputs(style_ink(p->style, STYLE_QUIET), p->out);
	figures_print_titles(p->out, &p->figures, "share");
	fprintf(p->out, "%s%s\n",
		p->tree->view.direction == TREE_INVERTED ? "allocating function, callers below"
							 : "program start, callees below",
		style_ink(p->style, STYLE_PLAIN));
}

/* What else there is to say about a frame, malloc'ed. A frame without figures of its own has the
 * same heat as the one above it. */
static char *make_remarks(const struct tree_node *n, const struct model_frame *f, bool has_figures)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return mem_copy_string("");
	if (f->inlined)
		fputs(" [inlined]", out);
	wording_print_recursion(out, n->cycle, n->repeats_min, n->repeats_max);
	if (n->hot && has_figures)
		fputs(" [hot]", out);
	(void)fclose(out);
	return text;
}

/* What is left of a terminal's line for a frame; without a terminal there is no limit. */
static void fit_label(const struct painter *p, struct names_label *l, const char *mark,
		      const char *remarks)
{
	size_t taken = (size_t)figures_get_width(&p->figures) + utf8_length(p->prefix.at) +
		       utf8_length(mark) + strlen(" ()") + strlen(remarks);

	if (p->style->width)
		names_label_fit(l, p->style->width > taken ? p->style->width - taken : 0,
				p->style->utf8);
}

static void print_frame(const struct painter *p, const struct tree_node *n, const char *mark,
			bool has_figures)
{
	const struct model_frame *f = model_get_frame(p->tree->model, n->frame);
	struct names_label l = names_label(f, p->directory, p->style->utf8);
	char *remarks = make_remarks(n, f, has_figures);

	fit_label(p, &l, mark, remarks);
	fprintf(p->out, "%s%s%s%s%s", p->prefix.at, mark, style_ink(p->style, STYLE_NAME), l.name,
		style_ink(p->style, STYLE_PLAIN));
	if (*l.place)
		fprintf(p->out, " %s(%s)%s", style_ink(p->style, STYLE_PLACE), l.place,
			style_ink(p->style, STYLE_PLAIN));
	fprintf(p->out, "%s\n", remarks);
	names_label_free(&l);
	free(remarks);
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
	figures_print(p->out, &p->figures, n->self);
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

/* Where nothing else is below a frame, the rest has the very figures of the frame. */
static void print_rest(const struct painter *p, const struct tree_node *n, unsigned depth,
		       bool is_all)
{
	uint32_t shown = tree_get_shown(p->tree, n, depth);
	uint32_t count = n->child_count - shown;
	const char *mark = is_all || !depth ? "" : p->marks->last;

	if (is_all)
		figures_print_blank(p->out, &p->figures);
	else
		figures_print(p->out, &p->figures, tree_get_rest(p->tree, n, shown));
	fprintf(p->out, "%s%s%s... %s more %s%s\n", p->prefix.at, mark,
		style_ink(p->style, STYLE_QUIET), human_count(count).text,
		rest_word(p, depth, count == 1), style_ink(p->style, STYLE_PLAIN));
}

static void print_below(struct painter *p, const struct tree_node *n, unsigned depth);

static void print_branch(struct painter *p, const struct tree_node *n, unsigned depth, bool last)
{
	bool top = depth == 1;
	const char *mark = last ? p->marks->last : p->marks->fork;
	const char *below = last ? p->marks->skip : p->marks->pass;

	figures_print(p->out, &p->figures, n->amount);
	print_frame(p, n, top ? "" : mark, true);
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
		print_rest(p, n, depth, depth && !shown && !has_self);
}

static void print_below(struct painter *p, const struct tree_node *n, unsigned depth)
{
	const struct tree_node *only;

	while ((only = find_only_child(p, n, depth))) {
		figures_print_blank(p->out, &p->figures);
		print_frame(p, only, "", false);
		n = only;
		depth++;
	}
	print_branches(p, n, depth);
}

void tree_text_print_body(FILE *out, const struct tree *t, enum figures_sign sign,
			  const struct style *style)
{
	const struct profile *profile = model_get_profile(t->model);
	struct painter p = {
		.out = out,
		.tree = t,
		.style = style,
		.marks = style->utf8 ? &line_marks : &ascii_marks,
		.directory = profile_string(profile, profile->run.directory),
	};

	figures_init(&p.figures, t->view.figure, sign, t->nodes.at[0].amount);
	push_prefix(&p, "");
	print_titles(&p);
	print_branches(&p, &t->nodes.at[0], 0);
	vec_free(&p.prefix);
}

void tree_text_print(FILE *out, const struct tree *t, const struct style *style)
{
	const struct profile *profile = model_get_profile(t->model);

	if (t->nodes.at[0].child_count == 0) {
		fprintf(out, "%s\n", wording_get_empty(profile, t->view.figure));
		return;
	}
	wording_print_title(out, profile, t->view.figure, t->nodes.at[0].amount, style);
	tree_text_print_body(out, t, FIGURES_PLAIN, style);
}
