/* tree_json.h -- a call tree, or functions, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_TREE_JSON_H
#define MIDDEN_REPORT_TREE_JSON_H

#include <stdio.h>

#include "model/flat.h"
#include "model/tree.h"

/* One object; the nodes are a flat list, parents first, each with its `id` and its `parent`'s (0:
 * the whole): a nested form of a deep stack is more than common JSON readers take. What the view
 * leaves out is in the omitted_* fields of the node it is missing from. */
void tree_json_print(FILE *out, const struct tree *t);

/* One object with a list of all functions. */
void tree_json_print_flat(FILE *out, const struct flat *f);

#endif
