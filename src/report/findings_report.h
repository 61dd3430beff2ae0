/* findings_report.h -- what to look at first, as text or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_FINDINGS_REPORT_H
#define MIDDEN_REPORT_FINDINGS_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "model/findings.h"
#include "report/style.h"

/* Every finding with its numbers, its stack and what it would save; or that there is none. */
void findings_report_print(FILE *out, const struct model *m, const struct findings *f,
			   const struct style *style);

/* The first few in a line each; nothing if there is none. */
void findings_report_print_short(FILE *out, const struct model *m, const struct findings *f,
				 const struct style *style);

/* The list `findings`. */
void findings_report_add(struct json *j, const struct model *m, const struct findings *f);

#endif
