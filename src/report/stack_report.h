/* stack_report.h -- how deep the stacks of threads were. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_STACK_REPORT_H
#define MIDDEN_REPORT_STACK_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "profile/profile.h"
#include "report/style.h"

/* A table, the deepest first; nothing if no stack was looked at. */
void stack_report_print(FILE *out, const struct profile *p, const struct style *style);

/* Members of a thread's object; none if its stack was not looked at. */
void stack_report_add(struct json *j, const struct profile_thread *t);

#endif
