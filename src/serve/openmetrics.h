/* openmetrics.h -- how a recorded program stands, as OpenMetrics text. Runs: offline, pure; called
 * by the endpoint.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The number of series is bounded whatever the program does: functions beyond the first few that
 * hold the most are told as one. */
#ifndef MIDDEN_SERVE_OPENMETRICS_H
#define MIDDEN_SERVE_OPENMETRICS_H

#include <stdint.h>
#include <stdio.h>

#include "model/model.h"

#define OPENMETRICS_TYPE      "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define OPENMETRICS_FUNCTIONS 20u /* that are told by name */

/* What the profiler itself takes, beside what the profile says of it. */
struct openmetrics_process {
	const char *name;
	uint64_t cpu_ns;
	uint64_t resident_bytes;
};

struct openmetrics_cost {
	struct openmetrics_process processes[2];
	size_t count;
};

void openmetrics_print(FILE *out, const struct model *m, const struct openmetrics_cost *cost);

#endif
