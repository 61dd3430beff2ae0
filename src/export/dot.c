/* dot.c -- the call graph of one figure for Graphviz, without what is too small to see. Runs:
 * offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "export/export.h"
#include "export/labels.h"
#include "model/flat.h"

/* A graph of more functions than this can hardly be read: some are there for what they allocate
 * themselves, the others for what is allocated below them. */
#define OWNERS_MAX  60u
#define CALLERS_MAX 40u
#define NODE_SHARE  0.005 /* of the whole: what a function or an edge must have to be shown */
#define EDGE_SHARE  0.001
#define NAME_HEAD   40u /* characters of a long name that are shown */
#define NAME_TAIL   20u

struct edge {
	uint32_t caller, callee; /* functions */
	uint64_t value;
	uint32_t last_site; /* + 1: the site that was added last; a stack counts once */
	bool direct;	    /* not only through functions that are left out */
	bool shown;
};

struct writer {
	FILE *out;
	const struct export_request *request;
	const struct model *model;
	struct labels *labels;
	struct flat *flat;
	bool *kept; /* by function */
	uint64_t whole;
	VEC(struct edge) edges;
	struct map index;
};

static uint64_t value_of(const struct writer *w, struct amount a)
{
	return figure_get_value(a, w->request->figure);
}

/* Sums of a forged file may run over, and colours must not. */
static double share_of(const struct writer *w, uint64_t value)
{
	if (value >= w->whole)
		return w->whole ? 1.0 : 0.0;
	return (double)value / (double)w->whole;
}

static bool is_large(const struct writer *w, const struct flat_row *row)
{
	uint64_t total = value_of(w, row->total);

	return total > 0 && share_of(w, total) >= NODE_SHARE;
}

static int compare_totals(const void *left, const void *right)
{
	const struct flat_row *a = left, *b = right;

	/* Only one half of the two decides: a figure in blocks may have no bytes. */
	if (a->total.bytes != b->total.bytes)
		return a->total.bytes > b->total.bytes ? -1 : 1;
	if (a->total.blocks != b->total.blocks)
		return a->total.blocks > b->total.blocks ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Rows come by what functions allocate themselves. */
static void choose_owners(struct writer *w)
{
	unsigned left = OWNERS_MAX;

	for (size_t i = 0; i < w->flat->rows.count && left > 0; i++) {
		const struct flat_row *row = &w->flat->rows.at[i];
		if (value_of(w, row->self) == 0 || !is_large(w, row))
			continue;
		w->kept[row->frame] = true;
		left--;
	}
}

static void choose_callers(struct writer *w)
{
	size_t count = w->flat->rows.count;
	struct flat_row *rows = mem_new(count, sizeof(*rows));
	unsigned left = CALLERS_MAX;

	if (count) {
		memcpy(rows, w->flat->rows.at, count * sizeof(*rows));
		qsort(rows, count, sizeof(*rows), compare_totals);
	}
	for (size_t i = 0; i < count && left > 0; i++) {
		if (w->kept[rows[i].frame] || !is_large(w, &rows[i]))
			continue;
		w->kept[rows[i].frame] = true;
		left--;
	}
	free(rows);
}

static struct edge *find_edge(struct writer *w, uint32_t caller, uint32_t callee)
{
	uint32_t *edge = map_reserve(&w->index, (uint64_t)caller << 32 | callee);

	if (*edge == 0) {
		*vec_push(&w->edges) = (struct edge){.caller = caller, .callee = callee};
		*edge = (uint32_t)w->edges.count;
	}
	return &w->edges.at[*edge - 1];
}

static void add_edge(struct edge *edge, uint32_t site, uint64_t value, bool direct)
{
	edge->direct |= direct;
	if (edge->last_site == site + 1)
		return;
	edge->last_site = site + 1;
	edge->value += value;
}

/* Functions that are left out are passed over. */
static void add_stack(struct writer *w, uint32_t site, const struct model_stack *stack,
		      uint64_t value)
{
	uint32_t caller = UINT32_MAX;
	bool direct = true;

	for (size_t i = stack->frames.count; i-- > 0;) {
		uint32_t function = model_get_frame(w->model, stack->frames.at[i])->group;
		if (!w->kept[function]) {
			direct = false;
			continue;
		}
		if (caller != UINT32_MAX)
			add_edge(find_edge(w, caller, function), site, value, direct);
		caller = function;
		direct = true;
	}
}

static void list_edges(struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	struct model_stack stack = {0};

	for (uint32_t i = 0; i < p->sites.count; i++) {
		uint64_t value = value_of(w, figure_get(&p->sites.at[i], w->request->figure));
		if (value == 0)
			continue;
		model_get_stack(w->model, i, &stack);
		add_stack(w, i, &stack, value);
	}
	vec_free(&stack.frames);
}

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return (a->callee > b->callee) - (a->callee < b->callee);
}

