/* check_json.h -- which limits hold, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_CHECK_JSON_H
#define MIDDEN_REPORT_CHECK_JSON_H

#include <stdio.h>

#include "model/check.h"

/* One object with a list of all limits and the stacks behind those that do not hold. */
void check_json_print(FILE *out, const struct check *c);

#endif
