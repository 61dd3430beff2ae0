/* answer_text.c -- what was asked and what is left out, in words: the lines before a tree or table.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/answer_text.h"

#include <string.h>

#include "profile/trace.h"
#include "report/figures.h"
#include "report/human.h"
#include "report/names.h"
#include "report/wording.h"

static enum figures_sign sign_of(const struct answer *a)
{
	return a->view.figure == FIGURE_GROWTH ? FIGURES_GROWN : FIGURES_PLAIN;
}

static void print_amount(FILE *out, const struct answer *a, struct amount amount)
{
	figures_print_amount(out, amount, a->view.figure, sign_of(a));
}

/* ---- filters --------------------------------------------------------------------------------- */

/* "functions load*, main; " */
static void print_patterns(FILE *out, const char *what, const struct pattern_list *list, bool utf8)
{
	for (size_t i = 0; i < list->all.count; i++) {
		char *text = names_escape(pattern_get_text(list->all.at[i]), utf8);
		fprintf(out, "%s%s", i ? ", " : what, text);
		free(text);
	}
	if (list->all.count)
		fputs("; ", out);
}

static void print_sizes(FILE *out, const struct filter *f)
{
	if (f->size_min && f->has_size_max)
		fprintf(out, "blocks of %s to %s; ", human_bytes(f->size_min).text,
			human_bytes(f->size_max).text);
	else if (f->size_min)
		fprintf(out, "blocks of %s and more; ", human_bytes(f->size_min).text);
	else if (f->has_size_max)
		fprintf(out, "blocks of at most %s; ", human_bytes(f->size_max).text);
}

/* "  ! not in this profile: function foo, module libx" */
static void print_misses(FILE *out, const struct model *m, const struct filter *f,
			 const struct style *style)
{
	struct filter_misses misses = {0};

	filter_list_misses(f, m, &misses);
	for (size_t i = 0; i < misses.all.count; i++) {
		const struct filter_miss *miss = &misses.all.at[i];
		char *text = names_escape(pattern_get_text(miss->pattern), style->utf8);
		if (i == 0)
			fprintf(out,
				"%s  ! not in this profile: ", style_ink(style, STYLE_WARNING));
		fprintf(out, "%s%s %s", i ? ", " : "", miss->what, text);
		free(text);
	}
	if (misses.all.count)
		fprintf(out, "%s\n", style_ink(style, STYLE_PLAIN));
	vec_free(&misses.all);
}

void answer_text_print_filter(FILE *out, const struct model *m, const struct filter *f,
			      const struct style *style)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *line = filter_is_empty(f) ? NULL : open_memstream(&text, &bytes);

	if (!line)
		return;
	print_patterns(line, "stacks through ", &f->include, style->utf8);
	print_patterns(line, "not through ", &f->exclude, style->utf8);
	print_patterns(line, "in ", &f->modules, style->utf8);
	print_patterns(line, "not in ", &f->no_modules, style->utf8);
	print_patterns(line, "tags ", &f->tags, style->utf8);
	print_patterns(line, "threads ", &f->threads, style->utf8);
	print_sizes(line, f);
	(void)fclose(line);
	if (bytes > 2)
		text[bytes - 2] = '\0';
	fprintf(out, "  %sfilter       %s%s\n", style_ink(style, STYLE_WARNING), text,
		style_ink(style, STYLE_PLAIN));
	free(text);
	if (filter_spares_start(f, m))
		fputs("               frames of the C library that start the program or a thread "
		      "do not count as in it\n",
		      out);
	print_misses(out, m, f, style);
}

static const char *const reasons[FILTER_VERDICTS] = {
	[FILTER_FUNCTION] = "by function", [FILTER_MODULE] = "by module", [FILTER_TAG] = "by tag",
	[FILTER_SIZE] = "by size",	   [FILTER_THREAD] = "by thread",
};

static void print_part(FILE *out, const struct answer *a, enum filter_verdict verdict,
		       const struct style *style)
{
	const struct answer_part *part = &a->parts[verdict];

	if (part->sites == 0 || !reasons[verdict])
		return;
	fprintf(out, "  %sleft out     ", style_ink(style, STYLE_WARNING));
	print_amount(out, a, part->amount);
	fprintf(out, " of %s, %s%s\n", human_things(part->sites, "stack").text, reasons[verdict],
		style_ink(style, STYLE_PLAIN));
}

