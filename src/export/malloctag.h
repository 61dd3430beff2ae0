/* malloctag.h -- what was counted by tag, in malloc-tag's formats. Runs: offline; called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_EXPORT_MALLOCTAG_H
#define MIDDEN_EXPORT_MALLOCTAG_H

#include <stdio.h>

#include "model/tagtree.h"

/* What is not in the trees: of the process, and of the moment. */
struct malloctag_process {
	const struct profile *profile; /* the first one, of several */
	uint32_t snapshot;	       /* row plus one; 0: the end */
};

/* malloc-tag's figures by their names, and some more (docs/tags.md). */
void malloctag_write_json(FILE *out, const struct tagtree *t, const struct malloctag_process *p);

/* A graph for Graphviz: a cluster per thread, coloured by what a tag allocates itself. */
void malloctag_write_dot(FILE *out, const struct tagtree *t, const struct malloctag_process *p);

#endif
