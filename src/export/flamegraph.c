/* flamegraph.c -- a flame graph as one SVG file that needs nothing else: boxes for any browser or
 * viewer, and a script for search and zoom. Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program's start is at the top. Boxes go out in the order of a walk from there, which the
 * script relies on. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/utf8.h"
#include "export/export.h"
#include "export/labels.h"
#include "model/tree.h"

#define PAGE_WIDTH    1200
#define LEFT	      10
#define GRAPH_WIDTH   (PAGE_WIDTH - 2 * LEFT)
#define TOP	      64 /* under the title */
#define ROW	      18
#define BOX	      17    /* of a row, the rest is a gap */
#define CHARACTER     7.3   /* width of one in the 12 px monospace font, rather too much */
#define MARGIN	      3	    /* left and right of a text */
#define NARROWEST     0.1   /* px: what is narrower could not be seen, and there may be millions */
#define NAME_MOST     1000u /* characters of a name that can be looked at */
#define GROUPED_BYTES 32u

extern const char flamegraph_js[];

static const char style[] = "text { font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', "
			    "monospace; fill: #1a1a1a }\n"
			    "#title { font: bold 16px sans-serif }\n"
			    "#subtitle, #matched { font: 12px sans-serif }\n"
			    ".f { cursor: pointer }\n"
			    ".f rect { stroke: #fff; stroke-width: .5px }\n"
			    ".f:hover rect { stroke: #000; stroke-width: 1px }\n"
			    ".below { opacity: .55 }\n"
			    ".hit rect { fill: #d355e8 }\n"
			    ".f text { pointer-events: none }\n";

struct writer {
	FILE *out;
	const struct export_request *request;
	const struct tree *tree;
	const struct labels *labels;
	unsigned levels; /* below the root */
	size_t omitted;	 /* boxes that were too narrow */
};

/* A number with commas between thousands. */
struct grouped {
	char text[GROUPED_BYTES];
};

static struct grouped group(uint64_t value)
{
	struct grouped g = {{0}};
	size_t at = sizeof(g.text) - 1;

	for (unsigned digits = 0;; digits++) {
		if (digits && digits % 3 == 0)
			g.text[--at] = ',';
		g.text[--at] = (char)('0' + value % 10);
		value /= 10;
		if (value == 0)
			break;
	}
	memmove(g.text, g.text + at, sizeof(g.text) - at);
	return g;
}

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

/* At most `most` characters of a clean text, the last ones as `mark` if it is longer. */
static void put_shortened(FILE *out, const char *text, size_t most, const char *mark)
{
	size_t length = utf8_length(text), kept = most - strlen(mark);
	uint32_t code;

	if (length <= most) {
		put_escaped(out, text);
		return;
	}
	const char *end = text;
	while (kept-- > 0)
		end += utf8_decode(end, &code);
	char *start = mem_format("%.*s", (int)(end - text), text);
	put_escaped(out, start);
	fputs(mark, out);
	free(start);
}

static const char *figure_title(enum figure f)
{
	static const char *const titles[FIGURE_KINDS] = {
		[FIGURE_PEAK] = "held at the peak",
		[FIGURE_LEAKED] = "not freed when the program ended",
		[FIGURE_ALLOCATED] = "allocated in all",
		[FIGURE_CALLS] = "calls that allocated",
		[FIGURE_TEMPORARY] = "freed before the thread allocated anything else",
	};

	return titles[f];
}

static const char *figure_unit(enum figure f)
{
	return figure_is_count(f) ? "blocks" : "bytes";
}

static void put_amount(struct writer *w, struct amount a)
{
	if (!figure_is_count(w->tree->view.figure))
		fprintf(w->out, "%s byte%s in ", group(a.bytes).text, a.bytes == 1 ? "" : "s");
	fprintf(w->out, "%s block%s", group(a.blocks).text, a.blocks == 1 ? "" : "s");
}