void answer_text_print_left_out(FILE *out, const struct answer *a, const struct style *style)
{
	for (unsigned i = 0; i < FILTER_VERDICTS; i++)
		print_part(out, a, (enum filter_verdict)i, style);
	if (a->sizes_traced)
		fputs("  sizes        told apart block by block, from the trace\n", out);
	if (a->mixed.sites == 0)
		return;
	fprintf(out, "  %smixed sizes  ", style_ink(style, STYLE_WARNING));
	print_amount(out, a, a->mixed.amount);
	fprintf(out, " of %s with blocks of other sizes too, counted whole%s%s\n",
		human_things(a->mixed.sites, "stack").text, style_ink(style, STYLE_PLAIN),
		trace_get_count(model_get_profile(a->model))
			? ""
			: " (record --trace tells them apart)");
}

/* ---- suppressed leaks ------------------------------------------------------------------------ */

struct rule_sum {
	struct amount amount;
	uint32_t rule;
};

static int compare_sums(const void *left, const void *right)
{
	const struct rule_sum *a = left, *b = right;

	if (a->amount.bytes != b->amount.bytes)
		return a->amount.bytes > b->amount.bytes ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

static size_t sum_rules(const struct answer *a, struct rule_sum *sums)
{
	const struct profile *p = model_get_profile(a->model);
	size_t used = 0;

	for (uint32_t i = 0; i < a->view.suppress->rules.count; i++)
		sums[i].rule = i;
	for (size_t i = 0; i < p->sites.count; i++) {
		if (a->rules[i] == UINT32_MAX)
			continue;
		struct rule_sum *sum = &sums[a->rules[i]];
		used += sum->amount.blocks == 0;
		sum->amount = amount_plus(sum->amount, figure_get(&p->sites.at[i], FIGURE_LEAKED));
	}
	qsort(sums, a->view.suppress->rules.count, sizeof(*sums), compare_sums);
	return used;
}

static void print_rule(FILE *out, const struct answer *a, const struct rule_sum *sum, bool utf8)
{
	const struct suppress_rule *rule = &a->view.suppress->rules.at[sum->rule];
	char *text = names_escape(rule->text, utf8);

	fputs("    ", out);
	print_amount(out, a, sum->amount);
	fprintf(out, ": %s%s%s\n", rule->known ? "" : "leak:", text,
		rule->known ? " (known to midden)" : "");
	free(text);
}

static void print_suppressed(FILE *out, const struct answer *a, const struct style *style)
{
	const struct answer_part *part = &a->parts[FILTER_SUPPRESSED];

	if (part->sites == 0)
		return;
	size_t count = a->view.suppress->rules.count;
	struct rule_sum *sums = mem_new(count, sizeof(*sums));
	size_t used = sum_rules(a, sums);

	fprintf(out, "%s  suppressed: ", style_ink(style, STYLE_WARNING));
	print_amount(out, a, part->amount);
	fprintf(out, " by %s%s\n", human_things(used, "rule").text, style_ink(style, STYLE_PLAIN));
	for (size_t i = 0; i < used; i++)
		print_rule(out, a, &sums[i], style->utf8);
	free(sums);
}

/* ---- titles ---------------------------------------------------------------------------------- */

static void print_moment(FILE *out, const struct moment *m)
{
	if (m->snapshot)
		fprintf(out, "snapshot %zu, %s", m->snapshot, human_duration(m->time_ns).text);
	else if (m->kind == MOMENT_PEAK)
		fprintf(out, "the peak, %s", human_duration(m->time_ns).text);
	else if (m->asked_ns == 0)
		fputs("the start", out);
	else
		fputs(human_duration(m->asked_ns).text, out);
}

/* The last point is the end itself, unless a damaged file has lost it. */
static bool is_end(const struct profile *p, const struct moment *m)
{
	if (m->kind == MOMENT_POINT)
		return m->time_ns >= p->run.duration_ns;
	return m->kind == MOMENT_TRACED && m->asked_ns > p->run.duration_ns;
}

static void print_end(FILE *out, const struct profile *p, const struct moment *m)
{
	fprintf(out, "  %s is ", human_duration(m->asked_ns).text);
	if (m->asked_ns > p->run.duration_ns)
		fprintf(out, "after the end of the recording, %s",
			human_duration(p->run.duration_ns).text);
	else
		fputs("the end of the recording", out);
}

/* "  at 1.50 s: point 7 of 512, taken at 1.49 s" */
static void print_state(FILE *out, const struct profile *p, const struct moment *m,
			const struct style *style)
{
	if (m->kind == MOMENT_PEAK || (m->kind == MOMENT_START && m->asked_ns == 0) || m->snapshot)
		return;
	fputs(style_ink(style, STYLE_QUIET), out);
	if (m->kind == MOMENT_START)
		fprintf(out, "  %s is before the first point of the time line: nothing is live",
			human_duration(m->asked_ns).text);
	else if (is_end(p, m))
		print_end(out, p, m);
	else if (m->kind == MOMENT_TRACED)
		fprintf(out, "  %s exactly, from the trace", human_duration(m->asked_ns).text);
	else
		fprintf(out, "  %s is point %s of %s on the time line, taken at %s",
			human_duration(m->asked_ns).text, human_count(m->point + 1).text,
			human_count(p->points.count).text, human_duration(m->time_ns).text);
	fprintf(out, "%s\n", style_ink(style, STYLE_PLAIN));
}

static void print_kept(FILE *out, const struct answer *a)
{
	struct amount kept = a->parts[FILTER_KEPT].amount;

	fputs(": ", out);
	print_amount(out, a, kept);
	if (kept.bytes != a->whole.bytes || kept.blocks != a->whole.blocks) {
		fputs(" (of ", out);
		print_amount(out, a, a->whole);
		fputc(')', out);
	}
}

static void print_heading(FILE *out, const struct answer *a)
{
	const struct view *v = &a->view;

	fputs(wording_get_title(v->figure), out);
	if (v->figure == FIGURE_LIVE || v->figure == FIGURE_GROWTH)
		fputs(v->figure == FIGURE_LIVE ? " at " : " from ", out);
	if (v->figure == FIGURE_GROWTH) {
		print_moment(out, &v->from);
		fputs(" to ", out);
	}
	if (v->figure == FIGURE_LIVE || v->figure == FIGURE_GROWTH)
		print_moment(out, &v->at);
	print_kept(out, a);
}

static void print_difference(FILE *out, const struct answer *a, const struct style *style)
{
	if (model_get_profile(a->model)->run.sample_period) {
		if (!amount_is_zero(a->counted) && !a->counted.period) {
			fputs("  exactly ", out);
			print_amount(out, a, a->counted);
			fputs(", counted\n", out);
		}
		return;
	}
	if (a->whole.bytes == a->counted.bytes && a->whole.blocks == a->counted.blocks)
		return;
	fprintf(out, "%s  ! the recorder counted ", style_ink(style, STYLE_WARNING));
	print_amount(out, a, a->counted);
	fprintf(out, ": the difference has no stack%s\n", style_ink(style, STYLE_PLAIN));
}

/* A reservation can be larger than all the rest, and is no memory. */
static void print_reserved(FILE *out, const struct answer *a, const struct style *style)
{
	const struct profile *p = model_get_profile(a->model);
	struct amount sum = {0};
	bool has_others = false;

	for (size_t i = 0; p->of_maps && i < p->sites.count; i++) {
		if (p->sites.at[i].kind == PROFILE_MAP_RESERVED)
			sum = amount_plus(sum, a->amounts[i]);
		else
			has_others = has_others || !amount_is_zero(a->amounts[i]);
	}
	if (!has_others || amount_is_zero(sum))
		return;
	fprintf(out, "%s  of it ", style_ink(style, STYLE_QUIET));
	print_amount(out, a, sum);
	fprintf(out, " only reserved; --maps=anonymous, file, ... show one kind%s\n",
		style_ink(style, STYLE_PLAIN));
}

void answer_text_print_title(FILE *out, const struct answer *a, const struct style *style)
{
	const struct profile *p = model_get_profile(a->model);

	fputs(style_ink(style, STYLE_TITLE), out);
	print_heading(out, a);
	fprintf(out, "%s\n", style_ink(style, STYLE_PLAIN));
	if (a->view.figure == FIGURE_GROWTH)
		print_state(out, p, &a->view.from, style);
	if (a->view.figure == FIGURE_LIVE || a->view.figure == FIGURE_GROWTH)
		print_state(out, p, &a->view.at, style);
	if (a->view.figure == FIGURE_OWN_PEAK)
		fprintf(out, "  each at its own time; the most that was held at once is %s\n",
			human_bytes(p->totals.peak_bytes).text);
	print_reserved(out, a, style);
	print_difference(out, a, style);
	print_suppressed(out, a, style);
}

bool answer_text_is_empty(const struct answer *a)
{
	return a->parts[FILTER_KEPT].sites == 0;
}

void answer_text_print_empty(FILE *out, const struct answer *a)
{
	if (a->parts[FILTER_SUPPRESSED].sites)
		fputs("Nothing else leaked.\n", out);
	else if (!amount_is_zero(a->whole))
		fputs("The filter leaves nothing.\n", out);
	else
		fprintf(out, "%s\n",
			wording_get_empty(model_get_profile(a->model), a->view.figure));
}
