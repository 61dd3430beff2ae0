/* snapshots_text.h -- the list of snapshots. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_SNAPSHOTS_TEXT_H
#define MIDDEN_REPORT_SNAPSHOTS_TEXT_H

#include <stdio.h>

#include "base/json.h"
#include "profile/profile.h"
#include "report/style.h"

/* A line each: number, time, what was live, how that differs from the one before, name. */
void snapshots_text_print(FILE *out, const struct profile *p, const struct style *style);

/* The same as a list "snapshots". */
void snapshots_text_add(struct json *j, const struct profile *p);

#endif
