/* sheet.h -- a whole report: what was recorded, what was asked, and the answer in the shape wanted.
 * Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_SHEET_H
#define MIDDEN_REPORT_SHEET_H

#include <stdio.h>

#include "model/answer.h"
#include "model/flat.h"
#include "model/tree.h"
#include "report/style.h"

enum sheet_shape {
	SHEET_TREE,
	SHEET_FLAT,
	SHEET_THREADS,
	SHEET_LIFETIME,
	SHEET_SIZES,
	SHEET_LIFETIMES, /* the histogram */
	SHEET_TIMELINE,
	SHEET_FINDINGS,
	SHEET_SNAPSHOTS,
	SHEET_RSS,
	SHEET_TYPES,
	SHEET_GLOBALS,
	SHEET_STACKS,
};

struct sheet {
	enum sheet_shape shape;
	struct view view; /* its figure holds for `tree` too */
	struct tree_view tree;
	enum flat_key key;   /* flat, lifetime */
	size_t limit;	     /* rows of a table; 0: all */
	bool shortest_first; /* lifetime */
	bool deltas;	     /* growth, for each snapshot and the one before it in turn */
	size_t survey;	     /* rss, types: which look, an index */
	bool findings;	     /* end with the most important ones */
};

/* The header, the filter and what it leaves out, and the rest by shape. */
void sheet_print(FILE *out, const struct model *m, const struct sheet *s,
		 const struct style *style);

/* The same as one JSON object. */
void sheet_print_json(FILE *out, const struct model *m, const struct sheet *s);

#endif
