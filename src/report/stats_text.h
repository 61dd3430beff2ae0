/* stats_text.h -- totals, sizes and threads as tables. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_STATS_TEXT_H
#define MIDDEN_REPORT_STATS_TEXT_H

#include <stdio.h>

#include "model/model.h"
#include "report/style.h"

void stats_text_print(FILE *out, const struct profile *p, const struct style *style);

#endif