/* A share of the graph in px. */
/* No box is wider than the graph, also where the sums of a profile that makes no sense overflow. */
static double get_width(const struct tree *t, struct amount a)
{
	double share = tree_get_share(t, a) / 100;

	return share < 1 ? share * GRAPH_WIDTH : GRAPH_WIDTH;
}

/* One part of a colour given by hue (degrees), saturation and lightness: CSS Color, hsl(). */
static unsigned hue_part(unsigned hue, double saturation, double lightness, unsigned offset)
{
	double k = (offset + hue / 30.0) - 12 * (int)((offset + hue / 30.0) / 12);
	double low = k - 3 < 9 - k ? k - 3 : 9 - k;
	double swing = saturation * (lightness < 0.5 ? lightness : 1 - lightness);

	low = low < -1 ? -1 : low > 1 ? 1 : low;
	return (unsigned)(255 * (lightness - swing * low) + 0.5);
}

/* Functions of one module have one hue, and are told apart by how light they are: always light
 * enough for dark text. */
static void put_colour(struct writer *w, uint32_t frame)
{
	const struct model_frame *f = model_get_frame(w->tree->model, frame);
	unsigned hue = (unsigned)(map_hash_text(labels_base(f->module)) % 360);
	double light = 0.68 + (double)(map_hash_text(labels_get(w->labels, frame)) % 13) / 100;
	double full = f->placeholder || !*f->module ? 0 : 0.6;

	fprintf(w->out, "#%02x%02x%02x", hue_part(hue, full, light, 0),
		hue_part(hue, full, light, 8), hue_part(hue, full, light, 4));
}

struct box {
	const char *name;
	const char *module;
	struct amount amount;
	double x;
	unsigned level;
};

static void put_title(struct writer *w, const struct box *b)
{
	fputs("<title>", w->out);
	put_shortened(w->out, b->name, NAME_MOST, "...");
	if (*b->module) {
		char *module = labels_clean(b->module, "");
		fputc('\n', w->out);
		put_escaped(w->out, module);
		free(module);
	}
	fputc('\n', w->out);
	put_amount(w, b->amount);
	fprintf(w->out, ", %.2f %%</title>", tree_get_share(w->tree, b->amount));
}

static void begin_box(struct writer *w, const struct box *b)
{
	fprintf(w->out, "<g class=\"f\" data-v=\"%" PRIu64 "\">",
		figure_get_value(b->amount, w->tree->view.figure));
	put_title(w, b);
	fprintf(w->out, "<rect x=\"%.4f\" y=\"%u\" width=\"%.4f\" height=\"%d\" rx=\"1\" fill=\"",
		b->x, TOP + ROW * b->level, get_width(w->tree, b->amount), BOX);
}

static void end_box(struct writer *w, const struct box *b)
{
	double room = get_width(w->tree, b->amount) - 2 * MARGIN;
	size_t characters = room > 0 ? (size_t)(room / CHARACTER) : 0;

	fputs("\"/>", w->out);
	if (characters >= 3) {
		fprintf(w->out, "<text x=\"%.4f\" y=\"%u\">", b->x + MARGIN,
			TOP + ROW * b->level + ROW - 5);
		put_shortened(w->out, b->name, characters, "..");
		fputs("</text>", w->out);
	}
	fputs("</g>\n", w->out);
}

/* Boxes stand side by side in the order of their children, the largest first. Recursion is bounded
 * by MODEL_STACK_MAX. */
static void put_children(struct writer *w, const struct tree_node *n, double x, unsigned level)
{
	uint32_t shown = tree_get_shown(w->tree, n, 0);

	for (uint32_t i = 0; i < shown; i++) {
		const struct tree_node *child = tree_get_child(w->tree, n, i);
		const struct model_frame *f = model_get_frame(w->tree->model, child->frame);
		struct box b = {labels_get(w->labels, child->frame), f->module, child->amount, x,
				level};
		begin_box(w, &b);
		put_colour(w, child->frame);
		end_box(w, &b);
		put_children(w, child, x, level + 1);
		x += get_width(w->tree, child->amount);
	}
}

