/* viewing.c -- a profile made ready for the viewer's page. Runs: in the midden command, called by
 * `html` and `view`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/viewing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/message.h"
#include "model/findings.h"
#include "model/leaks.h"
#include "report/findings_report.h"
#include "report/globals_report.h"
#include "report/leaks_json.h"
#include "report/stats_json.h"

typedef void (*print_fn)(FILE *out, const struct model *m);

static void print_stats(FILE *out, const struct model *m)
{
	stats_json_print(out, m, &(struct stats_json_options){0});
}

static void print_findings(FILE *out, const struct model *m)
{
	struct findings *f = findings_build(m, NULL);
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	findings_report_add(&j, m, f);
	json_end_object(&j);
	findings_free(f);
}

static void print_globals(FILE *out, const struct model *m)
{
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	globals_report_add(&j, model_get_profile(m), true);
	json_end_object(&j);
}

/* The page has the rows in columns: here are the sums. */
static void print_leaks(FILE *out, const struct model *m)
{
	struct suppress_list known = {0};
	struct leaks l;

	suppress_add_known(&known);
	bool *suppressed = suppress_list_sites(&known, m);
	leaks_build(&l, m, suppressed, 0);
	leaks_json_print(out, &l);
	leaks_free(&l);
	free(suppressed);
	suppress_free(&known);
}

/* What a function prints, as a text; NULL if there is no memory for it. */
static char *text_of(print_fn print, const struct model *m)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	print(out, m);
	fclose(out);
	return text;
}

void viewing_init(struct viewing *v, struct profile *p, const struct load_options *load)
{
	struct model_options options = {0};

	v->profile = p;
	load_fill_model(load, &options);
	v->model = model_new(v->profile, &options);
	suppress_add_known(&v->suppress);
	v->stats = text_of(print_stats, v->model);
	v->findings = text_of(print_findings, v->model);
	v->leaks = p->run.lost_flags ? text_of(print_leaks, v->model) : NULL;
	v->globals = text_of(print_globals, v->model);
	v->request = (struct pack_request){
		.model = v->model,
		.suppress = &v->suppress,
		.texts = {.stats = v->stats,
			  .findings = v->findings,
			  .leaks = v->leaks,
			  .globals = v->globals},
	};
}

/* Where a file lies is nobody's business to whom its page is sent. */
static char *copy_name(const char *path)
{
	size_t end = strlen(path);
	size_t start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	return mem_format("%.*s", (int)(end - start), path + start);
}

int viewing_open(struct viewing *v, const char *file, const struct load_options *load)
{
	char *path = load_find(file);
	struct profile *p = path ? load_profile(path, load) : NULL;

	if (!p) {
		free(path);
		return COMMAND_FAILED;
	}
	load_globals(p, load);
	viewing_init(v, p, load);
	v->request.file = v->name = copy_name(path);
	free(path);
	return COMMAND_GOOD;
}

void viewing_close(struct viewing *v)
{
	if (v->model)
		model_free(v->model);
	if (v->profile)
		profile_free(v->profile);
	suppress_free(&v->suppress);
	free(v->name);
	free(v->stats);
	free(v->findings);
	free(v->leaks);
	free(v->globals);
	*v = (struct viewing){0};
}
