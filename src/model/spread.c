/* spread.c -- how much the recordings behind a merged profile differ, and which one stands out.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/spread.h"

#include <stdlib.h>

#define INPUTS_LEAST 3	/* of two nobody knows which one is odd */
#define TIMES_USUAL  5	/* as far from the median as inputs usually are */
#define SHARE_LEAST  5u /* 1/5 of the median */

const char *spread_get_name(enum spread_figure f)
{
	static const char *const names[SPREAD_FIGURES] = {
		[SPREAD_PEAK] = "peak_bytes",		[SPREAD_LEAKED] = "leaked_bytes",
		[SPREAD_ALLOCATED] = "allocated_bytes", [SPREAD_CALLS] = "allocations",
		[SPREAD_RESIDENT] = "rss_peak_bytes",
	};

	return names[f];
}

uint64_t spread_get_value(const struct profile_input *in, enum spread_figure f)
{
	switch (f) {
	case SPREAD_PEAK:
		return in->totals.peak_bytes;
	case SPREAD_LEAKED:
		return in->totals.leaked_bytes;
	case SPREAD_ALLOCATED:
		return in->totals.allocated_bytes;
	case SPREAD_CALLS:
		return in->totals.allocations;
	default:
		return in->totals.rss_peak_bytes;
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the values. */
static uint64_t find_median(uint64_t *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	uint64_t upper = values[count / 2], lower = values[(count - 1) / 2];
	return lower + (upper - lower) / 2;
}

static uint64_t get_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static size_t find_outlier(const struct profile *p, enum spread_figure f, uint64_t median)
{
	size_t count = p->inputs.count, farthest = 0;
	uint64_t *distances = mem_new(count, sizeof(*distances));
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		distances[i] = get_distance(spread_get_value(&p->inputs.at[i], f), median);
		if (distances[i] > most) {
			most = distances[i];
			farthest = i;
		}
	}
	uint64_t usual = find_median(distances, count);
	free(distances);
	bool is_out = count >= INPUTS_LEAST && most > median / SHARE_LEAST &&
		      usual <= (most - 1) / TIMES_USUAL;
	return is_out ? farthest : SPREAD_NONE;
}

struct spread spread_find(const struct profile *p, enum spread_figure f)
{
	size_t count = p->inputs.count;
	uint64_t *values = mem_new(count, sizeof(*values));
	struct spread s = {.least = UINT64_MAX};

	for (size_t i = 0; i < count; i++) {
		uint64_t value = spread_get_value(&p->inputs.at[i], f);

		values[i] = value;
		s.mean += (double)value / (double)count;
		if (value < s.least) {
			s.least = value;
			s.least_input = i;
		}
		if (i == 0 || value > s.most) {
			s.most = value;
			s.most_input = i;
		}
	}
	s.median = find_median(values, count);
	s.outlier = find_outlier(p, f, s.median);
	free(values);
	return s;
}
