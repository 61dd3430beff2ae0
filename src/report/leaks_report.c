/* leaks_report.c -- what is lost, what is held, and by whom, as text. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/leaks_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/unchecked.h"
#include "report/human.h"
#include "report/names.h"
#include "report/wording.h"

#define FRAMES_OF_HOLDER 3u /* of a stack in a chain: what a reader needs to know the place */

static const char *const titles[PROFILE_LOST_CLASSES] = {
	[PROFILE_LOST_DEFINITE] = "lost",
	[PROFILE_LOST_INDIRECT] = "lost with another block",
	[PROFILE_LOST_INTERIOR] = "held by pointers to the inside only",
	[PROFILE_LOST_HELD] = "still reachable",
};

struct sheet_state {
	FILE *out;
	const struct leaks *leaks;
	const struct profile *profile;
	const struct style *style;
	struct model_stack stack;
};

/* ---- stacks ---------------------------------------------------------------------------------- */

static void print_frame(const struct sheet_state *s, uint32_t id, const char *indent)
{
	const struct model_frame *f = model_get_frame(s->leaks->model, id);
	const char *directory = profile_string(s->profile, s->profile->run.directory);
	struct names_label l = names_label(f, directory, s->style->utf8);

	fprintf(s->out, "%s%s%s%s", indent, style_ink(s->style, STYLE_NAME), l.name,
		style_ink(s->style, STYLE_PLAIN));
	if (*l.place)
		fprintf(s->out, "  %s%s%s", style_ink(s->style, STYLE_PLACE), l.place,
			style_ink(s->style, STYLE_PLAIN));
	fputc('\n', s->out);
	names_label_free(&l);
}

static void print_stack(struct sheet_state *s, uint32_t site, const char *indent, size_t most)
{
	model_get_stack(s->leaks->model, site, &s->stack);
	size_t count = s->stack.frames.count;

	for (size_t i = 0; i < count && i < most; i++)
		print_frame(s, s->stack.frames.at[i], indent);
	if (count > most)
		fprintf(s->out, "%s...\n", indent);
}

/* ---- chains ---------------------------------------------------------------------------------- */

static void print_root(const struct sheet_state *s, const struct profile_link *link)
{
	char *name = leaks_name_root(s->profile, link);
	char *safe = names_escape(name ? name : "", s->style->utf8);

	fprintf(s->out, "    %s %s\n", link->kind == PROFILE_LINK_CUT ? "over" : "from", safe);
	free(name);
	free(safe);
}

static void print_place(const struct sheet_state *s, const struct profile_link *link)
{
	const struct profile_link *holder = &s->profile->links.at[link->holder - 1];

	if (link->inside)
		fprintf(s->out, "    points to byte %" PRIu64 " of it:\n", link->inside);
	if (holder->kind == PROFILE_LINK_BLOCK)
		fprintf(s->out, "    at byte %" PRIu64 " of a block of\n", link->offset);
}

