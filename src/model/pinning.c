/* pinning.c -- who keeps the heap's pages resident, by who allocated. Runs: offline; immutable once
 * built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/pinning.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/filter.h"
#include "model/moment.h"
#include "model/origin.h"
#include "model/snapshots.h"

/* ---- which one ------------------------------------------------------------------------------- */

static const char *get_fault(const struct profile *p, size_t i)
{
	return profile_string(p, p->surveys.at[i].fault);
}

static int fail_without(const struct profile *p, struct error *e)
{
	if (p->run.sample_period || profile_is_by_tag(p))
		return error_set(e, "what keeps pages resident is known only where every block is "
				    "recorded: not with samples or tags");
	if (p->run.merge)
		return error_set(e, "profiles of several processes together do not tell what is "
				    "resident: look at them one by one");
	return error_set(e, "the profile does not tell what is resident: record with --rss, or ask "
			    "with `midden snapshot --rss PID`");
}

static long find_last(const struct profile *p, struct error *e)
{
	for (size_t i = p->surveys.count; i-- > 0;)
		if (!*get_fault(p, i))
			return (long)i;
	if (p->surveys.count)
		return error_set(e, "%s", get_fault(p, p->surveys.count - 1));
	return fail_without(p, e);
}

static long find_reason(const struct profile *p, enum profile_reason reason, uint32_t snapshot)
{
	for (size_t i = p->surveys.count; i-- > 0;)
		if (p->surveys.at[i].reason == reason && p->surveys.at[i].snapshot == snapshot)
			return (long)i;
	return -1;
}

/* Any look will do: that at the end, say, of a program that grew until then. */
static long find_peak(const struct profile *p)
{
	long best = -1;

	for (size_t i = 0; i < p->surveys.count; i++)
		if (!*get_fault(p, i) &&
		    (best < 0 || p->surveys.at[i].rss_bytes > p->surveys.at[best].rss_bytes))
			best = (long)i;
	return best < 0 ? find_reason(p, PROFILE_REASON_PEAK, 0) : best;
}

bool pinning_is_highest(const struct profile *p, size_t survey)
{
	return find_peak(p) == (long)survey;
}

/* A number without a unit is that of a snapshot. */
static bool parse_time(const struct profile *p, const char *text, double *ns)
{
	struct moment_name name;
	struct error ignored = {0};

	if (!*text || strchr("0123456789.", text[strlen(text) - 1]) ||
	    moment_parse(text, &name, &ignored) != 0)
		return false;
	*ns = name.kind == MOMENT_AT_PERCENT ? name.value / 100 * (double)p->run.duration_ns
					     : name.value;
	return name.kind == MOMENT_AT_PERCENT || name.kind == MOMENT_AT_NS;
}

/* The nearest look: times are read off reports, which round them. Of two at one time, that which
 * has no other name. */
static long find_nearest(const struct profile *p, double ns)
{
	long best = -1;
	double least = 0;

	for (size_t i = 0; i < p->surveys.count; i++) {
		double distance = fabs((double)p->surveys.at[i].time_ns - ns);

		if (best >= 0 &&
		    (distance > least ||
		     (distance == least && p->surveys.at[i].reason != PROFILE_REASON_PEAK)))
			continue;
		best = (long)i;
		least = distance;
	}
	return best;
}

/* Without what says that it is a snapshot's. */
static const char *strip_name(const char *text)
{
	size_t bytes = strlen(MOMENT_SNAPSHOT);

	return strncmp(text, MOMENT_SNAPSHOT, bytes) == 0 ? text + bytes : text;
}

long pinning_find_named(const struct profile *p, const char *text, struct error *e)
{
	if (strcmp(text, "@peak") == 0)
		return find_peak(p);
	if (strcmp(text, "@end") == 0)
		return find_reason(p, PROFILE_REASON_END, 0);
	struct error no_snapshot = {.offset = -1};
	double ns;
	long snapshot = snapshots_find(p, strip_name(text), &no_snapshot);
	if (snapshot < 0 && parse_time(p, text, &ns))
		return find_nearest(p, ns);
	if (snapshot < 0)
		return error_set(e, "%s", no_snapshot.text);
	return find_reason(p, PROFILE_REASON_SNAPSHOT, (uint32_t)snapshot + 1);
}

