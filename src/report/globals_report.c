/* globals_report.c -- global and thread-local variables as text or JSON. Runs: offline, called by
 * sheet and stats.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/globals_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/globals.h"
#include "report/human.h"
#include "report/names.h"

#define ROWS_LEAST    10u /* however small: in a program of many variables each has little */
#define COLUMNS_WIDTH 38u

struct printer {
	FILE *out;
	const struct globals_report *report;
	const struct profile *profile;
	const struct globals *globals;
	const struct style *style;
};

static bool has_look(const struct profile *p)
{
	return p->run.globals_time_ns != 0;
}

/* What is not known is no number. */
static struct human get_resident(const struct printer *p, uint64_t bytes, bool is_known)
{
	return has_look(p->profile) && is_known ? human_bytes(bytes) : (struct human){"-"};
}

static void print_sums(const struct printer *p)
{
	const struct globals *g = p->globals;

	fprintf(p->out, "%sVariables of %s%s\n", style_ink(p->style, STYLE_TITLE),
		human_things(g->objects.count, "object").text, style_ink(p->style, STYLE_PLAIN));
	fprintf(p->out, "  global        %10s in %s", human_bytes(g->shared.bytes).text,
		human_things(g->shared.variables, "variable").text);
	if (has_look(p->profile))
		fprintf(p->out, "; %s resident after %s",
			human_bytes(g->shared.resident_bytes).text,
			human_duration(p->profile->run.globals_time_ns).text);
	fprintf(p->out, "\n  thread-local  %10s in %s, in each of %s: %s\n",
		human_bytes(g->local.bytes).text, human_things(g->local.variables, "variable").text,
		human_things(g->threads, "thread").text,
		human_bytes(g->local.bytes * g->threads).text);
	if (!has_look(p->profile))
		fputs("  Nobody could look at its pages: it was killed, or called _exit. Sizes "
		      "only, "
		      "of objects on stacks.\n",
		      p->out);
}

/* At least so many percent of all. */
static bool is_shown(const struct printer *p, size_t i, uint64_t bytes)
{
	double share = 100.0 * (double)bytes;
	double whole = (double)(p->globals->shared.bytes + p->globals->local.bytes);

	if (p->report->limit)
		return i < p->report->limit;
	return i < ROWS_LEAST || share >= p->report->threshold * whole;
}

static void print_more(const struct printer *p, size_t more)
{
	if (more)
		fprintf(p->out, "... %s more\n", human_count(more).text);
}

static void print_objects(const struct printer *p)
{
	const struct globals *g = p->globals;
	size_t i;

	fprintf(p->out, "\n%s%10s  %10s  %10s  %9s  object%s\n", style_ink(p->style, STYLE_QUIET),
		"size", "resident", "per thread", "variables", style_ink(p->style, STYLE_PLAIN));
	for (i = 0; i < g->objects.count; i++) {
		const struct globals_object *o = &g->objects.at[i];

		if (!is_shown(p, i, o->shared.bytes + o->local.bytes))
			break;
		char *path = names_escape(o->path, p->style->utf8);
		fprintf(p->out, "%10s  %10s  %10s  %9s  %s\n", human_bytes(o->shared.bytes).text,
			get_resident(p, o->shared.resident_bytes, true).text,
			human_bytes(o->local.bytes).text,
			human_count(o->shared.variables + o->local.variables).text, path);
		free(path);
	}
	print_more(p, g->objects.count - i);
}

/* ---- variables ------------------------------------------------------------------------------- */

static const char *get_path(const struct profile *p, const struct profile_variable *v)
{
	const char *path = profile_string(p, p->modules.at[v->module].path);

	return *path ? path : profile_string(p, p->run.executable);
}

/* The caller frees. */
static char *get_name(const struct printer *p, const struct profile_variable *v)
{
	const char *name = profile_string(p->profile, v->name);

	if (*name)
		return names_escape(name, p->style->utf8);
	if (v->count)
		return mem_format("(%s)", human_things(v->count, "smaller one").text);
	return mem_copy_string("(no symbol tells)");
}

static void print_variable(const struct printer *p, const struct profile_variable *v)
{
	const char *file = names_base(profile_string(p->profile, v->file));
	char *name = get_name(p, v);
	char *section = names_escape(profile_string(p->profile, v->section), p->style->utf8);
	char *place = *file && v->line ? mem_format("%s:%" PRIu32, file, v->line)
				       : mem_copy_string(names_base(get_path(p->profile, v)));
	char *shown = names_escape(place, p->style->utf8);

	if (p->style->width)
		names_shorten(name,
			      p->style->width > COLUMNS_WIDTH + 20 ? p->style->width - COLUMNS_WIDTH
								   : 20,
			      p->style->utf8);
	fprintf(p->out, "%10s  %10s  %-12s  %s%s%s %s(%s", human_bytes(v->size_bytes).text,
		get_resident(p, v->resident_bytes, !v->is_thread_local).text, section,
		style_ink(p->style, STYLE_NAME), name, style_ink(p->style, STYLE_PLAIN),
		style_ink(p->style, STYLE_PLACE), shown);
	if (v->is_thread_local)
		fprintf(p->out, ", in each thread");
	fprintf(p->out, ")%s\n", style_ink(p->style, STYLE_PLAIN));
	free(name);
	free(section);
	free(place);
	free(shown);
}

