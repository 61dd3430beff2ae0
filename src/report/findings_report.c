/* findings_report.c -- what to look at first, as text or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "report/findings_report.h"

#include <string.h>

#include "base/whole.h"
#include "model/fold.h"
#include "model/origin.h"
#include "report/human.h"
#include "report/names.h"
#include "report/tree_json.h"
#include "report/wording.h"

#define SHORT_LIST   3u
#define FRAMES_SHOWN 8u /* of a stack; more only up to the program's own code */

struct teller {
	FILE *out;
	const struct model *model;
	const struct style *style;
};

/* ---- what it is ------------------------------------------------------------------------------ */

static void tell_growing_leak(FILE *out, const struct finding *f)
{
	uint64_t span = f->span_ns ? f->span_ns : 1;
	unsigned __int128 wide = (unsigned __int128)f->amount.bytes * 1000000000U / span;
	uint64_t rate = wide < UINT64_MAX ? (uint64_t)wide : UINT64_MAX;

	fputs("a leak that grows: ", out);
	wording_print_amount(out, f->amount, FIGURE_LEAKED);
	fprintf(out, ", about %s more every second", human_bytes(rate).text);
}

static void tell_temporary(FILE *out, const struct finding *f)
{
	fprintf(out, "temporary blocks in a loop: %s of %s %s freed before the next",
		human_count(f->calls).text, human_things(f->amount.blocks, "allocation").text,
		f->calls == 1 ? "was" : "were");
}

static void tell_regrown(FILE *out, const struct finding *f)
{
	fprintf(out, "blocks that grow step by step: %s, from %s up to %s",
		human_things(f->calls, "time").text, human_bytes(f->size_min).text,
		human_bytes(f->size_max).text);
}

static void tell_tiny(FILE *out, const struct finding *f)
{
	fprintf(out, "many tiny blocks: %s of %s", human_count(f->amount.blocks).text,
		human_bytes(f->size_min).text);
	if (f->size_max > f->size_min)
		fprintf(out, " to %s", human_bytes(f->size_max).text);
	fputs(" at the peak", out);
}

static void tell_left_behind(FILE *out, const struct finding *f)
{
	wording_print_amount(out, f->amount, FIGURE_LEAKED);
	fprintf(out, " left behind: alive for %s after the other %s %s freed",
		human_duration(f->span_ns).text, human_count(f->freed).text,
		f->freed == 1 ? "was" : "were");
}

/* ---- what shows it, and what it would save --------------------------------------------------- */

static void prove_growing_leak(FILE *out, const struct finding *f)
{
	fprintf(out,
		"not freed after each quarter of the recording: %s, %s, %s, %s; freeing them would "
		"save all of it",
		human_bytes(f->quarters[0]).text, human_bytes(f->quarters[1]).text,
		human_bytes(f->quarters[2]).text, human_bytes(f->quarters[3]).text);
}

static void prove_temporary(FILE *out, const struct finding *f)
{
	fprintf(out,
		"they are %s of all allocations, of %s on average; one block that is used again "
		"would save %s of malloc and free",
		human_share(whole_get(f->weight * 1e6), 1000000).text,
		human_bytes(f->amount.blocks ? f->amount.bytes / f->amount.blocks : 0).text,
		human_things(f->calls, "call").text);
}

static void prove_regrown(FILE *out, const struct finding *f)
{
	fprintf(out,
		"%s were given up on the way; room for all from the beginning (reserve) would save "
		"up to %s and as many copies",
		human_bytes(f->saved_bytes).text, human_things(f->calls, "call").text);
}

static void prove_tiny(FILE *out, const struct finding *f)
{
	fprintf(out,
		"they hold %s; glibc's malloc adds %s to that, which an array or a pool of them "
		"would save",
		human_bytes(f->amount.bytes).text, human_bytes(f->saved_bytes).text);
}

static void prove_left_behind(FILE *out, const struct finding *f)
{
	fprintf(out, "unchanged since %s; freeing with the others would save %s from then on",
		human_duration(f->since_ns).text, human_bytes(f->saved_bytes).text);
}

struct telling {
	void (*tell)(FILE *out, const struct finding *f);
	void (*prove)(FILE *out, const struct finding *f);
};

static const struct telling tellings[FINDING_KINDS] = {
	[FINDING_GROWING_LEAK] = {tell_growing_leak, prove_growing_leak},
	[FINDING_TEMPORARY] = {tell_temporary, prove_temporary},
	[FINDING_REGROWN] = {tell_regrown, prove_regrown},
	[FINDING_TINY] = {tell_tiny, prove_tiny},
	[FINDING_LEFT_BEHIND] = {tell_left_behind, prove_left_behind},
};

/* ---- where ----------------------------------------------------------------------------------- */

static void print_frame(const struct teller *t, uint32_t id, bool to_look_at)
{
	const struct profile *p = model_get_profile(t->model);
	struct names_label l = names_label(model_get_frame(t->model, id),
					   profile_string(p, p->run.directory), t->style->utf8);

	if (t->style->width)
		names_label_fit(&l, t->style->width > 9 ? t->style->width - 9 : 0, t->style->utf8);
	fprintf(t->out, "%s%s%s%s%s", to_look_at ? "   > " : "     ",
		style_ink(t->style, STYLE_NAME), l.name, style_ink(t->style, STYLE_PLAIN),
		*l.place ? " (" : "");
	fprintf(t->out, "%s%s\n", l.place, *l.place ? ")" : "");
	names_label_free(&l);
}

