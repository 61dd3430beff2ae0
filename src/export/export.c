/* export.c -- the table of formats. Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#include "export/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define COMPRESSED ".gz"

extern const struct export_format export_callgrind;
extern const struct export_format export_collapsed;
extern const struct export_format export_csv;
extern const struct export_format export_dhat;
extern const struct export_format export_dot;
extern const struct export_format export_flamegraph;
extern const struct export_format export_gprof2dot;
extern const struct export_format export_heaptrack;
extern const struct export_format export_json;
extern const struct export_format export_mallocprofiler;
extern const struct export_format export_massif;
extern const struct export_format export_pprof;
extern const struct export_format export_speedscope;

static const struct export_format *const formats[] = {
	&export_callgrind,  &export_collapsed,
	&export_csv,	    &export_dhat,
	&export_dot,	    &export_flamegraph,
	&export_gprof2dot,  &export_heaptrack,
	&export_json,	    &export_mallocprofiler,
	&export_massif,	    &export_pprof,
	&export_speedscope, NULL,
};

const struct export_format *export_get(size_t i)
{
	return formats[i];
}

const struct export_format *export_find(const char *name)
{
	const struct export_format *f;

	for (size_t i = 0; (f = export_get(i)); i++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	return length > wanted && strcmp(text + length - wanted, end) == 0;
}

/* The longest ending wins: a .speedscope.json is a .json too. */
static const struct export_format *find_longest(const char *path)
{
	const struct export_format *f, *best = NULL;

	for (size_t i = 0; (f = export_get(i)); i++)
		if (ends_in(path, f->suffix) && (!best || ends_in(f->suffix, best->suffix)))
			best = f;
	return best;
}

const struct export_format *export_find_by_suffix(const char *path)
{
	const struct export_format *found = find_longest(path);

	if (found || !ends_in(path, COMPRESSED))
		return found;
	char *inner = mem_copy_string(path);
	inner[strlen(inner) - strlen(COMPRESSED)] = '\0';
	found = find_longest(inner);
	free(inner);
	return found;
}

bool export_is_compressed(const struct export_format *f, const char *path)
{
	return ends_in(path, COMPRESSED) && !ends_in(f->suffix, COMPRESSED);
}

const char *export_get_program(const struct export_request *r)
{
	const struct profile *p = model_get_profile(r->model);
	const char *program = profile_string(p, p->run.program);

	if (*program)
		return program;
	return r->program_hint && *r->program_hint ? r->program_hint : "program";
}
