/* figures.c -- the figures at the left of every line of a tree or table: share, bytes, blocks.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"

#include <string.h>

#include "report/human.h"
#include "report/wording.h"

#define SHARE_WIDTH 7 /* "100.00%" */

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
	};
}

int figures_get_width(const struct figures *c)
{
	return SHARE_WIDTH + 2 + (figure_has_bytes(c->figure) ? bytes_width(c) + 2 : 0) +
	       (figure_has_blocks(c->figure) ? c->count_width + 2 : 0);
}

void figures_print_titles(FILE *out, const struct figures *c, const char *share)
{
	fprintf(out, "%*s  ", SHARE_WIDTH, share);
	if (figure_has_bytes(c->figure))
		fprintf(out, "%*s  ", bytes_width(c), "bytes");
	if (figure_has_blocks(c->figure))
		fprintf(out, "%*s  ", c->count_width, wording_get_unit(c->figure));
}

void figures_print(FILE *out, const struct figures *c, struct amount a)
{
	uint64_t value = figure_get_value(a, c->figure);

	fprintf(out, "%*s  ", SHARE_WIDTH, human_share(value, c->whole).text);
	if (figure_has_bytes(c->figure))
		fprintf(out, "%*s  ", bytes_width(c), bytes_text(a.bytes, c->sign).text);
	if (figure_has_blocks(c->figure))
		fprintf(out, "%*s  ", c->count_width, count_text(a.blocks, c->sign).text);
}

void figures_print_blank(FILE *out, const struct figures *c)
{
	fprintf(out, "%*s", figures_get_width(c), "");
}

void figures_print_amount(FILE *out, struct amount a, enum figure f, enum figures_sign sign)
{
	bool is_one = turn(a.blocks, sign) == 1 || turn(a.blocks, sign) == -1;
	const char *one = figure_is_count(f) ? "call" : "block";

	if (figure_has_bytes(f))
		fprintf(out, "%s%s", bytes_text(a.bytes, sign).text,
			figure_has_blocks(f) ? " in " : "");
	if (figure_has_blocks(f))
		fprintf(out, "%s %s", count_text(a.blocks, sign).text,
			is_one ? one : wording_get_unit(f));
}
