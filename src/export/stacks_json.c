/* stacks_json.c -- all stacks with all their figures as JSON, for programs. The schema is in
 * docs/export-json.md. Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "export/export.h"
#include "model/fields.h"
#include "model/shares.h"

#define SCHEMA_VERSION 1u /* grows when a member changes its meaning or goes */

static void add_run(struct json *j, const struct profile *p)
{
	const struct profile_run *run = &p->run;

	json_begin_object(j, "run");
	json_add_string(j, "program", profile_string(p, run->program));
	json_add_string(j, "executable", profile_string(p, run->executable));
	json_add_string(j, "command", profile_string(p, run->command));
	json_add_string(j, "directory", profile_string(p, run->directory));
	json_add_string(j, "host", profile_string(p, run->host));
	json_add_string(j, "machine", profile_string(p, run->machine));
	json_add_string(j, "mode", profile_string(p, run->mode));
	if (run->sample_period)
		json_add_uint(j, "sample_period", run->sample_period);
	json_add_string(j, "recorder", profile_string(p, run->version));
	json_add_uint(j, "pid", run->pid);
	json_add_uint(j, "start_unix_ns", run->start_unix_ns);
	json_add_uint(j, "duration_ns", run->duration_ns);
	json_add_bool(j, "damaged", p->damaged);
	json_end_object(j);
}

static void add_frame(struct json *j, const struct model_frame *f)
{
	json_begin_object(j, NULL);
	j->dense = true;
	json_add_text(j, "function", f->function);
	json_add_text(j, "file", f->file);
	if (f->line)
		json_add_uint(j, "line", f->line);
	else
		json_add_null(j, "line");
	json_add_text(j, "module", f->module);
	if (*f->function)
		json_add_null(j, "offset");
	else
		json_add_uint(j, "offset", f->offset);
	json_add_bool(j, "inlined", f->inlined);
	json_add_bool(j, "placeholder", f->placeholder);
	json_end_object(j);
	j->dense = false;
}

static void add_frames(struct json *j, const struct model *m)
{
	json_begin_list(j, "frames");
	for (uint32_t i = 0; i < model_get_frame_count(m); i++)
		add_frame(j, model_get_frame(m, i));
	json_end_list(j);
}

static void add_stack(struct json *j, const struct profile *p, size_t site,
		      const struct model_stack *stack)
{
	json_begin_object(j, NULL);
	j->dense = true;
	fields_add(j, &p->sites.at[site], fields_site);
	shares_add(j, p, site);
	json_begin_list(j, "frames");
	for (size_t i = 0; i < stack->frames.count; i++)
		json_add_uint(j, NULL, stack->frames.at[i]);
	json_end_list(j);
	json_end_object(j);
	j->dense = false;
}

static void add_stacks(struct json *j, const struct model *m)
{
	const struct profile *p = model_get_profile(m);
	struct model_stack stack = {0};

	json_begin_list(j, "stacks");
	for (size_t i = 0; i < p->sites.count; i++) {
		model_get_stack(m, i, &stack);
		add_stack(j, p, i, &stack);
	}
	json_end_list(j);
	vec_free(&stack.frames);
}

static int write_json(FILE *out, const struct export_request *r, struct error *e)
{
	const struct profile *p = model_get_profile(r->model);
	struct json j = {.out = out};

	(void)e;
	json_begin_object(&j, NULL);
	json_add_string(&j, "schema", "midden-stacks");
	json_add_uint(&j, "schema_version", SCHEMA_VERSION);
	json_add_string(&j, "exporter", "midden " MIDDEN_VERSION);
	add_run(&j, p);
	json_begin_object(&j, "totals");
	fields_add(&j, &p->totals, fields_totals);
	json_end_object(&j);
	add_frames(&j, r->model);
	add_stacks(&j, r->model);
	json_end_object(&j);
	return 0;
}

const struct export_format export_json = {
	.name = "json",
	.summary = "all figures of all stacks, for programs (docs/export-json.md)",
	.suffix = ".json",
	.write = write_json,
};
