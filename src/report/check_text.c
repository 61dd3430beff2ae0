/* check_text.c -- which limits hold, as text. Runs: offline, called by cli and the other forms.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/check_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/fold.h"
#include "report/change.h"
#include "report/losses.h"
#include "report/names.h"
#include "report/wording.h"

static const char *const labels[CHECK_KINDS] = {
	[CHECK_INTACT] = "complete profile",
	[CHECK_LOST] = "lost events",
	[CHECK_PEAK] = "peak",
	[CHECK_LEAKED] = "leaked",
	[CHECK_UNREACHABLE] = "unreachable",
	[CHECK_ALLOCATIONS] = "allocations",
	[CHECK_TEMPORARY] = "temporary allocations",
	[CHECK_PEAK_GROWTH] = "growth of peak",
	[CHECK_LEAKED_GROWTH] = "growth of leaked",
	[CHECK_ALLOCATED_GROWTH] = "growth of allocated",
	[CHECK_CALLS_GROWTH] = "growth of calls",
};

static struct human print_amount(enum check_kind kind, uint64_t value)
{
	return check_is_bytes(kind) ? human_bytes(value) : human_count(value);
}

/* Parts of a million as a percentage, without zeroes at its end. */
static struct human print_percent(uint64_t parts)
{
	struct human h;
	int length = snprintf(h.text, sizeof(h.text), "%" PRIu64 ".%04" PRIu64, parts / 10000,
			      parts % 10000);

	while (h.text[length - 1] == '0')
		length--;
	if (h.text[length - 1] == '.')
		length--;
	(void)strcpy(h.text + length, "%");
	return h;
}

char *check_text_limit(const struct check_result *r)
{
	const char *label = labels[r->kind];

	if (r->kind == CHECK_INTACT || r->limit.value == UINT64_MAX)
		return mem_copy_string(label);
	if (check_is_growth(r->kind))
		return mem_format("%s at most %s", label, print_percent(r->limit.value).text);
	if (r->limit.relative)
		return mem_format("%s at most %s of all", label,
				  print_percent(r->limit.value).text);
	return mem_format("%s at most %s", label, print_amount(r->kind, r->limit.value).text);
}

/* Rounded sizes can hide that a limit was missed by little: then bytes are exact. */
static struct human print_exactly(const struct check_result *r, uint64_t value, uint64_t other)
{
	struct human h = print_amount(r->kind, value);
	size_t used;

	if (value == other || strcmp(h.text, print_amount(r->kind, other).text) != 0)
		return h;
	h = human_count(value);
	used = strlen(h.text);
	(void)snprintf(h.text + used, sizeof(h.text) - used, " byte%s", value == 1 ? "" : "s");
	return h;
}

static char *print_growth(const struct check_result *r)
{
	char *text =
		mem_format("%s before, %s now (%s)", print_exactly(r, r->before, r->value).text,
			   print_exactly(r, r->value, r->before).text,
			   change_relative(r->before, r->value).text);

	if (amount_is_zero(r->suppressed) && amount_is_zero(r->suppressed_before))
		return text;
	char *whole = mem_format("%s, and suppressed %s before, %s now", text,
				 human_bytes(r->suppressed_before.bytes).text,
				 human_bytes(r->suppressed.bytes).text);
	free(text);
	return whole;
}

static char *print_value(const struct check_result *r)
{
	if (r->kind == CHECK_INTACT)
		return mem_copy_string(r->value ? "damaged" : "yes");
	if (check_is_growth(r->kind))
		return print_growth(r);
	if (r->limit.relative)
		return mem_format("%s of %s (%s)", human_count(r->value).text,
				  human_count(r->whole).text, human_share(r->value, r->whole).text);
	if (!amount_is_zero(r->suppressed))
		return mem_format("%s, and %s suppressed",
				  print_exactly(r, r->value, r->limit.value).text,
				  human_bytes(r->suppressed.bytes).text);
	return mem_format("%s", print_exactly(r, r->value, r->limit.value).text);
}

