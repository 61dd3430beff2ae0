/* losses.h -- what a recording missed, in plain words. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_LOSSES_H
#define MIDDEN_REPORT_LOSSES_H

#include <stdio.h>

#include "model/model.h"
#include "report/style.h"

/* One line for every counter that is not zero and one if the file is damaged; nothing for a clean
 * recording. */
void losses_print(FILE *out, const struct profile *p, const struct style *style);

/* The same without the one for a damaged file. */
void losses_print_counts(FILE *out, const struct profile *p, const struct style *style);

/* A line that tells which programs and libraries have no names, and what to do; nothing if all that
 * matter have. */
void losses_print_nameless(FILE *out, const struct profile *p, const struct style *style);

#endif
