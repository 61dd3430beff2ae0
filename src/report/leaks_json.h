/* leaks_json.h -- what is lost, what is held, and by whom, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_LEAKS_JSON_H
#define MIDDEN_REPORT_LEAKS_JSON_H

#include <stdio.h>

#include "model/leaks.h"

/* One object: how the look was, the sums by class, and all stacks of the classes wanted. */
void leaks_json_print(FILE *out, const struct leaks *l);

#endif
