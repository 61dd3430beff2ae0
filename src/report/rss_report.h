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

/* When a look was: "at snapshot 2 full, 1.30 s", and whether that was the highest; and how to ask
 * for others that went well, as a line of its own, if there are any. */
void rss_report_print_moment(FILE *out, const struct profile *p, size_t survey,
			     const struct style *style);
void rss_report_print_others(FILE *out, const struct profile *p, size_t survey);

/* The sums of one look, as an object of this name. */
void rss_report_add_survey(struct json *j, const char *key, const struct profile *p, size_t survey);

/* The sums of each look, as a list of this name. */
void rss_report_add_surveys(struct json *j, const char *key, const struct profile *p);

#endif
