/* figures.h -- the figures at the left of every line of a tree or table: share, bytes, blocks.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_FIGURES_H
#define MIDDEN_REPORT_FIGURES_H

#include <stdio.h>

#include "model/figure.h"

/* How amounts are to be read: growth has signs. */
enum figures_sign {
	FIGURES_PLAIN,
	FIGURES_GROWN,	/* as int64_t, with a sign */
	FIGURES_SHRUNK, /* the same, turned round */
};

struct figures {
	enum figure figure;
	enum figures_sign sign;
	uint64_t whole; /* what shares are of */
	int count_width;
	bool estimated; /* intervals are shown */
};

void figures_init(struct figures *c, enum figure f, enum figures_sign sign, struct amount whole);

/* In characters, with the blanks that separate them from what follows. */
int figures_get_width(const struct figures *c);

void figures_print_titles(FILE *out, const struct figures *c, const char *share);
void figures_print(FILE *out, const struct figures *c, struct amount a);
void figures_print_blank(FILE *out, const struct figures *c);

/* "12.3 KiB in 4 blocks", "4 calls", "+12 KiB in -3 blocks". */
void figures_print_amount(FILE *out, struct amount a, enum figure f, enum figures_sign sign);

/* " (10 to 15)" for an estimate, nothing for what is exact. */
void figures_print_bytes_interval(FILE *out, struct amount a);
void figures_print_blocks_interval(FILE *out, struct amount a);

#endif