/* The end of the stack where the blocks are allocated, at least up to the program's own code. */
static void print_stack(const struct teller *t, const struct finding *f)
{
	struct model_stack stack = {0};
	struct fold fold = {0};

	model_get_stack(t->model, f->site, &stack);
	fold_stack(t->model, &stack, &fold);
	fold_free(&fold);
	size_t own = origin_find_own(t->model, &stack);
	size_t shown = own + 3 > FRAMES_SHOWN ? own + 3 : FRAMES_SHOWN;
	for (size_t i = 0; i < stack.frames.count && i < shown; i++)
		print_frame(t, stack.frames.at[i], i == own);
	if (stack.frames.count > shown)
		fprintf(t->out, "     ... %s more\n", human_count(stack.frames.count - shown).text);
	if (f->sites > 1)
		fprintf(t->out, "     and %s more %s through the same place\n",
			human_count(f->sites - 1).text, f->sites == 2 ? "stack" : "stacks");
	vec_free(&stack.frames);
}

static void print_place(const struct teller *t, const struct finding *f)
{
	const struct profile *p = model_get_profile(t->model);
	struct model_stack stack = {0};

	model_get_stack(t->model, f->site, &stack);
	uint32_t id = stack.frames.at[origin_find_own(t->model, &stack)];
	struct names_label l = names_label(model_get_frame(t->model, id),
					   profile_string(p, p->run.directory), t->style->utf8);
	fprintf(t->out, "%s%s%s%s", l.name, *l.place ? " (" : "", l.place, *l.place ? ")" : "");
	names_label_free(&l);
	vec_free(&stack.frames);
}

/* Prints words from column 3 on, in as many lines as the terminal needs. */
static void print_wrapped(const struct teller *t, char *text)
{
	unsigned width = t->style->width > 40 ? t->style->width : 0, used = 2;
	char *rest = NULL;

	fputs("  ", t->out);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		unsigned length = (unsigned)strlen(word) + 1;
		if (width && used + length > width) {
			fputs("\n  ", t->out);
			used = 2;
		}
		fprintf(t->out, " %s", word);
		used += length;
	}
	fputc('\n', t->out);
}

static void print_finding(const struct teller *t, const struct finding *f, size_t number)
{
	char *proof = NULL;
	size_t bytes = 0;
	FILE *page = open_memstream(&proof, &bytes);

	fprintf(t->out, "%s%zu. ", style_ink(t->style, STYLE_TITLE), number);
	tellings[f->kind].tell(t->out, f);
	fprintf(t->out, "%s\n", style_ink(t->style, STYLE_PLAIN));
	if (page) {
		tellings[f->kind].prove(page, f);
		(void)fclose(page);
		print_wrapped(t, proof);
	}
	free(proof);
	print_stack(t, f);
}

void findings_report_print(FILE *out, const struct model *m, const struct findings *f,
			   const struct style *style)
{
	struct teller t = {out, m, style};

	if (f->list.count == 0)
		fputs("Nothing to report: no habit that costs much was found.\n", out);
	for (size_t i = 0; i < f->list.count; i++) {
		if (i)
			fputc('\n', out);
		print_finding(&t, &f->list.at[i], i + 1);
	}
	if (!f->has_time_line)
		fputs("The recording is too short to tell which leaks grow.\n", out);
	else if (f->other_leaks.blocks) {
		fputs("Other leaks, which do not grow steadily: ", out);
		wording_print_amount(out, f->other_leaks, FIGURE_LEAKED);
		fputc('\n', out);
	}
}

void findings_report_print_short(FILE *out, const struct model *m, const struct findings *f,
				 const struct style *style)
{
	struct teller t = {out, m, style};

	if (f->list.count == 0)
		return;
	fprintf(out, "%sFindings%s (--findings for the evidence)\n", style_ink(style, STYLE_TITLE),
		style_ink(style, STYLE_PLAIN));
	for (size_t i = 0; i < f->list.count && i < SHORT_LIST; i++) {
		fputs("  ", out);
		tellings[f->list.at[i].kind].tell(out, &f->list.at[i]);
		fputs(" in ", out);
		print_place(&t, &f->list.at[i]);
		fputc('\n', out);
	}
	if (f->list.count > SHORT_LIST)
		fprintf(out, "  ... %s more\n", human_count(f->list.count - SHORT_LIST).text);
}

static void add_finding(struct json *j, const struct model *m, const struct finding *f)
{
	json_begin_object(j, NULL);
	json_add_string(j, "kind", findings_get_name(f->kind));
	json_add_real(j, "weight", f->weight);
	json_add_uint(j, "stacks", f->sites);
	json_add_uint(j, "bytes", f->amount.bytes);
	json_add_uint(j, "blocks", f->amount.blocks);
	json_add_uint(j, "calls", f->calls);
	json_add_uint(j, "size_min", f->size_min);
	json_add_uint(j, "size_max", f->size_max);
	json_add_uint(j, "saved_bytes", f->saved_bytes);
	json_add_uint(j, "since_ns", f->since_ns);
	json_add_uint(j, "span_ns", f->span_ns);
	tree_json_add_own_stack(j, m, f->site);
	json_end_object(j);
}

void findings_report_add(struct json *j, const struct model *m, const struct findings *f)
{
	json_begin_list(j, "findings");
	for (size_t i = 0; i < f->list.count; i++)
		add_finding(j, m, &f->list.at[i]);
	json_end_list(j);
	json_add_bool(j, "has_time_line", f->has_time_line);
	json_add_uint(j, "other_leaked_bytes", f->other_leaks.bytes);
	json_add_uint(j, "other_leaked_blocks", f->other_leaks.blocks);
}