/* The largest edge to a function is shown however small it is, so that none floats alone. */
static void choose_edges(struct writer *w)
{
	bool *reached = mem_new(model_get_frame_count(w->model), sizeof(*reached));

	if (w->edges.count)
		qsort(w->edges.at, w->edges.count, sizeof(*w->edges.at), compare_edges);
	for (size_t i = 0; i < w->edges.count; i++) {
		struct edge *edge = &w->edges.at[i];
		bool is_loop = edge->caller == edge->callee;
		edge->shown = share_of(w, edge->value) >= EDGE_SHARE ||
			      (!is_loop && !reached[edge->callee]);
		reached[edge->callee] |= edge->shown && !is_loop;
	}
	free(reached);
}

/* Text inside quotes. Graphviz has escapes of its own, and knows HTML's entities. */
static void put_text(FILE *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '"' || text[i] == '\\')
			fputc('\\', out);
		fputc(text[i], out);
		if (text[i] == '&')
			fputs("amp;", out);
	}
}

static size_t skip(const char *text, size_t characters)
{
	size_t bytes = 0;
	uint32_t code;

	while (characters-- > 0)
		bytes += utf8_decode(text + bytes, &code);
	return bytes;
}

/* A name without its middle if it is long. Labels are well-formed UTF-8. */
static void put_name(FILE *out, const char *name)
{
	size_t length = utf8_length(name);

	if (length <= NAME_HEAD + NAME_TAIL) {
		put_text(out, name, strlen(name));
		return;
	}
	size_t tail = skip(name, length - NAME_TAIL);
	put_text(out, name, skip(name, NAME_HEAD));
	fputs("\xe2\x80\xa6", out);
	put_text(out, name + tail, strlen(name + tail));
}

/* "1,234,567 bytes (12.34%)" */
static void put_value(const struct writer *w, uint64_t value)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			fputc(',', w->out);
		fputc(digits[i], w->out);
	}
	fprintf(w->out, " %s (%.2f%%)", figure_is_count(w->request->figure) ? "blocks" : "bytes",
		100.0 * share_of(w, value));
}

/* From white to red; small shares are told apart more easily than large ones. */
static void put_colour(const struct writer *w, uint64_t self)
{
	double share = share_of(w, self);
	double strength = share * (2.0 - share);

	fprintf(w->out, "#ff%02x%02x", (unsigned)(255.0 - 150.0 * strength),
		(unsigned)(255.0 - 180.0 * strength));
}

static void write_node(const struct writer *w, const struct flat_row *row)
{
	const struct model_frame *f = model_get_frame(w->model, row->frame);
	const char *name = labels_get(w->labels, row->frame);
	char *module = labels_clean(labels_base(f->module), "");
	uint64_t self = value_of(w, row->self);

	fprintf(w->out, "\tn%" PRIu32 " [label=\"", row->frame);
	put_name(w->out, name);
	if (*module && *f->function) {
		fputs("\\n", w->out);
		put_name(w->out, module);
	}
	fputs("\\nself ", w->out);
	put_value(w, self);
	fputs("\\ntotal ", w->out);
	put_value(w, value_of(w, row->total));
	fputs("\", tooltip=\"", w->out);
	put_text(w->out, name, strlen(name));
	fputs("\", fillcolor=\"", w->out);
	put_colour(w, self);
	fprintf(w->out, "\", fontsize=%.1f];\n", 10.0 + 14.0 * share_of(w, self));
	free(module);
}

