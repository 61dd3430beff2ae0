/* stats_json.h -- the figures of a profile as one JSON object. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_STATS_JSON_H
#define MIDDEN_REPORT_STATS_JSON_H

#include <stdio.h>

#include "model/model.h"

struct stats_json_options {
	bool sites;  /* add `sites`: every stack with its figures */
	bool points; /* add `points`: the time line */
};

/* Scripts rely on the names. Unknown values are null. */
void stats_json_print(FILE *out, const struct model *m, const struct stats_json_options *options);

#endif
