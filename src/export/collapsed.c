/* collapsed.c -- stacks on one line each, `root;...;leaf N`, as flamegraph.pl and many others read
 * them. Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "export/export.h"
#include "export/labels.h"
#include "model/tree.h"

struct writer {
	FILE *out;
	const struct tree *tree;
	const struct labels *labels;
	VEC(char) path; /* labels from the root to where the walk is, joined by ';' */
};

/* A function called "f 12" would make a second column of figures for flamegraph.pl: the blank
 * before a number that ends a label goes. */
static void push_label(struct writer *w, const char *label)
{
	size_t length = strlen(label), digits = length;

	vec_reserve(&w->path, length + 1);
	if (w->path.count)
		*vec_push(&w->path) = ';';
	memcpy(w->path.at + w->path.count, label, length);
	while (digits > 0 &&
	       (isdigit((unsigned char)label[digits - 1]) || label[digits - 1] == '.'))
		digits--;
	if (digits > 0 && digits < length && label[digits - 1] == ' ')
		w->path.at[w->path.count + digits - 1] = '_';
	w->path.count += length;
}

/* Recursion is bounded by MODEL_STACK_MAX. */
static void write_below(struct writer *w, const struct tree_node *n)
{
	uint64_t self = figure_get_value(n->self, w->tree->view.figure);

	if (self) {
		fwrite(w->path.at, 1, w->path.count, w->out);
		fprintf(w->out, " %" PRIu64 "\n", self);
	}
	for (uint32_t i = 0; i < n->child_count; i++) {
		const struct tree_node *child = tree_get_child(w->tree, n, i);
		size_t here = w->path.count;
		push_label(w, labels_get(w->labels, child->frame));
		write_below(w, child);
		w->path.count = here;
	}
}

static int write_collapsed(FILE *out, const struct export_request *r, struct error *e)
{
	struct tree_view view = {
		.figure = r->figure, .direction = TREE_TOP_DOWN, .by_function = true};
	struct tree *t = tree_build(r->model, &view);
	struct labels *labels = labels_new(r->model, ";:");
	struct writer w = {.out = out, .tree = t, .labels = labels};

	(void)e;
	write_below(&w, &t->nodes.at[0]);
	vec_free(&w.path);
	labels_free(labels);
	tree_free(t);
	return 0;
}

const struct export_format export_collapsed = {
	.name = "collapsed",
	.summary = "one figure as `root;...;leaf N` lines: flamegraph.pl, inferno, speedscope",
	.suffix = ".folded",
	.write = write_collapsed,
};
