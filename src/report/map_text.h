/* map_text.h -- what the program mapped itself, kind by kind. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_MAP_TEXT_H
#define MIDDEN_REPORT_MAP_TEXT_H

#include <stdio.h>

#include "profile/profile.h"
#include "report/style.h"

/* A table with a line for each kind that there was; nothing if maps were not recorded. */
void map_text_print(FILE *out, const struct profile *p, const struct style *style);

#endif
