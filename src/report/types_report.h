/* types_report.h -- Python's live objects by type, as text or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_TYPES_REPORT_H
#define MIDDEN_REPORT_TYPES_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "model/instances.h"
#include "report/style.h"

/* A line for each type; `limit` 0: all with at least `threshold` percent of the bytes. */
struct types_report {
	const struct profile *profile;
	size_t survey; /* index: which look */
	double threshold;
	size_t limit;
};

void types_report_print(FILE *out, const struct types_report *r, const struct style *style);

/* The same as members of an object, with every type. */
void types_report_add(struct json *j, const struct profile *p, size_t survey);

#endif
