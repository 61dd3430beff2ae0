/* habits_time.c -- habits that show over time. Runs: offline, called by findings.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/filter.h"
#include "model/habits.h"

/* A recording that shows less than this shows a phase of the program, not its habits. */
#define POINTS_LEAST   20U
#define DURATION_LEAST UINT64_C(1000000000)

/* A leak that grows: at least so much, in so many blocks, ... */
#define LEAK_BYTES  (16U << 10)
#define LEAK_BLOCKS 16U
#define LEAK_SHARE  0.01 /* of the peak, or of all leaks if these are more: a file may be damaged */
/* ... nearly a straight line (the square of the correlation), from the first fifth of the recording
 * to its last tenth. Programs that build something up and end reach their size before. */
#define LEAK_STRAIGHT 0.97
#define LEAK_BEGINS   0.2
#define LEAK_ENDS     0.9

/* Left behind: of at least so many blocks at once a quarter or less, and these for half of the
 * recording. */
#define LEFT_MOST  4U
#define LEFT_BYTES (64U << 10)
#define LEFT_SHARE 0.05 /* of the peak */

static bool is_long_enough(const struct profile *p)
{
	return p->points.count >= POINTS_LEAST && p->run.duration_ns >= DURATION_LEAST;
}

/* ---- leaks that grow ------------------------------------------------------------------------- */

struct leak {
	struct finding finding;
	uint64_t largest;
	uint64_t *bytes; /* at each point; NULL: not looked at */
};

static bool is_leak(const struct habits *h, size_t site)
{
	return h->places[site] && (!h->verdicts || h->verdicts[site] == FILTER_KEPT);
}

/* Returns what a leak's share is of. */
static double sum_leaks(const struct habits *h, struct leak *leaks)
{
	const struct profile *p = model_get_profile(h->model);
	double all = 0;

	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *s = &p->sites.at[i];
		struct leak *leak = &leaks[h->places[i]];
		if (!is_leak(h, i) || s->live_blocks == 0)
			continue;
		leak->finding.amount =
			amount_plus(leak->finding.amount, figure_get(s, FIGURE_LEAKED));
		leak->finding.sites++;
		all += (double)s->live_bytes;
		if (s->live_bytes >= leak->largest) {
			leak->largest = s->live_bytes;
			leak->finding.site = i;
		}
	}
	return all > (double)p->totals.peak_bytes ? all : (double)p->totals.peak_bytes;
}

static bool is_candidate(const struct leak *leak, double whole)
{
	struct amount a = leak->finding.amount;

	return a.bytes >= LEAK_BYTES && a.blocks >= LEAK_BLOCKS &&
	       (double)a.bytes >= LEAK_SHARE * whole;
}

/* Differences first: what each change adds to its place at its point. */
static void fill_series(const struct habits *h, struct leak *leaks)
{
	const struct profile *p = model_get_profile(h->model);
	uint64_t *held = mem_new(p->sites.count, sizeof(*held));

	for (size_t i = 0; i < p->changes.count; i++) {
		const struct profile_change *c = &p->changes.at[i];
		struct leak *leak = &leaks[h->places[c->site]];
		if (!leak->bytes || !is_leak(h, c->site))
			continue;
		leak->bytes[c->point] += c->live_bytes - held[c->site];
		held[c->site] = c->live_bytes;
	}
	for (size_t i = 0; i <= h->place_count; i++)
		for (size_t k = 1; leaks[i].bytes && k < p->points.count; k++)
			leaks[i].bytes[k] += leaks[i].bytes[k - 1];
	free(held);
}

/* The square of the correlation of bytes with time; 0 if nothing changes. */
static double straightness(const struct profile *p, const uint64_t *bytes)
{
	double n = (double)p->points.count, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < p->points.count; i++) {
		double t = (double)p->points.at[i].time_ns / 1e9, b = (double)bytes[i];
		x += t;
		y += b;
		xx += t * t;
		yy += b * b;
		xy += t * b;
	}
	double across = xy - x * y / n, along = xx - x * x / n, up = yy - y * y / n;
	return along > 0 && up > 0 && across > 0 ? across * across / (along * up) : 0;
}

/* When the leak had that share of its bytes. */
static uint64_t time_of_share(const struct profile *p, const uint64_t *bytes, double share)
{
	uint64_t last = bytes[p->points.count - 1];
	size_t i = 0;

	while (i + 1 < p->points.count && (double)bytes[i] < share * (double)last)
		i++;
	return p->points.at[i].time_ns;
}

static bool is_steady(const struct profile *p, const uint64_t *bytes)
{
	double duration = (double)p->run.duration_ns;

	return straightness(p, bytes) >= LEAK_STRAIGHT &&
	       (double)time_of_share(p, bytes, 0.05) <= LEAK_BEGINS * duration &&
	       (double)time_of_share(p, bytes, 0.98) >= LEAK_ENDS * duration;
}

