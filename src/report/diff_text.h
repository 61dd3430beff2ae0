/* diff_text.h -- what changed between two profiles, as text. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_DIFF_TEXT_H
#define MIDDEN_REPORT_DIFF_TEXT_H

#include <stdio.h>

#include "model/diff_tree.h"
#include "report/style.h"

/* Both runs, their losses, and the totals of all figures with their changes. */
void diff_text_print_totals(FILE *out, const struct diff *d, const struct style *style);

/* The rows from `threshold` percent of all growth and shrinking on, and what the others come to.
 * By stack, `depth` frames of each (0: all). */
void diff_text_print(FILE *out, const struct diff *d, double threshold, unsigned depth,
		     const struct style *style);

void diff_text_print_tree(FILE *out, const struct diff_tree *t, const struct style *style);

#endif