static void write_edge(const struct writer *w, const struct edge *edge)
{
	double share = share_of(w, edge->value);

	fprintf(w->out, "\tn%" PRIu32 " -> n%" PRIu32 " [label=\" ", edge->caller, edge->callee);
	put_value(w, edge->value);
	fprintf(w->out, "\", penwidth=%.2f, weight=%u%s];\n", 0.5 + 5.5 * share,
		1 + (unsigned)(100.0 * share), edge->direct ? "" : ", style=dashed");
}

static void write_omitted(const struct writer *w)
{
	size_t functions = 0, edges = 0;
	uint64_t self = 0;

	for (size_t i = 0; i < w->flat->rows.count; i++) {
		const struct flat_row *row = &w->flat->rows.at[i];
		functions += !w->kept[row->frame];
		self += w->kept[row->frame] ? 0 : value_of(w, row->self);
	}
	for (size_t i = 0; i < w->edges.count; i++)
		edges += !w->edges.at[i].shown;
	if (functions == 0 && edges == 0)
		return;
	fprintf(w->out, "\\lleft out: %zu small function%s, which allocate%s ", functions,
		functions == 1 ? "" : "s", functions == 1 ? "s" : "");
	put_value(w, self);
	fprintf(w->out, " %s, and %zu small edge%s", functions == 1 ? "itself" : "themselves",
		edges, edges == 1 ? "" : "s");
}

static void write_title(const struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	char *program = labels_clean(export_get_program(w->request), "");

	fputs("\tlabel=\"", w->out);
	put_name(w->out, program);
	fprintf(w->out, " (pid %" PRIu32 "): %s ", p->run.pid, figure_name(w->request->figure));
	put_value(w, w->whole);
	write_omitted(w);
	fputs("\\l\";\n", w->out);
	free(program);
}

static void write_graph(const struct writer *w)
{
	fputs("digraph midden {\n"
	      "\tcharset=\"UTF-8\";\n\tlabelloc=t;\n\tlabeljust=l;\n"
	      "\tnode [shape=box, style=\"filled\", fontname=\"sans-serif\"];\n"
	      "\tedge [fontname=\"sans-serif\", fontsize=9];\n"
	      "\tgraph [fontname=\"sans-serif\"];\n",
	      w->out);
	write_title(w);
	for (size_t i = 0; i < w->flat->rows.count; i++)
		if (w->kept[w->flat->rows.at[i].frame])
			write_node(w, &w->flat->rows.at[i]);
	for (size_t i = 0; i < w->edges.count; i++)
		if (w->edges.at[i].shown)
			write_edge(w, &w->edges.at[i]);
	fputs("}\n", w->out);
}

static int write_dot(FILE *out, const struct export_request *r, struct error *e)
{
	struct writer w = {
		.out = out,
		.request = r,
		.model = r->model,
		.labels = labels_new(r->model, ""),
		.flat = flat_build(r->model, r->figure),
		.kept = mem_new(model_get_frame_count(r->model), sizeof(*w.kept)),
	};

	(void)e;
	w.whole = value_of(&w, w.flat->whole);
	choose_owners(&w);
	choose_callers(&w);
	list_edges(&w);
	choose_edges(&w);
	write_graph(&w);
	labels_free(w.labels);
	flat_free(w.flat);
	free(w.kept);
	vec_free(&w.edges);
	map_free(&w.index);
	return 0;
}

const struct export_format export_dot = {
	.name = "dot",
	.summary = "the call graph of one figure: Graphviz",
	.suffix = ".dot",
	.write = write_dot,
};
