/* interval_json.c -- within what estimates lie, as members of a JSON object. Runs: offline, called
 * by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/interval_json.h"

#include <stdio.h>

#include "model/interval.h"

static void add(struct json *j, const char *prefix, const char *name, uint64_t value)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "%s%s", prefix, name);
	json_add_uint(j, key, value);
}

void interval_json_add(struct json *j, const char *prefix, struct amount a, enum figures_sign sign)
{
	struct interval bytes = interval_get_bytes(a), blocks = interval_get_blocks(a);

	if (!a.period)
		return;
	if (sign != FIGURES_PLAIN) {
		add(j, prefix, "bytes_error", interval_get_bytes_error(a));
		add(j, prefix, "blocks_error", interval_get_blocks_error(a));
		return;
	}
	add(j, prefix, "bytes_low", bytes.low);
	add(j, prefix, "bytes_high", bytes.high);
	add(j, prefix, "blocks_low", blocks.low);
	add(j, prefix, "blocks_high", blocks.high);
}

void interval_json_add_totals(struct json *j, const struct profile *p)
{
	if (!p->run.sample_period)
		return;
	struct interval temporary = interval_get_blocks(figure_get_total(p, FIGURE_TEMPORARY));

	json_add_uint(j, "sample_period", p->run.sample_period);
	json_add_real(j, "confidence", INTERVAL_PERCENT / 100.0);
	json_add_uint(j, "detection_limit_bytes", interval_get_limit(p));
	json_add_string(j, "sampled_blocks",
			p->run.sampled_blocks == PROFILE_SAMPLED_ALL ? "all" : "small");
	interval_json_add(j, "allocated_", figure_get_total(p, FIGURE_ALLOCATED), FIGURES_PLAIN);
	interval_json_add(j, "peak_", figure_get_total(p, FIGURE_PEAK), FIGURES_PLAIN);
	interval_json_add(j, "leaked_", figure_get_total(p, FIGURE_LEAKED), FIGURES_PLAIN);
	json_add_uint(j, "temporary_allocations_low", temporary.low);
	json_add_uint(j, "temporary_allocations_high", temporary.high);
}
