/* stack_report.c -- how deep the stacks of threads were. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/stack_report.h"

#include <inttypes.h>

#include "base/mem.h"
#include "report/human.h"
#include "report/names.h"
#include "report/wording.h"

#define STACKS_SHOWN 20u /* as many as there are threads in the table before it */

static int compare_depths(const void *left, const void *right)
{
	const struct profile_thread *a = *(const struct profile_thread *const *)left;
	const struct profile_thread *b = *(const struct profile_thread *const *)right;

	if (a->stack_deepest_bytes != b->stack_deepest_bytes)
		return a->stack_deepest_bytes > b->stack_deepest_bytes ? -1 : 1;
	return (a->serial > b->serial) - (a->serial < b->serial);
}

static void print_stack(FILE *out, const struct profile *p, const struct profile_thread *t,
			const struct style *style)
{
	char *name = names_escape(profile_string(p, t->name), style->utf8);
	char *input = names_escape(wording_get_input(p, t), style->utf8);

	fprintf(out, "  %7" PRIu32 "  %9s", t->tid, human_bytes(t->stack_deepest_bytes).text);
	fprintf(out, "  %9s  %9s", human_bytes(t->stack_resident_bytes).text,
		human_bytes(t->stack_reserved_bytes).text);
	fprintf(out, "  %s%s%s\n", name, *input ? " of " : "", input);
	free(name);
	free(input);
}

static void print_more(FILE *out, const struct profile_thread *const *rows, size_t count)
{
	uint64_t resident = 0;

	if (count <= STACKS_SHOWN)
		return;
	for (size_t i = STACKS_SHOWN; i < count; i++)
		resident += rows[i]->stack_resident_bytes;
	fprintf(out, "  ... %s more %s: %s resident\n", human_count(count - STACKS_SHOWN).text,
		count - STACKS_SHOWN == 1 ? "stack" : "stacks", human_bytes(resident).text);
}

void stack_report_print(FILE *out, const struct profile *p, const struct style *style)
{
	const struct profile_thread **rows = mem_new(p->threads.count + 1, sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < p->threads.count; i++)
		if (p->threads.at[i].stack_reserved_bytes)
			rows[count++] = &p->threads.at[i];
	qsort(rows, count, sizeof(*rows), compare_depths);
	if (count)
		fprintf(out, "\n%sStacks%s\n  %7s  %9s  %9s  %9s  name\n",
			style_ink(style, STYLE_TITLE), style_ink(style, STYLE_PLAIN), "tid",
			"deepest", "resident", "reserved");
	for (size_t i = 0; i < count && i < STACKS_SHOWN; i++)
		print_stack(out, p, rows[i], style);
	print_more(out, rows, count);
	free(rows);
}

void stack_report_add(struct json *j, const struct profile_thread *t)
{
	if (!t->stack_reserved_bytes)
		return;
	json_add_uint(j, "stack_reserved_bytes", t->stack_reserved_bytes);
	json_add_uint(j, "stack_resident_bytes", t->stack_resident_bytes);
	json_add_uint(j, "stack_deepest_bytes", t->stack_deepest_bytes);
}
