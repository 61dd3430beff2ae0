/* tree_text.h -- a call tree as lines of text. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_TREE_TEXT_H
#define MIDDEN_REPORT_TREE_TEXT_H

#include <stdio.h>

#include "model/tree.h"
#include "report/figures.h"
#include "report/style.h"

/* A tree of a figure with its title, or the sentence for an empty one. */
void tree_text_print(FILE *out, const struct tree *t, const struct style *style);

/* The tree alone. A frame with one caller (or callee) only is followed by it on the next line, in
 * the same column and without figures, for they are the same; where the tree forks, branches are
 * drawn. Figures that the view leaves out are stated, so that every level adds up. The hot path is
 * marked. */
void tree_text_print_body(FILE *out, const struct tree *t, enum figures_sign sign,
			  const struct style *style);

#endif
