/* check_junit.c -- which limits hold, as XML for CI servers. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "report/check_junit.h"

#include <stdlib.h>

#include "report/check_text.h"
#include "report/names.h"

/* Text that XML takes in attributes and between tags. Line ends stay; names_escape has made all
 * other controls visible, which XML has no form for. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		const char *entity = NULL;
		if (*text == '&')
			entity = "&amp;";
		else if (*text == '<')
			entity = "&lt;";
		else if (*text == '>')
			entity = "&gt;";
		else if (*text == '"')
			entity = "&quot;";
		if (entity)
			fputs(entity, out);
		else
			fputc(*text, out);
	}
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	put_text(out, value);
	fputc('"', out);
}

static char *format_stacks(const struct check *c, const struct check_result *r)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = open_memstream(&text, &bytes);

	if (!memory)
		return mem_copy_string("");
	if (r->kind == CHECK_INTACT) {
		char *damage = names_escape(model_get_profile(c->model)->damage, true);
		fputs(damage, memory);
		free(damage);
	}
	check_text_print_stacks(memory, c, r, "", true);
	(void)fclose(memory);
	return text;
}

static void put_failure(FILE *out, const struct check *c, const struct check_result *r)
{
	char *value = check_text_value(r);
	char *stacks = format_stacks(c, r);

	fputs(">\n      <failure", out);
	put_attribute(out, "type", check_name(r->kind));
	put_attribute(out, "message", value);
	fputc('>', out);
	put_text(out, stacks);
	fputs("</failure>\n    </testcase>\n", out);
	free(value);
	free(stacks);
}

static void put_case(FILE *out, const struct check *c, const struct check_result *r,
		     const char *program)
{
	char *limit = check_text_limit(r);
	char *class = mem_format("midden.%s", program);

	fputs("    <testcase", out);
	put_attribute(out, "classname", class);
	put_attribute(out, "name", limit);
	put_attribute(out, "time", "0");
	if (r->failed)
		put_failure(out, c, r);
	else
		fputs("/>\n", out);
	free(limit);
	free(class);
}

void check_junit_print(FILE *out, const struct check *c)
{
	const struct profile *p = model_get_profile(c->model);
	char *program = names_escape(profile_string(p, p->run.program), true);

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n"
		"  <testsuite name=\"midden check\" tests=\"%zu\" failures=\"%zu\" errors=\"0\""
		" skipped=\"0\" time=\"0\">\n",
		c->results.count, c->failures, c->results.count, c->failures);
	for (size_t i = 0; i < c->results.count; i++)
		put_case(out, c, &c->results.at[i], program);
	fputs("  </testsuite>\n</testsuites>\n", out);
	free(program);
}
