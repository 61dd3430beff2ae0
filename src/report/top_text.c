/* top_text.c -- a table that is renewed while a program runs, as lines of text. Runs: offline,
 * called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/top_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "base/whole.h"
#include "model/interval.h"
#include "report/flat_text.h"
#include "report/human.h"
#include "report/names.h"

#define SECOND_NS      UINT64_C(1000000000)
#define COLUMNS_TAKEN  64u /* by the figures before a name */
#define COLUMNS_WITHIN 23u /* by an interval among them */
#define COLUMNS_LEAST  16u /* for a name, however narrow the screen */
#define FRAME_INDENT   4u

static bool is_sampled(const struct top_text *t)
{
	return model_get_profile(t->model)->run.sample_period != 0;
}

/* The interval of an estimate, or "" where all is counted; malloc'ed. */
static char *format_within(struct amount a)
{
	if (!interval_is_needed(a))
		return mem_copy_string("");
	struct interval within = interval_get_bytes(a);
	return mem_format("%s..%s", human_bytes(within.low).text, human_bytes(within.high).text);
}

static uint64_t per_second(uint64_t count, uint64_t span_ns)
{
	return span_ns ? whole_get((double)count * (double)SECOND_NS / (double)span_ns + 0.5) : 0;
}

/* A line that is no wider than the screen. */
static void print_line(FILE *out, const struct top_text *t, char *line)
{
	if (t->style.width && utf8_length(line) > t->style.width)
		names_shorten(line, t->style.width, t->style.utf8);
	fprintf(out, "%s\n", line);
	free(line);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void print_program(FILE *out, const struct top_text *t)
{
	const struct profile *p = model_get_profile(t->model);
	char *program = names_escape(profile_string(p, p->run.program), t->style.utf8);
	char *filter = names_escape(t->filter, t->style.utf8);

	print_line(out, t,
		   mem_format("%s (%u), %s, %s%s%s%s%s", program, p->run.pid,
			      profile_string(p, p->run.mode),
			      human_duration(p->run.duration_ns).text, *t->state ? ", " : "",
			      t->state, *filter ? ", only " : "", filter));
	free(program);
	free(filter);
}

static void print_memory(FILE *out, const struct top_text *t)
{
	const struct profile *p = model_get_profile(t->model);
	const struct ranking_figures *whole = &t->ranking->whole;
	uint64_t resident = p->points.count ? p->points.at[p->points.count - 1].rss_bytes : 0;
	bool marked = t->mark->start_unix_ns == p->run.start_unix_ns;

	char *within = format_within(whole->live);

	print_line(out, t,
		   mem_format("live %s%s%s%s in %s, %s since %s%s, peak %s, resident %s",
			      human_bytes(whole->live.bytes).text, *within ? " (" : "", within,
			      *within ? ")" : "", human_things(whole->live.blocks, "block").text,
			      human_bytes_change(whole->growth_bytes).text,
			      marked ? "" : "the start",
			      marked ? human_duration(t->mark->time_ns).text : "",
			      human_bytes(p->totals.peak_bytes).text, human_bytes(resident).text));
	free(within);
}

static void print_rates(FILE *out, const struct top_text *t)
{
	const struct profile *p = model_get_profile(t->model);
	const struct ranking *r = t->ranking;
	uint64_t lost = p->totals.lost_events;

	print_line(out, t,
		   mem_format("%s/s, %s/s; %s, %s%s%s",
			      human_things(per_second(r->whole.allocated.blocks, r->span_ns),
					   "allocation")
				      .text,
			      human_bytes(per_second(r->whole.allocated.bytes, r->span_ns)).text,
			      human_things(p->sites.count, "stack").text,
			      human_things(p->totals.threads, "thread").text, lost ? "; lost " : "",
			      lost ? human_things(lost, "event").text : ""));
}

void top_text_print_head(FILE *out, const struct top_text *t)
{
	print_program(out, t);
	print_memory(out, t);
	print_rates(out, t);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The column that rows are ordered by has a star. */
static const char *star(const struct top_text *t, enum ranking_key key)
{
	return t->key == key ? "*" : " ";
}

void top_text_print_titles(FILE *out, const struct top_text *t)
{
	print_line(out, t,
		   mem_format("%10s%s%*s%10s%s%11s%s%10s%s%10s%s%7s  %s", "live",
			      star(t, RANKING_LIVE), is_sampled(t) ? (int)COLUMNS_WITHIN : 0,
			      is_sampled(t) ? "95% within " : "", "blocks", star(t, RANKING_BLOCKS),
			      "growth", star(t, RANKING_GROWTH), "calls/s", star(t, RANKING_CALLS),
			      "bytes/s", star(t, RANKING_BYTES), t->by_stack ? "" : "stacks",
			      t->by_stack ? "stack" : "function"));
}

/* The figures that both kinds of lines begin with. */
static char *format_figures(const struct top_text *t, const struct ranking_row *row)
{
	const struct ranking_figures *f = &row->figures;
	uint64_t span_ns = t->ranking->span_ns;
	char *within = format_within(f->live);
	char *text = mem_format(
		"%10s %*s%s%10s %11s %10s %10s %7s", human_bytes(f->live.bytes).text,
		is_sampled(t) ? (int)COLUMNS_WITHIN - 1 : 0, within, is_sampled(t) ? " " : "",
		human_count(f->live.blocks).text, human_bytes_change(f->growth_bytes).text,
		human_count(per_second(f->allocated.blocks, span_ns)).text,
		human_bytes(per_second(f->allocated.bytes, span_ns)).text,
		t->by_stack ? "" : human_count(row->stacks).text);

	free(within);
	return text;
}

static unsigned get_room(const struct top_text *t, unsigned taken)
{
	if (!t->style.width)
		return 0;
	return t->style.width > taken + COLUMNS_LEAST ? t->style.width - taken : COLUMNS_LEAST;
}

static void print_label(FILE *out, const struct top_text *t, struct names_label *l, unsigned room)
{
	if (room)
		names_label_fit(l, room > 3 ? room - 3 : 0, t->style.utf8);
	fputs(l->name, out);
	if (*l->place)
		fprintf(out, " (%s)", l->place);
	fputc('\n', out);
	names_label_free(l);
}

void top_text_print_row(FILE *out, const struct top_text *t, const struct ranking_row *row)
{
	struct names_label l = flat_text_label(
		t->model, row->frame, t->by_stack ? FLAT_BY_LINE : FLAT_BY_FUNCTION, t->style.utf8);
	char *figures = format_figures(t, row);

	fprintf(out, "%s  ", figures);
	print_label(out, t, &l,
		    get_room(t, COLUMNS_TAKEN + 1 + (is_sampled(t) ? COLUMNS_WITHIN : 0)));
	free(figures);
}

void top_text_print_stack(FILE *out, const struct top_text *t, const struct ranking_row *row)
{
	const struct profile *p = model_get_profile(t->model);
	const char *directory = profile_string(p, p->run.directory);
	struct model_stack stack = {0};

	print_line(out, t, format_figures(t, row));
	model_get_stack(t->model, row->site, &stack);
	for (size_t i = 0; i < stack.frames.count; i++) {
		struct names_label l = names_label(model_get_frame(t->model, stack.frames.at[i]),
						   directory, t->style.utf8);

		fprintf(out, "%*s", FRAME_INDENT, "");
		print_label(out, t, &l, get_room(t, FRAME_INDENT));
	}
	vec_free(&stack.frames);
}
