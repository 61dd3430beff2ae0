/* types_report.c -- Python's live objects by type, as text or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/types_report.h"

#include <stdlib.h>

#include "report/human.h"
#include "report/names.h"
#include "report/rss_report.h"

#define ROWS_LEAST 10u /* however small: a program has some hundred types */

struct printer {
	FILE *out;
	const struct types_report *report;
	const struct style *style;
	struct instances found;
};

/* Of objects and of what is none. */
static uint64_t get_whole(const struct instances *found)
{
	return found->bytes + found->others.bytes;
}

static void print_title(const struct printer *p)
{
	const struct types_report *r = p->report;

	fprintf(p->out, "%sObjects by type, ", style_ink(p->style, STYLE_TITLE));
	rss_report_print_moment(p->out, r->profile, r->survey, p->style);
	fprintf(p->out, "%s\n", style_ink(p->style, STYLE_PLAIN));
	rss_report_print_others(p->out, r->profile, r->survey);
	fprintf(p->out, "  %s of %s: %s", human_bytes(p->found.bytes).text,
		human_things(p->found.objects, "object").text,
		human_things(p->found.count, "type").text);
	fputs(p->found.is_estimate ? "; estimates, of samples\n" : "\n", p->out);
}

static void print_figures(const struct printer *p, const struct profile_type *t)
{
	fprintf(p->out, "%10s  %7s  ", human_bytes(t->bytes).text,
		human_share(t->bytes, get_whole(&p->found)).text);
	if (p->found.is_estimate)
		fprintf(p->out, "%11s  ",
			t->bytes_deviation ? human_bytes(2 * t->bytes_deviation).text : "");
	fprintf(p->out, "%11s  %8s  ", human_count(t->objects).text,
		human_bytes(t->objects ? t->bytes / t->objects : 0).text);
}

static bool is_shown(const struct printer *p, size_t i)
{
	const struct types_report *r = p->report;
	double share = 100.0 * (double)p->found.types[i].bytes;

	return (!r->limit || i < r->limit) &&
	       (i < ROWS_LEAST || share >= r->threshold * (double)get_whole(&p->found));
}

static void print_rows(const struct printer *p)
{
	struct profile_type rest = {.objects = p->found.objects, .bytes = p->found.bytes};
	size_t i;

	for (i = 0; i < p->found.count && is_shown(p, i); i++) {
		const struct profile_type *t = &p->found.types[i];
		char *name =
			names_escape(profile_string(p->report->profile, t->name), p->style->utf8);

		print_figures(p, t);
		fprintf(p->out, "%s%s%s\n", style_ink(p->style, STYLE_NAME), name,
			style_ink(p->style, STYLE_PLAIN));
		free(name);
		rest.bytes -= t->bytes;
		rest.objects -= t->objects;
	}
	if (i < p->found.count) {
		print_figures(p, &rest);
		fprintf(p->out, "... %s more\n", human_count(p->found.count - i).text);
	}
	print_figures(p, &p->found.others);
	fputs("no objects: tables of dicts, items of lists, memory of C code\n", p->out);
}

void types_report_print(FILE *out, const struct types_report *r, const struct style *style)
{
	struct printer p = {.out = out, .report = r, .style = style};

	instances_get(&p.found, r->profile, r->survey);
	print_title(&p);
	fprintf(out, "\n%s%10s  %7s  %s%11s  %8s  type%s\n", style_ink(style, STYLE_QUIET), "bytes",
		"of live", p.found.is_estimate ? "         +-  " : "", "objects", "each",
		style_ink(style, STYLE_PLAIN));
	print_rows(&p);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_figures(struct json *j, const struct profile_type *t)
{
	json_add_uint(j, "objects", t->objects);
	json_add_uint(j, "bytes", t->bytes);
	if (!t->bytes_deviation)
		return;
	json_add_uint(j, "objects_deviation", t->objects_deviation);
	json_add_uint(j, "bytes_deviation", t->bytes_deviation);
}

void types_report_add(struct json *j, const struct profile *p, size_t survey)
{
	struct instances found;

	instances_get(&found, p, survey);
	rss_report_add_survey(j, "look", p, survey);
	json_begin_list(j, "types");
	for (size_t i = 0; i < found.count; i++) {
		json_begin_object(j, NULL);
		json_add_string(j, "type", profile_string(p, found.types[i].name));
		add_figures(j, &found.types[i]);
		json_end_object(j);
	}
	json_end_list(j);
	json_begin_object(j, "no_objects");
	json_add_uint(j, "blocks", found.others.objects);
	json_add_uint(j, "bytes", found.others.bytes);
	json_end_object(j);
}
