/* speedscope.c -- the JSON that speedscope reads: one profile per figure over one list of frames.
 * Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "export/export.h"
#include "export/labels.h"

/* By this name readers know the format; nothing is fetched from there. */
#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static void add_frame(struct json *j, const struct model_frame *f, const char *label)
{
	json_begin_object(j, NULL);
	j->dense = true;
	json_add_string(j, "name", label);
	if (*f->file)
		json_add_string(j, "file", f->file);
	if (f->line)
		json_add_uint(j, "line", f->line);
	json_end_object(j);
	j->dense = false;
}

static void add_frames(struct json *j, const struct model *m)
{
	struct labels *labels = labels_new(m, "");

	json_begin_object(j, "shared");
	json_begin_list(j, "frames");
	for (uint32_t i = 0; i < model_get_frame_count(m); i++)
		add_frame(j, model_get_frame(m, i), labels_get(labels, i));
	json_end_list(j);
	json_end_object(j);
	labels_free(labels);
}

static void add_sample(struct json *j, const struct model_stack *stack)
{
	json_begin_list(j, NULL);
	j->dense = true;
	for (size_t i = stack->frames.count; i-- > 0;)
		json_add_uint(j, NULL, stack->frames.at[i]);
	json_end_list(j);
	j->dense = false;
}

static uint64_t site_value(const struct profile *p, size_t site, enum figure f)
{
	return figure_get_value(figure_get(&p->sites.at[site], f), f);
}

static void add_samples(struct json *j, const struct model *m, enum figure f)
{
	const struct profile *p = model_get_profile(m);
	struct model_stack stack = {0};

	json_begin_list(j, "samples");
	for (size_t i = 0; i < p->sites.count; i++) {
		if (!site_value(p, i, f))
			continue;
		model_get_stack(m, i, &stack);
		add_sample(j, &stack);
	}
	json_end_list(j);
	vec_free(&stack.frames);
}

static uint64_t add_weights(struct json *j, const struct profile *p, enum figure f)
{
	uint64_t sum = 0;

	json_begin_list(j, "weights");
	j->dense = true;
	for (size_t i = 0; i < p->sites.count; i++) {
		uint64_t value = site_value(p, i, f);
		sum += value;
		if (value)
			json_add_uint(j, NULL, value);
	}
	json_end_list(j);
	j->dense = false;
	return sum;
}

static void add_profile(struct json *j, const struct model *m, enum figure f)
{
	json_begin_object(j, NULL);
	json_add_string(j, "type", "sampled");
	json_add_string(j, "name", figure_name(f));
	json_add_string(j, "unit", figure_is_count(f) ? "none" : "bytes");
	json_add_uint(j, "startValue", 0);
	add_samples(j, m, f);
	json_add_uint(j, "endValue", add_weights(j, model_get_profile(m), f));
	json_end_object(j);
}

static int write_speedscope(FILE *out, const struct export_request *r, struct error *e)
{
	struct json j = {.out = out};

	(void)e;
	json_begin_object(&j, NULL);
	json_add_string(&j, "$schema", SCHEMA);
	json_add_string(&j, "name", export_get_program(r));
	json_add_string(&j, "exporter", "midden " MIDDEN_VERSION);
	json_add_uint(&j, "activeProfileIndex", r->figure);
	add_frames(&j, r->model);
	json_begin_list(&j, "profiles");
	for (unsigned f = 0; f < FIGURE_KINDS; f++)
		add_profile(&j, r->model, (enum figure)f);
	json_end_list(&j);
	json_end_object(&j);
	return 0;
}

const struct export_format export_speedscope = {
	.name = "speedscope",
	.summary = "speedscope's JSON, one profile per figure",
	.suffix = ".speedscope.json",
	.write = write_speedscope,
};