static void print_variables(const struct printer *p)
{
	const struct profile *profile = p->profile;
	size_t i;

	fprintf(p->out, "\n%s%10s  %10s  %-12s  variable%s\n", style_ink(p->style, STYLE_QUIET),
		"size", "resident", "section", style_ink(p->style, STYLE_PLAIN));
	for (i = 0; i < profile->variables.count; i++) {
		if (!is_shown(p, i, profile->variables.at[i].size_bytes))
			break;
		print_variable(p, &profile->variables.at[i]);
	}
	print_more(p, profile->variables.count - i);
}

void globals_report_print(FILE *out, const struct globals_report *r, const struct style *style)
{
	struct globals g = {0};
	const struct printer p = {out, r, r->profile, &g, style};

	globals_build(&g, r->profile);
	print_sums(&p);
	print_objects(&p);
	print_variables(&p);
	globals_fini(&g);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_sum(struct json *j, const struct profile *p, const struct globals_sum *sum)
{
	json_add_uint(j, "variables", sum->variables);
	json_add_uint(j, "bytes", sum->bytes);
	if (has_look(p))
		json_add_uint(j, "resident_bytes", sum->resident_bytes);
}

static void add_local(struct json *j, const struct globals *g, const struct globals_sum *sum)
{
	json_add_uint(j, "thread_local_variables", sum->variables);
	json_add_uint(j, "thread_local_bytes", sum->bytes);
	json_add_uint(j, "thread_local_total_bytes", sum->bytes * g->threads);
}

static void add_object(struct json *j, const struct profile *p, const struct globals *g,
		       const struct globals_object *o)
{
	json_begin_object(j, NULL);
	json_add_string(j, "path", o->path);
	add_sum(j, p, &o->shared);
	add_local(j, g, &o->local);
	json_begin_list(j, "sections");
	for (size_t i = 0; i < o->sections.count; i++) {
		const struct globals_section *s = &o->sections.at[i];

		json_begin_object(j, NULL);
		json_add_string(j, "name", s->name);
		json_add_uint(j, "variables", s->sum.variables);
		json_add_uint(j, "bytes", s->sum.bytes);
		if (has_look(p) && !s->is_thread_local)
			json_add_uint(j, "resident_bytes", s->sum.resident_bytes);
		json_end_object(j);
	}
	json_end_list(j);
	json_end_object(j);
}

static void add_variable(struct json *j, const struct profile *p, const struct globals *g,
			 const struct profile_variable *v)
{
	const char *name = profile_string(p, v->name), *file = profile_string(p, v->file);

	json_begin_object(j, NULL);
	json_add_string(j, "name", name);
	json_add_string(j, "object", get_path(p, v));
	json_add_string(j, "section", profile_string(p, v->section));
	json_add_uint(j, "bytes", v->size_bytes);
	json_add_bool(j, "thread_local", v->is_thread_local);
	if (v->is_thread_local)
		json_add_uint(j, "total_bytes", v->size_bytes * g->threads);
	else if (has_look(p))
		json_add_uint(j, "resident_bytes", v->resident_bytes);
	if (*file) {
		json_add_string(j, "file", file);
		json_add_uint(j, "line", v->line);
	}
	if (!*name)
		json_add_uint(j, "count", v->count);
	json_end_object(j);
}

void globals_report_add(struct json *j, const struct profile *p, bool list)
{
	struct globals g = {0};

	if (!p->variables.count)
		return;
	globals_build(&g, p);
	json_begin_object(j, "globals");
	json_add_bool(j, "looked", has_look(p));
	if (has_look(p))
		json_add_uint(j, "time_ns", p->run.globals_time_ns);
	json_add_uint(j, "threads", g.threads);
	add_sum(j, p, &g.shared);
	add_local(j, &g, &g.local);
	json_begin_list(j, "objects");
	for (size_t i = 0; i < g.objects.count; i++)
		add_object(j, p, &g, &g.objects.at[i]);
	json_end_list(j);
	if (list) {
		json_begin_list(j, "list");
		for (size_t i = 0; i < p->variables.count; i++)
			add_variable(j, p, &g, &p->variables.at[i]);
		json_end_list(j);
	}
	json_end_object(j);
	globals_fini(&g);
}
