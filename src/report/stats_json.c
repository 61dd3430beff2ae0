/* stats_json.c -- the figures of a profile as one JSON object. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/stats_json.h"

#include <stddef.h>

#include "base/json.h"
#include "report/names.h"

/* A uint64_t member of a struct and its name in JSON. */
struct field {
	const char *key;
	size_t offset;
	bool optional; /* UINT64_MAX means that there is none: null */
};

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
#define FIELD_COUNT(fields)	      (sizeof(fields) / sizeof(*(fields)))
#define ADD_FIELDS(j, object, fields) add_fields(j, object, fields, FIELD_COUNT(fields))

static const struct field total_fields[] = {
	FIELD(profile_totals, allocations),	FIELD(profile_totals, frees),
	FIELD(profile_totals, allocated_bytes), FIELD(profile_totals, freed_bytes),
	FIELD(profile_totals, peak_bytes),	FIELD(profile_totals, peak_blocks),
	FIELD(profile_totals, peak_time_ns),	FIELD(profile_totals, leaked_bytes),
	FIELD(profile_totals, leaked_blocks),	FIELD(profile_totals, temporary_allocations),
	FIELD(profile_totals, reallocations),	FIELD(profile_totals, failed_allocations),
	FIELD(profile_totals, threads),		FIELD(profile_totals, stacks),
	FIELD(profile_totals, lost_events),	FIELD(profile_totals, truncated_stacks),
	FIELD(profile_totals, unwind_failures), FIELD(profile_totals, foreign_frees),
	FIELD(profile_totals, reentrant_calls), FIELD(profile_totals, own_memory_bytes),
	FIELD(profile_totals, rss_peak_bytes),
};

static const struct field bucket_fields[] = {
	FIELD(profile_bucket, count),
	FIELD(profile_bucket, bytes),
	FIELD(profile_bucket, live_count),
	FIELD(profile_bucket, live_bytes),
};

static const struct field thread_fields[] = {
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
};

static const struct field site_fields[] = {
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
};

static const struct field point_fields[] = {
	FIELD(profile_point, time_ns),	   FIELD(profile_point, live_bytes),
	FIELD(profile_point, live_blocks), FIELD(profile_point, peak_bytes),
	FIELD(profile_point, allocations), FIELD(profile_point, allocated_bytes),
	FIELD(profile_point, frees),	   FIELD(profile_point, freed_bytes),
	FIELD(profile_point, rss_bytes),
};

static void add_fields(struct json *j, const void *object, const struct field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *at = (const char *)object + fields[i].offset;
		uint64_t value = *(const uint64_t *)(const void *)at;
		if (fields[i].optional && value == UINT64_MAX)
			json_add_null(j, fields[i].key);
		else
			json_add_uint(j, fields[i].key, value);
	}
}

static const char *end_name(uint32_t end)
{
	static const char *const names[] = {
		[PROFILE_END_UNKNOWN] = "unknown",     [PROFILE_END_EXITED] = "exited",
		[PROFILE_END_SIGNALED] = "signaled",   [PROFILE_END_EXEC] = "exec",
		[PROFILE_END_ABANDONED] = "abandoned",
	};

	return end <= PROFILE_END_ABANDONED ? names[end] : names[PROFILE_END_UNKNOWN];
}

static void add_string(struct json *j, const char *key, const struct profile *p,
		       struct string_id id)
{
	json_add_string(j, key, profile_string(p, id));
}

static void add_run(struct json *j, const struct profile *p)
{
	const struct profile_run *run = &p->run;
	bool signaled = run->end == PROFILE_END_SIGNALED && run->exit_signal != 0;

	add_string(j, "program", p, run->program);
	add_string(j, "command", p, run->command);
	json_add_uint(j, "pid", run->pid);
	json_add_string(j, "end", end_name(run->end));
	if (run->end == PROFILE_END_EXITED && run->exit_code >= 0)
		json_add_int(j, "exit_code", run->exit_code);
	else
		json_add_null(j, "exit_code");
	if (signaled)
		json_add_int(j, "exit_signal", run->exit_signal);
	else
		json_add_null(j, "exit_signal");
	json_add_uint(j, "duration_ns", run->duration_ns);
	add_string(j, "mode", p, run->mode);
}

/* The more of the run that is of use to scripts. */
static void add_surroundings(struct json *j, const struct profile *p)
{
	const struct profile_run *run = &p->run;

	add_string(j, "executable", p, run->executable);
	add_string(j, "directory", p, run->directory);
	add_string(j, "host", p, run->host);
	add_string(j, "machine", p, run->machine);
	add_string(j, "version", p, run->version);
	json_add_uint(j, "parent_pid", run->parent_pid);
	json_add_uint(j, "start_unix_ns", run->start_unix_ns);
	json_add_uint(j, "page_bytes", run->page_bytes);
	json_add_uint(j, "children_not_recorded", run->children_not_recorded);
	json_add_bool(j, "resolved", p->resolved);
	json_add_bool(j, "damaged", p->damaged);
	if (p->damaged)
		json_add_string(j, "damage", p->damage);
}