/* From the block outwards, to a root or to a block that is itself lost. */
static void print_chain(struct sheet_state *s, uint32_t row)
{
	const struct profile_link *link = &s->profile->links.at[row - 1];

	fprintf(s->out, "    %sheld%s\n", style_ink(s->style, STYLE_QUIET),
		style_ink(s->style, STYLE_PLAIN));
	while (link->holder) {
		if (link->kind == PROFILE_LINK_BLOCK)
			print_place(s, link);
		link = &s->profile->links.at[link->holder - 1];
		if (link->kind == PROFILE_LINK_BLOCK && link->site)
			print_stack(s, link->site - 1, "        ", FRAMES_OF_HOLDER);
		else
			print_root(s, link);
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_amount(FILE *out, struct amount a)
{
	fprintf(out, "%s in %s", human_bytes(a.bytes).text, human_things(a.blocks, "block").text);
}

static void print_line(const struct sheet_state *s, const char *title, struct amount a)
{
	fprintf(s->out, "  %-37s", title);
	print_amount(s->out, a);
	fputc('\n', s->out);
}

static void print_sums(const struct sheet_state *s)
{
	const struct leaks *l = s->leaks;

	for (unsigned i = 0; i < PROFILE_LOST_CLASSES; i++)
		print_line(s, titles[i], l->classes[i]);
	if (l->suppressed.blocks)
		print_line(s, "suppressed", l->suppressed);
}

/* Of which processes the answer is, where it is not of all. */
static void print_unchecked(const struct sheet_state *s)
{
	struct unchecked u;

	unchecked_list(&u, s->profile, NULL);
	if (u.rows.count) {
		char *text = unchecked_describe(&u, s->profile);
		char *safe = names_escape(text, s->style->utf8);

		fprintf(s->out, "%s%s of ", style_ink(s->style, STYLE_WARNING),
			u.looked_at ? human_count(u.looked_at).text : "An unknown number");
		fprintf(s->out, "%s processes %s looked at, and what the others lost is not known",
			human_count(u.processes).text, u.looked_at == 1 ? "was" : "were");
		fprintf(s->out, ": %s%s\n", safe, style_ink(s->style, STYLE_PLAIN));
		free(text);
		free(safe);
	}
	unchecked_free(&u);
}

/* What makes the answer less than it could be. */
static void print_doubts(const struct sheet_state *s)
{
	const struct profile_run *run = &s->profile->run;
	const char *ink = style_ink(s->style, STYLE_WARNING);
	const char *plain = style_ink(s->style, STYLE_PLAIN);
	const char *its = run->merge ? "their" : "its";

	print_unchecked(s);
	if (run->lost_flags & PROFILE_LOST_MOVING)
		fprintf(s->out,
			"%s%s threads could not be stopped: what only a register points to may be "
			"called lost.%s\n",
			ink, run->merge ? "Some" : "Its", plain);
	if (run->lost_flags & PROFILE_LOST_STRANGERS)
		fprintf(s->out,
			"%sNot all of %s blocks are known: what may be held by the others counts "
			"as reachable.%s\n",
			ink, its, plain);
	if (run->small_objects == PROFILE_SMALL_SAMPLED)
		fprintf(s->out,
			"%sSmall objects of Python are not among the blocks, as they are sampled: "
			"what they may hold counts as reachable. (--pymalloc=exact)%s\n",
			ink, plain);
	if (run->lost_unread_bytes)
		fprintf(s->out, "%s%s of %s memory could not be read.%s\n", ink,
			human_bytes(run->lost_unread_bytes).text, its, plain);
}

/* Several have no exit, no time and no pause in common. */
static void print_processes(const struct sheet_state *s)
{
	const struct profile *p = s->profile;
	uint64_t count = p->inputs.count;

	if (p->run.merge == PROFILE_MERGE_SUM && count > 1)
		fprintf(s->out, ", %s processes together", human_count(count).text);
	else
		fprintf(s->out, ", %s of %s", wording_get_merge(p->run.merge),
			human_things(count, "profile").text);
}

static void print_process(const struct sheet_state *s)
{
	const struct profile_run *run = &s->profile->run;

	fprintf(s->out, " (process %" PRIu32 "), %s, after %s", run->pid,
		run->lost_flags & PROFILE_LOST_AT_EXIT ? "at its exit" : "while it runs",
		human_duration(run->lost_time_ns).text);
	if (run->lost_pause_ns)
		fprintf(s->out, "; it was stopped for %s", human_duration(run->lost_pause_ns).text);
}

static void print_head(const struct sheet_state *s)
{
	const struct profile_run *run = &s->profile->run;
	char *program = names_escape(profile_string(s->profile, run->program), s->style->utf8);

	fprintf(s->out, "%s%s%s", style_ink(s->style, STYLE_TITLE), program,
		style_ink(s->style, STYLE_PLAIN));
	if (run->merge)
		print_processes(s);
	else
		print_process(s);
	fputs("\n", s->out);
	free(program);
	print_doubts(s);
	fputc('\n', s->out);
	print_sums(s);
}

static void print_row(struct sheet_state *s, const struct leaks_row *row)
{
	fprintf(s->out, "\n%s%s%s: ", style_ink(s->style, STYLE_TITLE), titles[row->lost->class],
		style_ink(s->style, STYLE_PLAIN));
	print_amount(s->out, row->amount);
	if (row->held.blocks) {
		fputs(", and with them ", s->out);
		print_amount(s->out, row->held);
	}
	fputc('\n', s->out);
	print_stack(s, row->lost->site, "    ", SIZE_MAX);
	if (row->lost->chain)
		print_chain(s, row->lost->chain);
}

void leaks_report_print(FILE *out, const struct leaks *l, size_t limit, const struct style *style)
{
	struct sheet_state s = {
		.out = out, .leaks = l, .profile = model_get_profile(l->model), .style = style};
	size_t shown[PROFILE_LOST_CLASSES] = {0};
	size_t left = 0;

	print_head(&s);
	for (size_t i = 0; i < l->rows.count; i++) {
		if (limit && shown[l->rows.at[i].lost->class] == limit) {
			left++;
			continue;
		}
		shown[l->rows.at[i].lost->class]++;
		print_row(&s, &l->rows.at[i]);
	}
	if (left)
		fprintf(out, "\n%s not shown (see --limit)\n", human_things(left, "stack").text);
	vec_free(&s.stack.frames);
}
