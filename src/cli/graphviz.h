/* graphviz.h -- draws a graph by running Graphviz's dot. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_GRAPHVIZ_H
#define MIDDEN_CLI_GRAPHVIZ_H

#include <stdio.h>

#include "cli/outfile.h"

/* Draws the graph that `write` prints as SVG into `out`, which must have a descriptor. 0, or -1
 * with `e`. */
int graphviz_draw(FILE *out, outfile_fn write, void *context, struct error *e);

#endif
