/* fields.c -- the counters of a profile by name, for whatever lists them: JSON, CSV.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/fields.h"

#include "profile/profile.h"

#define FIELD(type, member)                                   \
	{                                                     \
#member, offsetof(struct type, member), false \
	}
#define FIELD_OR_NULL(type, member)                          \
	{                                                    \
#member, offsetof(struct type, member), true \
	}
#define FIELD_AS(key, type, member)                       \
	{                                                 \
		key, offsetof(struct type, member), false \
	}

const struct field fields_totals[] = {
	FIELD(profile_totals, allocations),
	FIELD(profile_totals, frees),
	FIELD(profile_totals, allocated_bytes),
	FIELD(profile_totals, freed_bytes),
	FIELD(profile_totals, peak_bytes),
	FIELD(profile_totals, peak_blocks),
	FIELD(profile_totals, peak_time_ns),
	FIELD(profile_totals, leaked_bytes),
	FIELD(profile_totals, leaked_blocks),
	FIELD(profile_totals, temporary_allocations),
	FIELD(profile_totals, reallocations),
	FIELD(profile_totals, failed_allocations),
	FIELD(profile_totals, threads),
	FIELD(profile_totals, stacks),
	FIELD(profile_totals, lost_events),
	FIELD(profile_totals, truncated_stacks),
	FIELD(profile_totals, unwind_failures),
	FIELD(profile_totals, foreign_frees),
	FIELD(profile_totals, reentrant_calls),
	FIELD(profile_totals, own_memory_bytes),
	FIELD(profile_totals, rss_peak_bytes),
	FIELD(profile_totals, trace_lost_events),
	FIELD(profile_totals, lost_snapshots),
	FIELD(profile_totals, untracked_frees),
	{NULL, 0, false},
};

const struct field fields_python[] = {
	FIELD(profile_totals, arena_bytes),
	FIELD(profile_totals, arena_peak_bytes),
	FIELD(profile_totals, small_bytes),
	FIELD(profile_totals, small_peak_bytes),
	{NULL, 0, false},
};

const struct field fields_maps[] = {
	FIELD(profile_totals, allocations),
	FIELD(profile_totals, frees),
	FIELD(profile_totals, allocated_bytes),
	FIELD(profile_totals, freed_bytes),
	FIELD(profile_totals, peak_bytes),
	FIELD(profile_totals, peak_blocks),
	FIELD(profile_totals, peak_time_ns),
	FIELD(profile_totals, leaked_bytes),
	FIELD(profile_totals, leaked_blocks),
	FIELD(profile_totals, reallocations),
	FIELD(profile_totals, failed_allocations),
	FIELD(profile_totals, stacks),
	FIELD(profile_totals, untracked_frees),
	FIELD(profile_totals, lost_events),
	{NULL, 0, false},
};

const struct field fields_bucket[] = {
	FIELD(profile_bucket, count),
	FIELD(profile_bucket, bytes),
	FIELD(profile_bucket, live_count),
	FIELD(profile_bucket, live_bytes),
	{NULL, 0, false},
};

const struct field fields_thread[] = {
	FIELD(profile_thread, start_ns),
	FIELD_OR_NULL(profile_thread, end_ns),
	FIELD(profile_thread, allocations),
	FIELD(profile_thread, allocated_bytes),
	FIELD(profile_thread, frees),
	FIELD(profile_thread, freed_bytes),
	FIELD(profile_thread, temporary),
	FIELD(profile_thread, reallocations),
	FIELD(profile_thread, failed_allocations),
	FIELD(profile_thread, live_blocks),
	FIELD(profile_thread, live_bytes),
	FIELD(profile_thread, own_peak_bytes),
	FIELD(profile_thread, own_peak_time_ns),
	FIELD(profile_thread, at_peak_bytes),
	FIELD(profile_thread, at_peak_blocks),
	FIELD_OR_NULL(profile_thread, lifetime_min_ns),
	FIELD(profile_thread, lifetime_max_ns),
	FIELD(profile_thread, lifetime_sum_ns),
	FIELD_OR_NULL(profile_thread, size_min),
	FIELD(profile_thread, size_max),
	FIELD(profile_thread, losses),
	{NULL, 0, false},
};

const struct field fields_site[] = {
	FIELD(profile_site, allocations),
	FIELD(profile_site, allocated_bytes),
	FIELD(profile_site, frees),
	FIELD(profile_site, freed_bytes),
	FIELD_OR_NULL(profile_site, size_min),
	FIELD(profile_site, size_max),
	FIELD_AS("leaked_blocks", profile_site, live_blocks),
	FIELD_AS("leaked_bytes", profile_site, live_bytes),
	FIELD_AS("peak_blocks", profile_site, at_peak_blocks),
	FIELD_AS("peak_bytes", profile_site, at_peak_bytes),
	FIELD(profile_site, own_peak_bytes),
	FIELD(profile_site, own_peak_time_ns),
	FIELD_OR_NULL(profile_site, lifetime_min_ns),
	FIELD(profile_site, lifetime_max_ns),
	FIELD(profile_site, lifetime_sum_ns),
	FIELD(profile_site, temporary),
	FIELD(profile_site, reallocations),
	{NULL, 0, false},
};

const struct field fields_part[] = {
	FIELD(profile_part, allocations),
	FIELD(profile_part, allocated_bytes),
	FIELD(profile_part, frees),
	FIELD(profile_part, freed_bytes),
	FIELD_AS("leaked_blocks", profile_part, live_blocks),
	FIELD_AS("leaked_bytes", profile_part, live_bytes),
	FIELD_AS("peak_blocks", profile_part, at_peak_blocks),
	FIELD_AS("peak_bytes", profile_part, at_peak_bytes),
	FIELD(profile_part, temporary),
	{NULL, 0, false},
};

const struct field fields_point[] = {
	FIELD(profile_point, time_ns),	   FIELD(profile_point, live_bytes),
	FIELD(profile_point, live_blocks), FIELD(profile_point, peak_bytes),
	FIELD(profile_point, allocations), FIELD(profile_point, allocated_bytes),
	FIELD(profile_point, frees),	   FIELD(profile_point, freed_bytes),
	FIELD(profile_point, rss_bytes),   {NULL, 0, false},
};

bool fields_get(const struct field *f, const void *object, uint64_t *value)
{
	const char *at = (const char *)object + f->offset;

	*value = *(const uint64_t *)(const void *)at;
	return !f->optional || *value != UINT64_MAX;
}

void fields_add(struct json *j, const void *object, const struct field *fields)
{
	uint64_t value;

	for (; fields->key; fields++) {
		if (fields_get(fields, object, &value))
			json_add_uint(j, fields->key, value);
		else
			json_add_null(j, fields->key);
	}
}
