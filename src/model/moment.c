/* moment.c -- a time in a recording, and what was live then. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/moment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/replay.h"
#include "model/snapshots.h"
#include "profile/trace.h"

#define SNAPSHOT  MOMENT_SNAPSHOT
#define LATEST_NS 1e18 /* later than any recording, and far from overflow */

struct unit {
	const char *name;
	double ns;
};

static const struct unit units[] = {
	{"", 1e9},  {"s", 1e9},	   {"ms", 1e6},	  {"us", 1e3},
	{"ns", 1.}, {"min", 60e9}, {"h", 3600e9}, {NULL, 0},
};

static const struct unit *find_unit(const char *name)
{
	const struct unit *u = units;

	while (u->name && strcmp(u->name, name) != 0)
		u++;
	return u->name ? u : NULL;
}

static bool parse_number(const char *text, struct moment_name *name)
{
	char *end;
	double value = strtod(text, &end);
	const struct unit *unit = find_unit(end);
	bool percent = strcmp(end, "%") == 0 && value <= 100;

	if (end == text || !isfinite(value) || value < 0 || (!unit && !percent))
		return false;
	*name = percent ? (struct moment_name){.kind = MOMENT_AT_PERCENT, .value = value}
			: (struct moment_name){.kind = MOMENT_AT_NS, .value = value * unit->ns};
	return true;
}

static bool parse_word(const char *text, struct moment_name *name)
{
	if (strcmp(text, "@start") == 0)
		name->kind = MOMENT_AT_START;
	else if (strcmp(text, "@peak") == 0)
		name->kind = MOMENT_AT_PEAK;
	else if (strcmp(text, "@end") == 0)
		name->kind = MOMENT_AT_END;
	else if (strncmp(text, SNAPSHOT, strlen(SNAPSHOT)) == 0 && text[strlen(SNAPSHOT)])
		*name = (struct moment_name){.kind = MOMENT_AT_SNAPSHOT,
					     .text = text + strlen(SNAPSHOT)};
	else
		return false;
	return true;
}

/* What could be a time with a slip in it is no name. */
static bool parse_name(const char *text, struct moment_name *name)
{
	if (!*text || strchr("@0123456789.+-", *text))
		return false;
	*name = (struct moment_name){.kind = MOMENT_AT_SNAPSHOT, .text = text, .is_bare = true};
	return true;
}

int moment_parse(const char *text, struct moment_name *name, struct error *e)
{
	*name = (struct moment_name){0};
	if (parse_word(text, name) || parse_number(text, name) || parse_name(text, name))
		return 0;
	return error_set(e,
			 "\"%s\" is not a time: 1.5s, 200ms, 50%%, @start, @peak, @end or " SNAPSHOT
			 "NAME",
			 text);
}

int moment_parse_span(const char *text, struct moment_name names[2], struct error *e)
{
	const char *dots = strstr(text, "..");

	if (!dots)
		return error_set(e, "\"%s\" is not a span of time: T1..T2", text);
	char *first = mem_format("%.*s", (int)(dots - text), text);
	int status = moment_parse(*first ? first : "@start", &names[0], e);
	if (names[0].text) { /* not in the copy */
		names[0].text = text + (names[0].text - first);
		names[0].text_bytes = (size_t)(dots - names[0].text);
	}
	free(first);
	return status == 0 ? moment_parse(dots[2] ? dots + 2 : "@end", &names[1], e) : status;
}

/* The last point at or before a time. */
static struct moment find_point(const struct profile *p, uint64_t ns)
{
	struct moment m = {.kind = MOMENT_START, .asked_ns = ns};
	size_t low = 0, high = p->points.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->points.at[middle].time_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return m;
	m.kind = MOMENT_POINT;
	m.point = low - 1;
	m.time_ns = p->points.at[m.point].time_ns;
	return m;
}

bool moment_has_lost_stacks(const struct profile *p)
{
	return p->damaged && p->changes.count == 0 && p->totals.allocations;
}

/* A damaged file may have lost what a moment is looked up in. */
static int check_time_line(const struct profile *p, struct error *e)
{
	if (p->points.count == 0)
		return error_set(e, "the profile has no time line");
	if (moment_has_lost_stacks(p))
		return error_set(e, "the stacks over time are missing from this file");
	return 0;
}

static uint64_t find_ns(const struct profile *p, const struct moment_name *name)
{
	double ns = name->value;

	if (name->kind == MOMENT_AT_PERCENT)
		ns = ns / 100 * (double)p->run.duration_ns;
	return (uint64_t)(ns < LATEST_NS ? ns : LATEST_NS);
}

