/* leaks_json.h -- what is lost, what is held, and by whom, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_LEAKS_JSON_H
#define MIDDEN_REPORT_LEAKS_JSON_H

#include <stdio.h>

#include "base/json.h"
#include "model/leaks.h"

/* How many processes the profile is of, how many of them somebody looked at, and who the others
 * are: members of an object. */
void leaks_json_add_processes(struct json *j, const struct profile *p);

/* One object: how the look was, the sums by class, and all stacks of the classes wanted. */
void leaks_json_print(FILE *out, const struct leaks *l);

#endif
