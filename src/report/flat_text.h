/* flat_text.h -- functions, lines or modules as a table. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_FLAT_TEXT_H
#define MIDDEN_REPORT_FLAT_TEXT_H

#include <stdio.h>

#include "model/flat.h"
#include "report/figures.h"
#include "report/names.h"
#include "report/style.h"

struct flat_text_options {
	double threshold; /* rows whose total has less than this share, in percent, are summed up */
	size_t limit;	  /* rows shown at most; 0: all */
	enum figures_sign sign;
};

/* The table of a figure with its title, or the sentence for an empty one. */
void flat_text_print(FILE *out, const struct flat *f, double threshold, const struct style *style);

/* The table alone: one line per row, then what the others allocated themselves. */
void flat_text_print_body(FILE *out, const struct flat *f, const struct flat_text_options *options,
			  const struct style *style);

/* What a row is called, by a frame of it; the caller frees it with names_label_free. */
struct names_label flat_text_label(const struct model *m, uint32_t id, enum flat_key key,
				   bool utf8);

#endif
