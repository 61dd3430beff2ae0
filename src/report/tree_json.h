/* tree_json.h -- a call tree, or a table of functions, lines or modules, as JSON. Runs: offline,
 * called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_TREE_JSON_H
#define MIDDEN_REPORT_TREE_JSON_H

#include <stdio.h>

#include "base/json.h"
#include "model/flat.h"
#include "model/tree.h"
#include "report/figures.h"

/* The members of a tree; the nodes are a flat list, parents first, each with its `id` and its
 * `parent`'s (0: the whole): a nested form of a deep stack is more than common JSON readers take.
 * What the view leaves out is in the omitted_* fields of the node it is missing from. */
void tree_json_add(struct json *j, const struct tree *t, enum figures_sign sign);

/* A list of all rows: `functions`, `lines` or `modules`. */
void tree_json_add_flat(struct json *j, const struct flat *f, enum figures_sign sign);

/* function, file, line, module and offset of a frame; unknown ones are null. */
void tree_json_add_frame(struct json *j, const struct model_frame *f, bool with_line);

/* `stack`: the frames of a site as texts, the leaf first. */
void tree_json_add_stack(struct json *j, const struct model *m, uint32_t site);

/* `own_frame`: which of them is the program's own; `stack`: the frames as objects, the leaf first.
 */
void tree_json_add_own_stack(struct json *j, const struct model *m, size_t site);

/* One object with the program, the figure and the tree or table. */
void tree_json_print(FILE *out, const struct tree *t);
void tree_json_print_flat(FILE *out, const struct flat *f);

#endif
