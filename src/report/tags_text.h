/* tags_text.h -- what was counted by tag, as a table with the tags as a tree. Runs: offline, called
 * by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_TAGS_TEXT_H
#define MIDDEN_REPORT_TAGS_TEXT_H

#include <stdio.h>

#include "model/tagtree.h"
#include "report/style.h"

/* Tags below `threshold` (a share of all that was allocated, 0 to 1) are left out, with all inside
 * them, and counted. */
void tags_text_print(FILE *out, const struct tagtree *t, double threshold,
		     const struct style *style);

/* What went wrong with tags, a line for each; nothing if nothing did. */
void tags_text_print_losses(FILE *out, const struct profile *p, const struct style *style);

#endif
