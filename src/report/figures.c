/* figures.c -- the figures at the left of every line of a tree or table: share, bytes, blocks.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"

#include <string.h>

#include "model/interval.h"
#include "report/human.h"
#include "report/wording.h"

#define SHARE_WIDTH    7  /* "100.00%" */
#define ERROR_WIDTH    6  /* "+-100%" */
#define INTERVAL_WIDTH 21 /* "1023 KiB to 1023 KiB" */

static int64_t turn(uint64_t value, enum figures_sign sign)
{
	return (int64_t)(sign == FIGURES_SHRUNK ? -value : value);
}

static struct human bytes_text(uint64_t bytes, enum figures_sign sign)
{
	return sign == FIGURES_PLAIN ? human_bytes(bytes) : human_bytes_change(turn(bytes, sign));
}

static struct human count_text(uint64_t count, enum figures_sign sign)
{
	return sign == FIGURES_PLAIN ? human_count(count) : human_count_change(turn(count, sign));
}

/* "1023 KiB", and a sign. */
static int bytes_width(const struct figures *c)
{
	return c->sign == FIGURES_PLAIN ? 8 : 9;
}

void figures_init(struct figures *c, enum figure f, enum figures_sign sign, struct amount whole)
{
	size_t digits = strlen(count_text(whole.blocks, sign).text);
	size_t title = strlen(wording_get_unit(f));

	*c = (struct figures){
		.figure = f,
		.sign = sign,
		.whole = figure_get_value(whole, f),
		.count_width = (int)(digits > title ? digits : title),
		.estimated = interval_is_needed(whole),
	};
}

/* ---- intervals ------------------------------------------------------------------------------- */

struct range_text {
	char text[96];
};

/* Of what the figure is about: bytes, or the number of calls. */
static struct range_text interval_text(const struct figures *c, struct amount a)
{
	bool count = figure_is_count(c->figure);
	struct interval i = count ? interval_get_blocks(a) : interval_get_bytes(a);
	struct range_text range = {""};

	if (c->sign != FIGURES_PLAIN)
		(void)snprintf(range.text, sizeof(range.text), "+- %s",
			       count ? human_count(interval_get_blocks_error(a)).text
				     : human_bytes(interval_get_bytes_error(a)).text);
	else if (i.low != i.high)
		(void)snprintf(range.text, sizeof(range.text), "%s to %s",
			       count ? human_count(i.low).text : human_bytes(i.low).text,
			       count ? human_count(i.high).text : human_bytes(i.high).text);
	return range;
}

/* How far off the other number, of blocks, may be; in percent, as it matters less. */
static struct range_text error_text(struct amount a)
{
	struct interval i = interval_get_blocks(a);
	struct range_text range = {""};

	if (i.low != i.high && a.blocks)
		(void)snprintf(range.text, sizeof(range.text), "+-%.0f%%",
			       50.0 * (double)(i.high - i.low) / (double)a.blocks);
	return range;
}

static int interval_width(const struct figures *c)
{
	return c->estimated ? INTERVAL_WIDTH + 2 : 0;
}

static bool shows_error(const struct figures *c)
{
	return c->estimated && figure_has_blocks(c->figure) && !figure_is_count(c->figure);
}

static int error_width(const struct figures *c)
{
	return shows_error(c) ? ERROR_WIDTH + 2 : 0;
}

void figures_print_bytes_interval(FILE *out, struct amount a)
{
	struct interval i = interval_get_bytes(a);

	if (i.low != i.high)
		fprintf(out, " (%s to %s)", human_bytes(i.low).text, human_bytes(i.high).text);
}

void figures_print_blocks_interval(FILE *out, struct amount a)
{
	struct interval i = interval_get_blocks(a);

	if (i.low != i.high)
		fprintf(out, " (%s to %s)", human_count(i.low).text, human_count(i.high).text);
}

/* ---- columns --------------------------------------------------------------------------------- */

int figures_get_width(const struct figures *c)
{
	return SHARE_WIDTH + 2 + (figure_has_bytes(c->figure) ? bytes_width(c) + 2 : 0) +
	       (figure_has_blocks(c->figure) ? c->count_width + 2 : 0) + interval_width(c) +
	       error_width(c);
}

void figures_print_titles(FILE *out, const struct figures *c, const char *share)
{
	fprintf(out, "%*s  ", SHARE_WIDTH, share);
	if (figure_has_bytes(c->figure))
		fprintf(out, "%*s  ", bytes_width(c), "bytes");
	if (figure_has_blocks(c->figure))
		fprintf(out, "%*s  ", c->count_width, wording_get_unit(c->figure));
	if (shows_error(c))
		fprintf(out, "%*s  ", ERROR_WIDTH, "");
	if (c->estimated)
		fprintf(out, "%-*s  ", INTERVAL_WIDTH,
			figure_is_count(c->figure) ? "95% of the calls" : "95% of the bytes");
}

void figures_print(FILE *out, const struct figures *c, struct amount a)
{
	uint64_t value = figure_get_value(a, c->figure);

	fprintf(out, "%*s  ", SHARE_WIDTH, human_share(value, c->whole).text);
	if (figure_has_bytes(c->figure))
		fprintf(out, "%*s  ", bytes_width(c), bytes_text(a.bytes, c->sign).text);
	if (figure_has_blocks(c->figure))
		fprintf(out, "%*s  ", c->count_width, count_text(a.blocks, c->sign).text);
	if (shows_error(c))
		fprintf(out, "%-*s  ", ERROR_WIDTH, error_text(a).text);
	if (c->estimated)
		fprintf(out, "%-*s  ", INTERVAL_WIDTH, interval_text(c, a).text);
}

void figures_print_blank(FILE *out, const struct figures *c)
{
	fprintf(out, "%*s", figures_get_width(c), "");
}

void figures_print_amount(FILE *out, struct amount a, enum figure f, enum figures_sign sign)
{
	bool is_one = turn(a.blocks, sign) == 1 || turn(a.blocks, sign) == -1;
	const char *one = figure_is_count(f) ? "call" : "block";

	if (figure_has_bytes(f)) {
		fprintf(out, "%s", bytes_text(a.bytes, sign).text);
		if (sign == FIGURES_PLAIN)
			figures_print_bytes_interval(out, a);
		fputs(figure_has_blocks(f) ? " in " : "", out);
	}
	if (figure_has_blocks(f)) {
		fprintf(out, "%s %s", count_text(a.blocks, sign).text,
			is_one ? one : wording_get_unit(f));
		if (sign == FIGURES_PLAIN)
			figures_print_blocks_interval(out, a);
	}
}