static void put_boxes(struct writer *w)
{
	const struct tree_node *root = &w->tree->nodes.at[0];
	char *program = labels_clean(export_get_program(w->request), "");
	struct box b = {program, "", root->amount, LEFT, 0};

	begin_box(w, &b);
	fputs("#d0d0d0", w->out);
	end_box(w, &b);
	put_children(w, root, LEFT, 1);
	free(program);
}

/* Finds what the head of the file must say: the levels of the graph, and what is not in it. */
static void measure(struct writer *w, const struct tree_node *n, unsigned level)
{
	uint32_t shown = tree_get_shown(w->tree, n, 0);

	if (level > w->levels)
		w->levels = level;
	w->omitted += n->child_count - shown;
	for (uint32_t i = 0; i < shown; i++)
		measure(w, tree_get_child(w->tree, n, i), level + 1);
}

static void put_head(struct writer *w, uint64_t total)
{
	unsigned rows = total ? w->levels + 1 : 0;
	unsigned height = TOP + ROW * rows + 28;
	enum figure f = w->tree->view.figure;

	fprintf(w->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" ");
	fprintf(w->out, "width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\"\n", PAGE_WIDTH, height,
		PAGE_WIDTH, height);
	fprintf(w->out,
		"data-left=\"%d\" data-width=\"%d\" data-top=\"%d\" data-row=\"%d\" "
		"data-rows=\"%u\" data-character=\"%.1f\" data-margin=\"%d\"\n",
		LEFT, GRAPH_WIDTH, TOP, ROW, rows, CHARACTER, MARGIN);
	fprintf(w->out, "data-total=\"%" PRIu64 "\" data-unit=\"%s\">\n<style>\n%s</style>\n",
		total, figure_unit(f), style);
	fprintf(w->out,
		"<rect width=\"%d\" height=\"%u\" fill=\"#fff\"/>\n"
		"<text id=\"details\" x=\"%d\" y=\"%u\"></text>\n"
		"<text id=\"matched\" x=\"%d\" y=\"52\" text-anchor=\"end\"></text>\n",
		PAGE_WIDTH, height, LEFT, height - 10, PAGE_WIDTH - LEFT);
}

static void put_heading(struct writer *w, uint64_t total)
{
	char *program = labels_clean(export_get_program(w->request), "");

	fprintf(w->out, "<text id=\"title\" x=\"%d\" y=\"26\">", LEFT);
	put_shortened(w->out, program, 40, "...");
	fprintf(w->out, ": %s</text>\n", figure_title(w->tree->view.figure));
	fprintf(w->out, "<text id=\"subtitle\" x=\"%d\" y=\"48\">", LEFT);
	if (total)
		put_amount(w, w->tree->nodes.at[0].amount);
	else
		fputs("nothing", w->out);
	if (w->omitted)
		fprintf(w->out, "; left out as too narrow to see: %s", group(w->omitted).text);
	fputs("</text>\n", w->out);
	free(program);
}

static int write_flamegraph(FILE *out, const struct export_request *r, struct error *e)
{
	struct tree_view view = {.figure = r->figure,
				 .direction = TREE_TOP_DOWN,
				 .threshold = 100 * NARROWEST / GRAPH_WIDTH,
				 .by_function = true};
	struct tree *t = tree_build(r->model, &view);
	struct labels *labels = labels_new(r->model, "");
	struct writer w = {.out = out, .request = r, .tree = t, .labels = labels};
	uint64_t total = figure_get_value(t->nodes.at[0].amount, r->figure);

	(void)e;
	if (total)
		measure(&w, &t->nodes.at[0], 0);
	put_head(&w, total);
	put_heading(&w, total);
	if (total)
		put_boxes(&w);
	fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flamegraph_js);
	labels_free(labels);
	tree_free(t);
	return 0;
}

const struct export_format export_flamegraph = {
	.name = "flamegraph",
	.summary = "one figure as a flame graph: an SVG with search and zoom for any browser",
	.suffix = ".svg",
	.write = write_flamegraph,
};
