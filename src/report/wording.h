/* wording.h -- how reports speak of a figure. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_WORDING_H
#define MIDDEN_REPORT_WORDING_H

#include <stdio.h>

#include "model/figure.h"
#include "report/style.h"

/* "12.3 KiB in 4 blocks", or "4 calls" where the figure has no bytes. */
void wording_print_amount(FILE *out, struct amount a, enum figure f);

/* The heading of the column that counts: "blocks" or "calls". */
const char *wording_get_unit(enum figure f);

/* What the figure is, as a title begins: "Held at the peak". */
const char *wording_get_title(enum figure f);

/* The title of a report on the figure: "Held at the peak: 1.00 MiB in 2 blocks", with a note if the
 * stacks do not add up to what the recorder counted. `seen` is the sum over the stacks. */
void wording_print_title(FILE *out, const struct profile *p, enum figure f, struct amount seen,
			 const struct style *style);

/* " [3 in a row]", " [2 functions in a cycle, 3..5 times]" for a frame of recursion that is shown
 * once; nothing where nothing repeats. */
void wording_print_recursion(FILE *out, unsigned cycle, unsigned least, unsigned most);

/* "sum", "maximum" or "mean": how a merged profile came to be. */
const char *wording_get_merge(uint32_t merge);

/* "pid 12", or "sum of 4 profiles". */
void wording_print_process(FILE *out, const struct profile *p);

/* The file that a thread of a merged profile was recorded in; "" if that is not known. */
const char *wording_get_input(const struct profile *p, const struct profile_thread *t);

/* The sentence for a report with nothing in it. */
const char *wording_get_empty(const struct profile *p, enum figure f);

#endif