char *pinning_name_time(const struct profile *p, size_t survey)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000000, "ms"}, {1000, "us"}, {1, "ns"}};
	uint64_t time_ns = p->surveys.at[survey].time_ns;

	for (size_t i = 0;; i++) {
		uint64_t rounded = (time_ns + units[i].ns / 2) / units[i].ns;

		if (units[i].ns == 1 ||
		    find_nearest(p, (double)(rounded * units[i].ns)) == (long)survey)
			return mem_format("%" PRIu64 "%s", rounded, units[i].name);
	}
}

long pinning_find(const struct profile *p, const char *text, struct error *e)
{
	if (!text || p->surveys.count == 0)
		return find_last(p, e);
	long i = pinning_find_named(p, text, e);
	if (i >= 0 && *get_fault(p, (size_t)i))
		return error_set(e, "%s", get_fault(p, (size_t)i));
	if (i < 0 && !e->set && strcmp(text, "@end") == 0)
		return error_set(e, "nobody looked at what was resident at the end: the program "
				    "did not get as far as exit()");
	if (i < 0 && !e->set)
		return error_set(e, "nobody looked at what was resident then");
	return i;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void add(struct pinning_row *row, const struct profile_pin *pin)
{
	row->stacks++;
	row->held.live_blocks += pin->live_blocks;
	row->held.live_bytes += pin->live_bytes;
	row->held.resident_bytes += pin->resident_bytes;
	row->held.pinned_bytes += pin->pinned_bytes;
	row->held.lone_pages += pin->lone_pages;
	row->held.sole_bytes += pin->sole_bytes;
}

static int compare_pins(const void *left, const void *right)
{
	const struct profile_pin *a = left, *b = right;

	if (a->resident_bytes != b->resident_bytes)
		return a->resident_bytes > b->resident_bytes ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static int compare_rows(const void *left, const void *right)
{
	const struct pinning_row *a = left, *b = right;

	if (a->held.resident_bytes != b->held.resident_bytes)
		return a->held.resident_bytes > b->held.resident_bytes ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

static void list_pins(struct pinning *n, const uint8_t *verdicts)
{
	const struct profile *p = model_get_profile(n->model);

	for (size_t i = 0; i < p->pins.count; i++) {
		const struct profile_pin *pin = &p->pins.at[i];

		if (pin->survey == n->survey && (!verdicts || verdicts[pin->site] == FILTER_KEPT)) {
			*vec_push(&n->pins) = *pin;
			add(&n->whole, pin);
		}
	}
	if (n->pins.count)
		qsort(n->pins.at, n->pins.count, sizeof(n->pins.at[0]), compare_pins);
}

/* The stack that holds most comes first, so that it names the row. */
static void list_rows(struct pinning *n)
{
	size_t frames = model_get_frame_count(n->model);
	uint32_t *keys = flat_list_keys(n->model, n->key);
	struct pinning_row *rows = mem_new(frames, sizeof(*rows));
	struct model_stack stack = {0};

	for (size_t i = 0; i < n->pins.count; i++) {
		model_get_stack(n->model, n->pins.at[i].site, &stack);
		uint32_t frame = stack.frames.at[origin_find_own(n->model, &stack)];
		struct pinning_row *row = &rows[keys[frame]];

		if (!row->stacks)
			row->frame = frame;
		add(row, &n->pins.at[i]);
	}
	for (size_t i = 0; i < frames; i++)
		if (rows[i].stacks)
			*vec_push(&n->rows) = rows[i];
	if (n->rows.count)
		qsort(n->rows.at, n->rows.count, sizeof(n->rows.at[0]), compare_rows);
	vec_free(&stack.frames);
	free(rows);
	free(keys);
}

struct pinning *pinning_build(const struct model *m, size_t survey, enum flat_key key,
			      const uint8_t *verdicts)
{
	struct pinning *n = mem_new(1, sizeof(*n));

	n->model = m;
	n->survey = survey;
	n->key = key;
	list_pins(n, verdicts);
	list_rows(n);
	return n;
}

void pinning_free(struct pinning *n)
{
	if (!n)
		return;
	vec_free(&n->rows);
	vec_free(&n->pins);
	free(n);
}

struct amount *pinning_list_amounts(const struct pinning *n)
{
	const struct profile *p = model_get_profile(n->model);
	struct amount *amounts = mem_new(p->sites.count + 1, sizeof(*amounts));

	for (size_t i = 0; i < n->pins.count; i++)
		amounts[n->pins.at[i].site] = (struct amount){.bytes = n->pins.at[i].resident_bytes,
							      .blocks = n->pins.at[i].live_blocks};
	return amounts;
}
