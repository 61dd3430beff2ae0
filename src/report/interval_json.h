/* interval_json.h -- within what estimates lie, as members of a JSON object. Runs: offline, called
 * by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_INTERVAL_JSON_H
#define MIDDEN_REPORT_INTERVAL_JSON_H

#include "base/json.h"
#include "model/figure.h"
#include "report/figures.h"

/* PREFIXbytes_low, _high and PREFIXblocks_low, _high; of a change PREFIXbytes_error and
 * PREFIXblocks_error. Nothing for an amount that is exact. */
void interval_json_add(struct json *j, const char *prefix, struct amount a, enum figures_sign sign);

/* sample_period, confidence, detection_limit_bytes, and the intervals of the totals that are
 * estimates; nothing where every block was recorded. */
void interval_json_add_totals(struct json *j, const struct profile *p);

#endif
