/* stats_json.c -- the figures of a profile as one JSON object. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/stats_json.h"

#include "base/json.h"
#include "model/fields.h"
#include "model/map_view.h"
#include "model/nameless.h"
#include "model/shares.h"
#include "profile/trace.h"
#include "report/answer_json.h"
#include "report/globals_report.h"
#include "report/histogram.h"
#include "report/interval_json.h"
#include "report/names.h"
#include "report/rss_report.h"
#include "report/spread_report.h"
#include "report/stack_report.h"
#include "report/wording.h"

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

static void add_exit_code(struct json *j, uint32_t end, int32_t code)
{
	if (end == PROFILE_END_EXITED && code >= 0)
		json_add_int(j, "exit_code", code);
	else
		json_add_null(j, "exit_code");
}

static void add_run(struct json *j, const struct profile *p)
{
	const struct profile_run *run = &p->run;
	bool signaled = run->end == PROFILE_END_SIGNALED && run->exit_signal != 0;

	add_string(j, "program", p, run->program);
	add_string(j, "command", p, run->command);
	answer_json_add_pid(j, p);
	json_add_string(j, "end", end_name(run->end));
	add_exit_code(j, run->end, run->exit_code);
	if (signaled)
		json_add_int(j, "exit_signal", run->exit_signal);
	else
		json_add_null(j, "exit_signal");
	json_add_uint(j, "duration_ns", run->duration_ns);
	json_add_uint(j, "cleared_ns", run->cleared_ns);
	json_add_uint(j, "stopped_ns", run->stopped_ns);
	add_string(j, "mode", p, run->mode);
	interval_json_add_totals(j, p);
}

/* Of Python programs alone. */
static void add_python(struct json *j, const struct profile *p)
{
	static const char *const names[] = {
		[PROFILE_SMALL_NONE] = "none",	   [PROFILE_SMALL_SAMPLED] = "sampled",
		[PROFILE_SMALL_EXACT] = "exact",   [PROFILE_SMALL_MALLOC] = "malloc",
		[PROFILE_SMALL_UNSEEN] = "unseen",
	};
	uint32_t small = p->run.small_objects;

	if (small == PROFILE_SMALL_NONE || small > PROFILE_SMALL_UNSEEN)
		return;
	json_add_string(j, "small_objects", names[small]);
	fields_add(j, &p->totals, fields_python);
}

static void add_rank(struct json *j, uint32_t rank)
{
	if (rank)
		json_add_uint(j, "rank", rank - 1);
	else
		json_add_null(j, "rank");
}

/* Paths of what has no names. */
static void add_nameless(struct json *j, const struct profile *p)
{
	struct nameless found = {0};

	nameless_find(&found, p);
	json_begin_list(j, "nameless_modules");
	for (size_t i = 0; i < found.modules.count; i++)
		add_string(j, NULL, p, p->modules.at[found.modules.at[i]].path);
	json_end_list(j);
	vec_free(&found.modules);
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
	if (run->merge)
		json_add_null(j, "parent_pid");
	else
		json_add_uint(j, "parent_pid", run->parent_pid);
	add_rank(j, run->rank);
	json_add_uint(j, "ranks", run->ranks);
	json_add_uint(j, "start_unix_ns", run->start_unix_ns);
	json_add_uint(j, "page_bytes", run->page_bytes);
	json_add_uint(j, "children_not_recorded", run->children_not_recorded);
	json_add_uint(j, "trace_events", trace_get_count(p));
	json_add_bool(j, "resolved", p->resolved);
	add_nameless(j, p);
	json_add_bool(j, "damaged", p->damaged);
	if (p->damaged)
		json_add_string(j, "damage", p->damage);
}

