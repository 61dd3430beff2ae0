/* spread_report.h -- how much the recordings behind a merged profile differ, as text and as JSON.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_SPREAD_REPORT_H
#define MIDDEN_REPORT_SPREAD_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "profile/profile.h"
#include "report/style.h"

/* The table; nothing of a profile with fewer than two inputs. */
void spread_report_print(FILE *out, const struct profile *p, const struct style *style);

/* A line for each figure of which one recording stands out. */
void spread_report_print_outliers(FILE *out, const struct profile *p, const struct style *style);

/* The member "spread". */
void spread_report_add(struct json *j, const struct profile *p);

#endif
