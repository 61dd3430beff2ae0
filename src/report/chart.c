/* chart.c -- what was live over time, as a chart of characters or JSON. Runs: offline, called by
 * sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/chart.h"

#include <string.h>

#include "report/human.h"

#define ROWS	      10u
#define STEPS	      8u /* of a character's height, where there are characters for it */
#define LABEL_WIDTH   10u
#define COLUMNS_MOST  120u
#define COLUMNS_LEAST 20u

/* Heights of the columns, in steps. */
struct heights {
	unsigned columns;
	unsigned at[COLUMNS_MOST];
};

static unsigned choose_columns(const struct style *style)
{
	unsigned columns = style->width ? style->width : 80;

	columns = columns > LABEL_WIDTH + 3 ? columns - LABEL_WIDTH - 3 : 0;
	if (columns > COLUMNS_MOST)
		return COLUMNS_MOST;
	return columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns;
}

static unsigned find_column(const struct heights *h, uint64_t ns, uint64_t end_ns)
{
	uint64_t column =
		end_ns ? (uint64_t)((unsigned __int128)ns * h->columns / end_ns) : h->columns;

	return column < h->columns ? (unsigned)column : h->columns - 1;
}

static unsigned find_height(uint64_t bytes, uint64_t most)
{
	unsigned height = (unsigned)((unsigned __int128)bytes * ROWS * STEPS / most);

	return height == 0 && bytes ? 1 : height;
}

static void raise_to(unsigned *height, unsigned other)
{
	if (other > *height)
		*height = other;
}

/* A point tells the highest of the time since the one before it, and what is live until the next.
 */
static void measure(struct heights *h, const struct timeline *t, uint64_t end_ns)
{
	unsigned from = 0, held = 0;

	for (size_t i = 0; i < t->points.count; i++) {
		const struct timeline_point *p = &t->points.at[i];
		unsigned to = find_column(h, p->time_ns, end_ns);
		for (unsigned k = from; k < to; k++)
			raise_to(&h->at[k], held);
		raise_to(&h->at[to], find_height(p->highest_bytes, t->highest.highest_bytes));
		held = find_height(p->live.bytes, t->highest.highest_bytes);
		raise_to(&h->at[to], held);
		from = to;
	}
	for (unsigned k = from; k < h->columns; k++)
		raise_to(&h->at[k], held);
}

static const char *mark_of(unsigned steps, bool utf8)
{
	static const char *const blocks[STEPS + 1] = {
		" ",
		"\xe2\x96\x81",
		"\xe2\x96\x82",
		"\xe2\x96\x83",
		"\xe2\x96\x84",
		"\xe2\x96\x85",
		"\xe2\x96\x86",
		"\xe2\x96\x87",
		"\xe2\x96\x88",
	};

	if (utf8)
		return blocks[steps];
	return steps == 0 ? " " : steps < STEPS / 2 ? "." : "#";
}

static void print_row(FILE *out, const struct heights *h, unsigned row, const struct style *style)
{
	unsigned last = h->columns;

	while (last > 0 && h->at[last - 1] <= row * STEPS)
		last--;
	for (unsigned i = 0; i < last; i++) {
		unsigned above = h->at[i] > row * STEPS ? h->at[i] - row * STEPS : 0;
		fputs(mark_of(above < STEPS ? above : STEPS, style->utf8), out);
	}
	fputc('\n', out);
}

static void print_axis(FILE *out, const struct heights *h, uint64_t end_ns,
		       const struct style *style)
{
	struct human end = human_duration(end_ns);

	fprintf(out, "%*s %s", (int)LABEL_WIDTH, "", style->utf8 ? "\xe2\x94\x94" : "+");
	for (unsigned i = 0; i < h->columns; i++)
		fputs(style->utf8 ? "\xe2\x94\x80" : "-", out);
	fprintf(out, "\n%*s  0%*s\n", (int)LABEL_WIDTH, "", (int)h->columns - 1, end.text);
}

void chart_print(FILE *out, const struct timeline *t, uint64_t end_ns, const struct style *style)
{
	struct heights h = {.columns = choose_columns(style)};

	if (t->highest.highest_bytes == 0) {
		fputs("Nothing was live at any point of the time line.\n", out);
		return;
	}
	measure(&h, t, end_ns);
	fprintf(out, "%sLive over time: at most %s%s\n", style_ink(style, STYLE_TITLE),
		human_bytes(t->highest.highest_bytes).text, style_ink(style, STYLE_PLAIN));
	for (unsigned row = ROWS; row-- > 0;) {
		struct human label = {""};
		if (row == ROWS - 1 || row == ROWS / 2 - 1)
			label = human_bytes(t->highest.highest_bytes / ROWS * (row + 1));
		if (row == ROWS - 1)
			label = human_bytes(t->highest.highest_bytes);
		fprintf(out, "%*s %s", (int)LABEL_WIDTH, label.text,
			style->utf8 ? "\xe2\x94\x82" : "|");
		print_row(out, &h, row, style);
	}
	print_axis(out, &h, end_ns, style);
}

void chart_add(struct json *j, const struct timeline *t)
{
	json_begin_list(j, "points");
	for (size_t i = 0; i < t->points.count; i++) {
		const struct timeline_point *p = &t->points.at[i];
		json_begin_object(j, NULL);
		json_add_uint(j, "time_ns", p->time_ns);
		json_add_uint(j, "live_bytes", p->live.bytes);
		json_add_uint(j, "live_blocks", p->live.blocks);
		json_add_uint(j, "highest_bytes", p->highest_bytes);
		json_end_object(j);
	}
	json_end_list(j);
}
