/* rss_report.h -- who keeps the heap's pages resident, as text or JSON. Runs: offline, called by
 * sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_RSS_REPORT_H
#define MIDDEN_REPORT_RSS_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "model/pinning.h"
#include "report/style.h"

/* The sums, and a line for each function (or line, or module); `limit` 0: all with at least
 * `threshold` percent. */
struct rss_report {
	const struct pinning *pinning;
	double threshold;
	size_t limit;
};

void rss_report_print(FILE *out, const struct rss_report *r, const struct style *style);

/* The same as members of an object, with every stack. */
void rss_report_add(struct json *j, const struct pinning *n);

/* The sums of each look, as a list of this name. */
void rss_report_add_surveys(struct json *j, const char *key, const struct profile *p);

#endif
