/* deepest_report.h -- the deepest stack of each thread by function, as text or JSON. Runs: offline,
 * called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_DEEPEST_REPORT_H
#define MIDDEN_REPORT_DEEPEST_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "model/deepest.h"
#include "report/style.h"

struct deepest_report {
	const struct model *model;
	const struct deepest *deepest;
	size_t limit; /* of rows in a stack; 0: all */
};

void deepest_report_print(FILE *out, const struct deepest_report *r, const struct style *style);

/* The same as member "deepest_stacks". */
void deepest_report_add(struct json *j, const struct deepest_report *r);

#endif