char *check_text_value(const struct check_result *r)
{
	char *value = print_value(r);

	if (!r->unchecked)
		return value;
	char *safe = names_escape(r->unchecked, true);
	char *whole = mem_format("%s, but not all were looked at; not: %s", value, safe);

	free(safe);
	free(value);
	return whole;
}

static void print_stack_amount(FILE *out, const struct check_result *r, const struct check_stack *s)
{
	if (check_is_growth(r->kind)) {
		uint64_t before = check_is_bytes(r->kind) ? s->before.bytes : s->before.blocks;
		uint64_t now = check_is_bytes(r->kind) ? s->amount.bytes : s->amount.blocks;
		int64_t change = (int64_t)(now - before);
		fprintf(out, "%s, ",
			check_is_bytes(r->kind) ? change_bytes(change).text
						: change_count(change).text);
		fprintf(out, "%s before, ", print_amount(r->kind, before).text);
		fprintf(out, "%s now\n", print_amount(r->kind, now).text);
		return;
	}
	if (r->kind == CHECK_TEMPORARY)
		fprintf(out, "%s\n", human_things(s->amount.blocks, "call").text);
	else
		fprintf(out, "%s in %s\n", human_bytes(s->amount.bytes).text,
			human_things(s->amount.blocks, "block").text);
}

/* A line without its end. */
static void print_frame(FILE *out, const struct model *m, uint32_t id, const char *indent,
			bool utf8)
{
	const struct profile *p = model_get_profile(m);
	const struct model_frame *f = model_get_frame(m, id);
	struct names_label l = names_label(f, profile_string(p, p->run.directory), utf8);

	fprintf(out, "%s  %s%s%s%s%s", indent, l.name, *l.place ? " (" : "", l.place,
		*l.place ? ")" : "", f->inlined ? " [inlined]" : "");
	names_label_free(&l);
}

void check_text_print_stacks(FILE *out, const struct check *c, const struct check_result *r,
			     const char *indent, bool utf8)
{
	struct model_stack stack = {0};
	struct fold fold = {0};

	for (size_t i = 0; i < r->stacks.count; i++) {
		fputs(indent, out);
		print_stack_amount(out, r, &r->stacks.at[i]);
		model_get_stack(c->model, r->stacks.at[i].site, &stack);
		fold_stack(c->model, &stack, &fold);
		for (size_t k = 0; k < stack.frames.count; k++) {
			struct fold_mark mark = fold_get_mark(&fold, k);

			print_frame(out, c->model, stack.frames.at[k], indent, utf8);
			wording_print_recursion(out, mark.cycle, mark.repeats, mark.repeats);
			fputc('\n', out);
		}
	}
	vec_free(&stack.frames);
	fold_free(&fold);
}

static void print_result(FILE *out, const struct check *c, const struct check_result *r,
			 const struct style *style)
{
	char *limit = check_text_limit(r), *value = check_text_value(r);

	fprintf(out, "%s%-6s%s  %s: %s\n",
		style_ink(style, r->failed ? STYLE_WARNING : STYLE_PLAIN),
		r->failed ? "FAILED" : "ok", style_ink(style, STYLE_PLAIN), limit, value);
	check_text_print_stacks(out, c, r, "          ", style->utf8);
	free(limit);
	free(value);
}

void check_text_print(FILE *out, const struct check *c, const struct style *style)
{
	const struct profile *p = model_get_profile(c->model);
	char *program = names_escape(profile_string(p, p->run.program), style->utf8);

	losses_print(out, p, style);
	for (size_t i = 0; i < c->results.count; i++)
		print_result(out, c, &c->results.at[i], style);
	if (c->failures)
		fprintf(out, "%s: %s of %s %s not hold\n", program, human_count(c->failures).text,
			human_things(c->results.count, "limit").text,
			c->failures == 1 ? "does" : "do");
	else
		fprintf(out, "%s: all %s hold\n", program,
			human_things(c->results.count, "limit").text);
	free(program);
}
