/* chart.h -- what was live over time, as a chart of characters or JSON. Runs: offline, called by
 * sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_CHART_H
#define MIDDEN_REPORT_CHART_H

#include <stdio.h>

#include "base/json.h"
#include "model/timeline.h"
#include "report/style.h"

/* Time goes to the right, up to `end_ns`; a column shows the most that was live in its span. As
 * wide as the terminal. */
void chart_print(FILE *out, const struct timeline *t, uint64_t end_ns, const struct style *style);

/* The list `points`. */
void chart_add(struct json *j, const struct timeline *t);

#endif
