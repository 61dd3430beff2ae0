/* csv.c -- a table with one row per allocating stack and all its figures, or one per variable, for
 * spreadsheets and data frames. Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "export/export.h"
#include "export/labels.h"
#include "model/fields.h"
#include "model/globals.h"

struct writer {
	FILE *out;
	const struct model *model;
	const struct labels *labels;
	char **places; /* by frame: "label (file:line)", quoted; made when first needed */
};

/* As it stands between the quotes of a field. */
static char *quote(const char *text)
{
	char *quoted = mem_new(2 * strlen(text) + 1, 1);
	char *out = quoted;

	for (; *text; text++) {
		if (*text == '"')
			*out++ = '"';
		*out++ = *text;
	}
	return quoted;
}

static void put_text(FILE *out, const char *text)
{
	char *clean = labels_clean(text, "");
	char *quoted = quote(clean);

	fprintf(out, ",\"%s\"", quoted);
	free(quoted);
	free(clean);
}

static char *make_place(const struct writer *w, uint32_t frame)
{
	const struct model_frame *f = model_get_frame(w->model, frame);
	const char *label = labels_get(w->labels, frame);

	if (!*f->file)
		return quote(label);
	char *file = labels_clean(f->file, ";:");
	char *place = f->line ? mem_format("%s (%s:%" PRIu32 ")", label, file, f->line)
			      : mem_format("%s (%s)", label, file);
	char *quoted = quote(place);
	free(place);
	free(file);
	return quoted;
}

static const char *get_place(struct writer *w, uint32_t frame)
{
	if (!w->places[frame])
		w->places[frame] = make_place(w, frame);
	return w->places[frame];
}

static void put_stack(struct writer *w, const struct model_stack *stack)
{
	fputs(",\"", w->out);
	for (size_t i = stack->frames.count; i-- > 0;) {
		fputs(get_place(w, stack->frames.at[i]), w->out);
		fputs(i ? ";" : "\"\n", w->out);
	}
}

/* What the allocating frame is, in columns of its own. */
static void put_leaf(struct writer *w, uint32_t frame)
{
	const struct model_frame *f = model_get_frame(w->model, frame);

	put_text(w->out, *f->function ? f->function : labels_get(w->labels, frame));
	put_text(w->out, f->file);
	fputc(',', w->out);
	if (f->line)
		fprintf(w->out, "%" PRIu32, f->line);
	put_text(w->out, f->module);
}

static void put_site(struct writer *w, size_t site, const struct model_stack *stack)
{
	const struct profile *p = model_get_profile(w->model);
	uint64_t value;

	for (const struct field *f = fields_site; f->key; f++) {
		if (f != fields_site)
			fputc(',', w->out);
		if (fields_get(f, &p->sites.at[site], &value))
			fprintf(w->out, "%" PRIu64, value);
	}
	put_leaf(w, stack->frames.at[0]);
	put_stack(w, stack);
}

static void write_stacks(FILE *out, const struct export_request *r)
{
	struct labels *labels = labels_new(r->model, ";:");
	size_t frames = model_get_frame_count(r->model);
	struct writer w = {out, r->model, labels, mem_new(frames, sizeof(char *))};
	struct model_stack stack = {0};

	for (const struct field *f = fields_site; f->key; f++)
		fprintf(out, "%s,", f->key);
	fputs("function,file,line,module,stack\n", out);
	for (size_t i = 0; i < model_get_profile(r->model)->sites.count; i++) {
		model_get_stack(r->model, i, &stack);
		put_site(&w, i, &stack);
	}
	for (size_t i = 0; i < frames; i++)
		free(w.places[i]);
	free(w.places);
	vec_free(&stack.frames);
	labels_free(labels);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* What is not known is no number. */
static void put_number(FILE *out, uint64_t value, bool is_known)
{
	fputc(',', out);
	if (is_known)
		fprintf(out, "%" PRIu64, value);
}

static void put_variable(FILE *out, const struct profile *p, const struct profile_variable *v,
			 uint64_t copies)
{
	const char *object = profile_string(p, p->modules.at[v->module].path);

	fprintf(out, "%" PRIu64, v->size_bytes);
	put_number(out, v->resident_bytes, p->run.globals_time_ns && !v->is_thread_local);
	put_number(out, v->is_thread_local ? v->size_bytes * copies : v->size_bytes, true);
	put_number(out, v->is_thread_local, true);
	put_number(out, v->count, true);
	put_text(out, profile_string(p, v->name));
	put_text(out, profile_string(p, v->section));
	put_text(out, profile_string(p, v->file));
	put_number(out, v->line, v->line != 0);
	put_text(out, *object ? object : profile_string(p, p->run.executable));
	fputc('\n', out);
}

static int write_variables(FILE *out, const struct profile *p, struct error *e)
{
	struct globals g = {0};

	if (!p->variables.count)
		return error_set(e, "no variables are known: a merged profile has none, nor one "
				    "recorded with --tags or by an older midden");
	globals_build(&g, p);
	fputs("bytes,resident_bytes,total_bytes,thread_local,count,name,section,file,line,object\n",
	      out);
	for (size_t i = 0; i < p->variables.count; i++)
		put_variable(out, p, &p->variables.at[i], g.threads);
	globals_fini(&g);
	return 0;
}

static int write_csv(FILE *out, const struct export_request *r, struct error *e)
{
	if (r->globals)
		return write_variables(out, model_get_profile(r->model), e);
	write_stacks(out, r);
	return 0;
}

const struct export_format export_csv = {
	.name = "csv",
	.summary = "a table: one row per stack, all its figures",
	.suffix = ".csv",
	.write = write_csv,
};