static uint64_t bucket_min(unsigned i)
{
	return i ? UINT64_C(1) << (i - 1) : 0;
}

static uint64_t bucket_max(unsigned i)
{
	return i < 64 ? (UINT64_C(1) << i) - 1 : UINT64_MAX;
}

static void add_sizes(struct json *j, const struct profile *p)
{
	json_begin_list(j, "size_histogram");
	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++) {
		if (p->sizes[i].count == 0)
			continue;
		json_begin_object(j, NULL);
		json_add_uint(j, "min", bucket_min(i));
		json_add_uint(j, "max", bucket_max(i));
		ADD_FIELDS(j, &p->sizes[i], bucket_fields);
		json_end_object(j);
	}
	json_end_list(j);
}

static void add_lifetime(struct json *j, unsigned size, unsigned life, uint64_t count)
{
	if (count == 0)
		return;
	json_begin_object(j, NULL);
	json_add_uint(j, "size_min", bucket_min(size));
	json_add_uint(j, "size_max", bucket_max(size));
	json_add_uint(j, "lifetime_min_ns", bucket_min(life));
	json_add_uint(j, "lifetime_max_ns", bucket_max(life));
	json_add_uint(j, "count", count);
	json_end_object(j);
}

static void add_lifetimes(struct json *j, const struct profile *p)
{
	json_begin_list(j, "size_by_lifetime");
	for (unsigned i = 0; i < PROFILE_SIZE_BUCKETS; i++)
		for (unsigned k = 0; k < PROFILE_LIFE_BUCKETS; k++)
			add_lifetime(j, i, k, p->size_by_life[i][k]);
	json_end_list(j);
}

static void add_threads(struct json *j, const struct profile *p)
{
	json_begin_list(j, "thread_list");
	for (size_t i = 0; i < p->threads.count; i++) {
		const struct profile_thread *t = &p->threads.at[i];
		json_begin_object(j, NULL);
		json_add_uint(j, "tid", t->tid);
		json_add_uint(j, "serial", t->serial);
		add_string(j, "name", p, t->name);
		ADD_FIELDS(j, t, thread_fields);
		json_end_object(j);
	}
	json_end_list(j);
}

/* `texts` keeps the text of each frame once it has been made: stacks share most of their frames. */
static void add_stack(struct json *j, const struct model *m, const struct model_stack *stack,
		      char **texts)
{
	json_begin_list(j, "stack");
	for (size_t i = 0; i < stack->frames.count; i++) {
		uint32_t id = stack->frames.at[i];
		if (!texts[id])
			texts[id] = names_plain(model_get_frame(m, id));
		json_add_string(j, NULL, texts[id]);
	}
	json_end_list(j);
}

static void add_sites(struct json *j, const struct model *m)
{
	const struct profile *p = model_get_profile(m);
	size_t frames = model_get_frame_count(m);
	char **texts = mem_new(frames, sizeof(*texts));
	struct model_stack stack = {0};

	json_begin_list(j, "sites");
	for (size_t i = 0; i < p->sites.count; i++) {
		json_begin_object(j, NULL);
		ADD_FIELDS(j, &p->sites.at[i], site_fields);
		model_get_stack(m, i, &stack);
		add_stack(j, m, &stack, texts);
		json_end_object(j);
	}
	json_end_list(j);
	for (size_t i = 0; i < frames; i++)
		free(texts[i]);
	free(texts);
	vec_free(&stack.frames);
}

static void add_points(struct json *j, const struct profile *p)
{
	json_begin_list(j, "points");
	for (size_t i = 0; i < p->points.count; i++) {
		json_begin_object(j, NULL);
		ADD_FIELDS(j, &p->points.at[i], point_fields);
		json_end_object(j);
	}
	json_end_list(j);
}

void stats_json_print(FILE *out, const struct model *m, const struct stats_json_options *options)
{
	const struct profile *p = model_get_profile(m);
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	add_run(&j, p);
	ADD_FIELDS(&j, &p->totals, total_fields);
	add_surroundings(&j, p);
	add_sizes(&j, p);
	add_lifetimes(&j, p);
	add_threads(&j, p);
	if (options->sites)
		add_sites(&j, m);
	if (options->points)
		add_points(&j, p);
	json_end_object(&j);
}
