/* globals_report.h -- global and thread-local variables as text or JSON. Runs: offline, called by
 * sheet and stats.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_GLOBALS_REPORT_H
#define MIDDEN_REPORT_GLOBALS_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "profile/profile.h"
#include "report/style.h"

/* The sums, objects and variables, the largest first; `limit` 0: all with at least `threshold`
 * percent. */
struct globals_report {
	const struct profile *profile;
	double threshold;
	size_t limit;
};

void globals_report_print(FILE *out, const struct globals_report *r, const struct style *style);

/* The same as member "globals", with or without the list of variables; no member where nothing is
 * known. */
void globals_report_add(struct json *j, const struct profile *p, bool list);

#endif