/* The very moment, if the trace has it; else, or where the trace is damaged, the point stands. */
static void use_trace(const struct profile *p, struct moment *m)
{
	struct error ignored = {0};
	struct replay r;

	if (!trace_get_count(p) || m->asked_ns == m->time_ns ||
	    replay_init(&r, p, m->asked_ns, &ignored) != 0)
		return;
	if (r.exact)
		*m = (struct moment){.kind = MOMENT_TRACED,
				     .asked_ns = m->asked_ns,
				     .time_ns = m->asked_ns,
				     .total = r.whole};
	replay_fini(&r);
}

static bool has_snapshot(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->snapshots.count; i++)
		if (strcmp(profile_string(p, p->snapshots.at[i].name), name) == 0)
			return true;
	return false;
}

static int find_snapshot(const struct profile *p, const struct moment_name *name, struct moment *m,
			 struct error *e)
{
	size_t bytes = name->text_bytes ? name->text_bytes : strlen(name->text);
	char *text = mem_format("%.*s", (int)bytes, name->text);
	long i = name->is_bare && !has_snapshot(p, text)
			 ? error_set(e,
				     "\"%s\" is not a time (1.5s, 200ms, 50%%, @start, @peak, "
				     "@end), and there is no snapshot of that name",
				     text)
			 : snapshots_find(p, text, e);

	free(text);
	if (i >= 0)
		*m = snapshots_get_moment(p, (size_t)i);
	return i < 0 ? -1 : 0;
}

int moment_find(const struct profile *p, const struct moment_name *name, struct moment *m,
		struct error *e)
{
	uint64_t peak = p->totals.peak_time_ns;

	if (check_time_line(p, e) != 0)
		return -1;
	if (name->kind == MOMENT_AT_SNAPSHOT)
		return find_snapshot(p, name, m, e);
	if (name->kind == MOMENT_AT_START)
		*m = (struct moment){.kind = MOMENT_START};
	else if (name->kind == MOMENT_AT_PEAK)
		*m = (struct moment){.kind = MOMENT_PEAK, .asked_ns = peak, .time_ns = peak};
	else
		*m = find_point(p, name->kind == MOMENT_AT_END ? UINT64_MAX : find_ns(p, name));
	if (name->kind == MOMENT_AT_END)
		m->asked_ns = m->time_ns;
	if (name->kind == MOMENT_AT_NS || name->kind == MOMENT_AT_PERCENT)
		use_trace(p, m);
	return 0;
}

/* It could be read when the moment was found. */
static void fill_from_trace(const struct profile *p, const struct moment *m, struct amount *amounts)
{
	struct error ignored = {0};
	struct replay r;

	if (replay_init(&r, p, m->time_ns, &ignored) != 0)
		return;
	memcpy(amounts, r.live, p->sites.count * sizeof(*amounts));
	replay_fini(&r);
}

/* What series keep are estimates where blocks were sampled, and their doubt is not there. */
static struct amount bound(const struct profile *p, struct amount a)
{
	return p->run.sample_period ? figure_bound(p, a) : a;
}

void moment_fill(const struct profile *p, const struct moment *m, struct amount *amounts)
{
	for (size_t i = 0; i < p->sites.count; i++)
		amounts[i] = m->kind == MOMENT_PEAK ? figure_get_estimate(p, i, FIGURE_PEAK)
						    : (struct amount){0};
	if (m->kind == MOMENT_TRACED)
		fill_from_trace(p, m, amounts);
	if (m->kind != MOMENT_POINT)
		return;
	for (size_t i = 0; i < p->changes.count && p->changes.at[i].point <= m->point; i++) {
		const struct profile_change *c = &p->changes.at[i];
		const struct amount a = {.bytes = c->live_bytes, .blocks = c->live_blocks};
		amounts[c->site] = p->run.sample_period ? figure_bound_site(p, c->site, a) : a;
	}
}

struct amount moment_get_total(const struct profile *p, const struct moment *m)
{
	if (m->kind == MOMENT_PEAK)
		return figure_get_total(p, FIGURE_PEAK);
	if (m->kind == MOMENT_TRACED)
		return m->total;
	if (m->kind == MOMENT_START)
		return (struct amount){0};
	const struct profile_point *point = &p->points.at[m->point];
	return bound(p, (struct amount){.bytes = point->live_bytes, .blocks = point->live_blocks});
}
