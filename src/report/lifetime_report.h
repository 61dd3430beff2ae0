/* lifetime_report.h -- how long blocks lived, as a table or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_LIFETIME_REPORT_H
#define MIDDEN_REPORT_LIFETIME_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "model/lifetime.h"
#include "report/style.h"

/* At most `limit` rows (0: all), then what the others come to. */
void lifetime_report_print(FILE *out, const struct lifetimes *l, size_t limit,
			   const struct style *style);

/* The members of the whole and the list `lifetimes`, with nothing left out. */
void lifetime_report_add(struct json *j, const struct lifetimes *l);

#endif
