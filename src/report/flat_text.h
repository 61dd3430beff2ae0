/* flat_text.h -- functions as a table. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_FLAT_TEXT_H
#define MIDDEN_REPORT_FLAT_TEXT_H

#include <stdio.h>

#include "model/flat.h"
#include "report/style.h"

/* One line per function whose self or total reaches `threshold` percent, then what the others come
 * to. */
void flat_text_print(FILE *out, const struct flat *f, double threshold, const struct style *style);

#endif
