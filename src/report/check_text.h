/* check_text.h -- which limits hold, as text. Runs: offline, called by cli and the other forms.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_CHECK_TEXT_H
#define MIDDEN_REPORT_CHECK_TEXT_H

#include <stdio.h>

#include "model/check.h"
#include "report/style.h"

/* One line per limit, and below those that do not hold the stacks behind them. */
void check_text_print(FILE *out, const struct check *c, const struct style *style);

/* "peak at most 200 MiB": what is asked for. The caller frees it, as with the next. */
char *check_text_limit(const struct check_result *r);

/* "1.20 GiB", "1.00 MiB before, 1.20 MiB now (+20.00%)": what was found. */
char *check_text_value(const struct check_result *r);

/* The stacks behind a failure, one frame a line, each line after `indent`. */
void check_text_print_stacks(FILE *out, const struct check *c, const struct check_result *r,
			     const char *indent, bool utf8);

#endif