static uint64_t bytes_at(const struct profile *p, const uint64_t *bytes, uint64_t ns)
{
	size_t i = 0;

	while (i + 1 < p->points.count && p->points.at[i + 1].time_ns <= ns)
		i++;
	return p->points.at[i].time_ns <= ns ? bytes[i] : 0;
}

static void report_leak(struct habits *h, struct leak *leak)
{
	const struct profile *p = model_get_profile(h->model);
	struct finding f = leak->finding;

	f.kind = FINDING_GROWING_LEAK;
	f.saved_bytes = f.amount.bytes;
	f.since_ns = time_of_share(p, leak->bytes, 0.001);
	f.span_ns = p->run.duration_ns - f.since_ns;
	f.weight = habits_share(f.amount.bytes, p->totals.peak_bytes);
	for (unsigned i = 0; i < 4; i++)
		f.quarters[i] = bytes_at(p, leak->bytes, p->run.duration_ns / 4 * (i + 1));
	f.quarters[3] = f.amount.bytes;
	*vec_push(&h->findings->list) = f;
}

bool habits_find_growing_leaks(struct habits *h)
{
	const struct profile *p = model_get_profile(h->model);
	struct leak *leaks = mem_new(h->place_count + 1, sizeof(*leaks));

	if (!is_long_enough(p)) {
		free(leaks);
		return false;
	}
	double whole = sum_leaks(h, leaks);
	/* At most a hundred: each has a hundredth of all leaks. */
	for (size_t i = 1; i <= h->place_count; i++)
		if (is_candidate(&leaks[i], whole))
			leaks[i].bytes = mem_new(p->points.count, sizeof(uint64_t));
	fill_series(h, leaks);
	for (size_t i = 1; i <= h->place_count; i++) {
		if (leaks[i].bytes && is_steady(p, leaks[i].bytes))
			report_leak(h, &leaks[i]);
		free(leaks[i].bytes);
	}
	free(leaks);
	return true;
}

/* ---- blocks left behind ---------------------------------------------------------------------- */

/* A site over time: its most blocks, and since when it has held what it holds. */
struct course {
	uint64_t most_blocks;
	struct amount held;
	uint32_t since;	       /* point */
	struct amount longest; /* what it held unchanged for the longest time after its most */
	uint64_t longest_since_ns;
	uint64_t longest_ns;
};

/* What the site held until now is over, or the recording is. */
static void end_span(const struct profile *p, struct course *c, uint64_t now_ns)
{
	uint64_t since_ns = p->points.at[c->since].time_ns;

	if (c->held.blocks == 0 || c->held.blocks > c->most_blocks / 4 ||
	    now_ns - since_ns <= c->longest_ns)
		return;
	c->longest = c->held;
	c->longest_since_ns = since_ns;
	c->longest_ns = now_ns - since_ns;
}

static void follow(const struct profile *p, struct course *courses)
{
	uint64_t end = p->points.at[p->points.count - 1].time_ns;

	for (size_t i = 0; i < p->changes.count; i++) {
		const struct profile_change *change = &p->changes.at[i];
		struct course *c = &courses[change->site];
		end_span(p, c, p->points.at[change->point].time_ns);
		c->held =
			(struct amount){.bytes = change->live_bytes, .blocks = change->live_blocks};
		c->since = change->point;
		if (c->held.blocks > c->most_blocks)
			c->most_blocks = c->held.blocks;
	}
	for (size_t i = 0; i < p->sites.count; i++)
		end_span(p, &courses[i], end);
}

/* A site that goes on allocating and freeing while the numbers stay is no burst with a rest: it has
 * made many more blocks than it ever had. */
static bool is_left_behind(const struct profile *p, const struct profile_site *s,
			   const struct course *c)
{
	return c->most_blocks >= LEFT_MOST && c->longest.bytes >= LEFT_BYTES &&
	       (double)c->longest.bytes >= LEFT_SHARE * (double)p->totals.peak_bytes &&
	       c->longest_ns >= p->run.duration_ns / 2 && s->reallocations == 0 &&
	       s->allocations <= 2 * c->most_blocks;
}

void habits_find_left_behind(struct habits *h)
{
	const struct profile *p = model_get_profile(h->model);

	if (!is_long_enough(p))
		return;
	struct course *courses = mem_new(p->sites.count, sizeof(*courses));
	follow(p, courses);
	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *s = &p->sites.at[i];
		const struct course *c = &courses[i];
		if (!h->places[i] || !is_left_behind(p, s, c))
			continue;
		*vec_push(&h->findings->list) = (struct finding){
			.kind = FINDING_LEFT_BEHIND,
			.site = i,
			.sites = 1,
			.amount = c->longest,
			.size_min = s->size_min,
			.size_max = s->size_max,
			.saved_bytes = c->longest.bytes,
			.since_ns = c->longest_since_ns,
			.span_ns = c->longest_ns,
			.freed = s->allocations - c->longest.blocks,
			.weight = habits_share(c->longest.bytes, p->totals.peak_bytes),
		};
	}
	free(courses);
}