static void add_lifetime(struct json *j, unsigned size, unsigned life, uint64_t count)
{
	if (count == 0)
		return;
	json_begin_object(j, NULL);
	json_add_uint(j, "size_min", histogram_get_min(size));
	json_add_uint(j, "size_max", histogram_get_max(size));
	json_add_uint(j, "lifetime_min_ns", histogram_get_min(life));
	json_add_uint(j, "lifetime_max_ns", histogram_get_max(life));
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
		if (t->input)
			json_add_uint(j, "input", t->input - 1);
		fields_add(j, t, fields_thread);
		stack_report_add(j, t);
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

static void add_intervals(struct json *j, const struct profile *p, size_t site)
{
	interval_json_add(j, "allocated_", figure_get_estimate(p, site, FIGURE_ALLOCATED),
			  FIGURES_PLAIN);
	interval_json_add(j, "leaked_", figure_get_estimate(p, site, FIGURE_LEAKED), FIGURES_PLAIN);
	interval_json_add(j, "peak_", figure_get_estimate(p, site, FIGURE_PEAK), FIGURES_PLAIN);
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
		fields_add(j, &p->sites.at[i], fields_site);
		if (p->of_maps)
			json_add_string(j, "kind", map_view_get_name(p->sites.at[i].kind));
		add_intervals(j, p, i);
		model_get_stack(m, i, &stack);
		add_stack(j, m, &stack, texts);
		shares_add(j, p, i);
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
		fields_add(j, &p->points.at[i], fields_point);
		json_end_object(j);
	}
	json_end_list(j);
}

static void add_input(struct json *j, const struct profile *p, const struct profile_input *in)
{
	json_begin_object(j, NULL);
	add_string(j, "name", p, in->name);
	add_string(j, "program", p, in->program);
	add_string(j, "command", p, in->command);
	add_string(j, "host", p, in->host);
	json_add_uint(j, "pid", in->pid);
	json_add_uint(j, "parent_pid", in->parent_pid);
	json_add_uint(j, "start_unix_ns", in->start_unix_ns);
	json_add_uint(j, "duration_ns", in->duration_ns);
	add_rank(j, in->rank);
	json_add_string(j, "end", end_name(in->end));
	add_exit_code(j, in->end, in->exit_code);
	fields_add(j, &in->totals, fields_totals);
	json_end_object(j);
}

/* How a merged profile came to be. */
static void add_inputs(struct json *j, const struct profile *p)
{
	if (!p->run.merge) {
		json_add_null(j, "merge");
		return;
	}
	json_add_string(j, "merge", wording_get_merge(p->run.merge));
	json_begin_list(j, "inputs");
	for (size_t i = 0; i < p->inputs.count; i++)
		add_input(j, p, &p->inputs.at[i]);
	json_end_list(j);
	spread_report_add(j, p);
}

static void add_kind(struct json *j, const struct profile_site *kind)
{
	json_begin_object(j, NULL);
	json_add_string(j, "kind", map_view_get_name(kind->kind));
	fields_add(j, kind, fields_site);
	json_end_object(j);
}

/* What the program mapped itself; with --maps all the rest is about that, too. */
static void add_maps(struct json *j, const struct profile *p)
{
	if (!p->map_kinds.count) {
		json_add_null(j, "maps");
		return;
	}
	json_begin_object(j, "maps");
	fields_add(j, &p->map_totals, fields_maps);
	json_begin_list(j, "kinds");
	for (size_t i = 0; i < p->map_kinds.count; i++)
		add_kind(j, &p->map_kinds.at[i]);
	json_end_list(j);
	json_end_object(j);
}

void stats_json_print(FILE *out, const struct model *m, const struct stats_json_options *options)
{
	const struct profile *p = model_get_profile(m);
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	add_run(&j, p);
	fields_add(&j, &p->totals, fields_totals);
	add_python(&j, p);
	add_surroundings(&j, p);
	add_inputs(&j, p);
	add_maps(&j, p);
	histogram_add_sizes(&j, p);
	add_lifetimes(&j, p);
	add_threads(&j, p);
	rss_report_add_surveys(&j, "rss", p);
	globals_report_add(&j, p, false);
	if (options->sites)
		add_sites(&j, m);
	if (options->points)
		add_points(&j, p);
	json_end_object(&j);
}
