/* header.h -- the run and its totals, as the first lines of every report. Runs: offline, called by
 * the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_HEADER_H
#define MIDDEN_REPORT_HEADER_H

#include <stdio.h>

#include "model/model.h"
#include "report/style.h"

void header_print(FILE *out, const struct profile *p, const struct style *style);

#endif
