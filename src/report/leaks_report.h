/* leaks_report.h -- what is lost, what is held, and by whom, as text. Runs: offline, called
 * by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_LEAKS_REPORT_H
#define MIDDEN_REPORT_LEAKS_REPORT_H

#include <stdio.h>

#include "model/leaks.h"
#include "report/style.h"

/* At most `limit` stacks of each class; 0: all. */
void leaks_report_print(FILE *out, const struct leaks *l, size_t limit, const struct style *style);

#endif
