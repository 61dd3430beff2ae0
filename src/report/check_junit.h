/* check_junit.h -- which limits hold, as XML for CI servers. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_CHECK_JUNIT_H
#define MIDDEN_REPORT_CHECK_JUNIT_H

#include <stdio.h>

#include "model/check.h"

/* A test suite with a test case for each limit; a failure has the stacks behind it. */
void check_junit_print(FILE *out, const struct check *c);

#endif
