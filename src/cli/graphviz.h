/* graphviz.h -- draws a graph by running Graphviz's dot. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_GRAPHVIZ_H
#define MIDDEN_CLI_GRAPHVIZ_H

#include <stdio.h>

#include "base/error.h"

/* Draws the graph that was written to the file `graph` as SVG into `out`. Both must have
 * descriptors. 0, or -1 with `e`. */
int graphviz_draw(FILE *graph, FILE *out, struct error *e);

#endif
