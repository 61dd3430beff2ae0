/* diff_json.h -- what changed between two profiles, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_DIFF_JSON_H
#define MIDDEN_REPORT_DIFF_JSON_H

#include <stdio.h>

#include "model/diff_tree.h"

/* One object: both runs, the totals of all figures, and the rows from `threshold` percent of all
 * growth and shrinking on; what is left out is in the omitted_* fields. */
void diff_json_print(FILE *out, const struct diff *d, double threshold);

/* The same with the nodes of the tree as a flat list, parents first. */
void diff_json_print_tree(FILE *out, const struct diff_tree *t);

#endif
