/* top_text.h -- a table that is renewed while a program runs, as lines of text. Runs: offline,
 * called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_TOP_TEXT_H
#define MIDDEN_REPORT_TOP_TEXT_H

#include <stdio.h>

#include "model/ranking.h"
#include "report/style.h"

#define TOP_TEXT_HEAD_LINES 3

struct top_text {
	const struct model *model;
	const struct ranking *ranking;
	const struct ranking_base *mark;
	enum ranking_key key;
	bool by_stack;
	const char *filter; /* "": none */
	const char *state;  /* "paused", "ended", ... or "" */
	struct style style; /* colours are the caller's matter */
};

/* The program as a whole, in TOP_TEXT_HEAD_LINES lines. */
void top_text_print_head(FILE *out, const struct top_text *t);

/* The line above the rows. */
void top_text_print_titles(FILE *out, const struct top_text *t);

/* One line. */
void top_text_print_row(FILE *out, const struct top_text *t, const struct ranking_row *row);

/* A line with the figures of a stack, then a line for each of its frames, the allocating one first.
 */
void top_text_print_stack(FILE *out, const struct top_text *t, const struct ranking_row *row);

#endif
