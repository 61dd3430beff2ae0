/* lost_pace.c -- how long a look would stop the target, found out while it runs, and what to say
 * if that is too long. Runs: in the collector process, one thread; its crew reads.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/lost_pace.h"

#include <stdlib.h>

#include "format/clock.h"
#include "format/env.h"

#define ASKED_BYTES  (UINT64_C(64) << 20) /* less is read in the time that any target has */
#define ASKED_NS     UINT64_C(10000000)	  /* nor is a list of maps that takes less */
#define WINDOW_BYTES STASH_UNIT_BYTES
#define WINDOWS	     16u /* 32 MiB: every thread of a crew gets some of them */
/* A stop with a fork: the list of maps, and the fork, which does twice as much for each of them. */
#define FORK_PLANS   3u
#define SAMPLES_MOST 3u /* the fastest counts: another task may have been in the way of one */

/* ---- a sample -------------------------------------------------------------------------------- */

struct excerpt {
	VEC(struct gather_range) ranges;
	uint64_t bytes;
};

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Windows on all that is to be read, as if it lay in one piece, at even distances; others for each
 * number. Ranges stay as short as they are: those of a page take longer. */
static void take_sample(struct excerpt *s, const struct roots *r, uint64_t bytes, unsigned number)
{
	uint64_t stride = bytes / WINDOWS / sizeof(uint64_t) * sizeof(uint64_t);
	uint64_t begin = number * WINDOW_BYTES % stride, at = 0;

	s->ranges.count = 0;
	s->bytes = 0;
	for (size_t i = 0; i < r->ranges.count; i++) {
		struct gather_range range = r->ranges.at[i];
		uint64_t end = at + (range.end - range.start);

		for (; begin < end; begin += stride) {
			uint64_t from = max(begin, at), to = min(begin + WINDOW_BYTES, end);

			if (from < to) {
				*vec_push(&s->ranges) = (struct gather_range){
					range.start + (from - at), range.start + (to - at)};
				s->bytes += to - from;
			}
			if (begin + WINDOW_BYTES > end)
				break; /* the next range has the rest of it */
		}
		at = end;
	}
}

/* How long it takes to read it, or UINT64_MAX: the kernel does not let us. */
static uint64_t read_sample(struct look *l, const struct excerpt *s)
{
	pid_t pid = l->collector->watch.pid;
	uint64_t begin = clock_monotonic_ns();
	bool given = l->stash.room ? gather_stash(&l->gather, &l->stash, pid, s->ranges.at,
						  s->ranges.count)
				   : gather_read(&l->gather, pid, s->ranges.at, s->ranges.count);
	uint64_t took = clock_monotonic_ns() - begin;

	gather_forget(&l->gather);
	return given ? took : UINT64_MAX;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* True: in no way that could be told, or in time. */
static bool try_samples(struct look *l, uint64_t bytes, uint64_t other_ns)
{
	struct lost *to = &l->collector->lost;
	struct excerpt s = {0};
	bool is_good = false;

	to->expected_ns = UINT64_MAX;
	for (unsigned i = 0; i < SAMPLES_MOST && !is_good; i++) {
		take_sample(&s, &l->roots, bytes, i);
		uint64_t took_ns = s.bytes ? read_sample(l, &s) : UINT64_MAX;
		if (took_ns == UINT64_MAX) {
			is_good = true; /* the look will tell why */
			break;
		}
		double all_ns = (double)took_ns * ((double)bytes / (double)s.bytes);
		to->expected_ns = min(to->expected_ns, other_ns + (uint64_t)all_ns);
		is_good = deadline_allows(&to->deadline, to->expected_ns);
	}
	vec_free(&s.ranges);
	if (is_good)
		to->expected_ns = 0;
	return is_good;
}

bool lost_pace_is_by_copy(const struct look *l)
{
	return l->way == LOST_SIBLING || l->way == LOST_COPY;
}

bool lost_pace_allows_fork(const struct look *l)
{
	struct lost *to = &l->collector->lost;

	if (l->planning_ns < ASKED_NS ||
	    l->planning_ns <= deadline_get_left(&to->deadline) / FORK_PLANS)
		return true;
	to->twin.why = "it has so many maps that a fork would take too long";
	return false;
}

bool lost_pace_is_good(struct look *l)
{
	struct collector *c = l->collector;
	bool is_copy = lost_pace_is_by_copy(l);
	uint64_t begin = clock_monotonic_ns();

	if (c->lost.deadline.is_open || c->watch.rss_bytes < ASKED_BYTES)
		return true;
	if (l->way == LOST_NOW && c->lost.expected_ns)
		return false; /* there was a faster way, and it was too slow */
	roots_list(&l->roots, c->watch.pid, is_copy ? ROOTS_APART : ROOTS_ALL);
	uint64_t bytes = roots_add_up(&l->roots);
	uint64_t listing_ns = clock_monotonic_ns() - begin;

	if (!is_copy)
		c->lost.deadline.bytes = bytes;
	if (bytes < ASKED_BYTES || try_samples(l, bytes, l->planning_ns + listing_ns))
		return true;
	if (is_copy)
		c->lost.twin.why = "a fork leaves much of it out";
	return false;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static const char *get_reason(const struct collector *c)
{
	if (c->lost.twin.why)
		return c->lost.twin.why;
	/* By itself the collector asks for a copy before it reads so much. */
	return getenv(ENV_TWIN) ? ENV_TWIN " is set" : "it was small a moment ago";
}

int lost_pace_refuse(const struct look *l, struct error *e)
{
	const struct collector *c = l->collector;

	return error_set(
		e,
		"process %d cannot be copied (%s), and to read its memory would stop it for "
		"about %.2f s, where 100 ms per GB are %.2f s: it was not looked at; "
		"`midden leaks --long-stop` allows such a stop%s",
		(int)c->watch.pid, get_reason(c), (double)c->lost.expected_ns / 1e9,
		(double)deadline_get_allowed(&c->lost.deadline) / 1e9,
		c->lost.twin.needs_leave ? ", --child-copy a copy that is its child" : "");
}

int lost_pace_refuse_events(const struct look *l, uint64_t expected_ns, struct error *e)
{
	return error_set(
		e,
		"process %d allocates faster than can be recorded, and to handle its last "
		"events would stop it for about %.2f s: it was not looked at; `midden leaks "
		"--long-stop` allows such a stop, and a smaller --buffer of the recording "
		"makes it shorter",
		(int)l->collector->watch.pid, (double)expected_ns / 1e9);
}

int lost_pace_check_maps(const struct look *l, struct error *e)
{
	if (l->planning_ns < ASKED_NS ||
	    l->planning_ns <= deadline_get_left(&l->collector->lost.deadline))
		return 0;
	return error_set(e,
			 "process %d has so many maps that a list of them would stop it for about "
			 "%.2f s: it was not looked at; `midden leaks --long-stop` allows such a "
			 "stop",
			 (int)l->collector->watch.pid, (double)l->planning_ns / 1e9);
}

int lost_pace_give_up(struct look *l, const char *before, struct error *e)
{
	const struct collector *c = l->collector;

	l->is_late = true;
	return error_set(e,
			 "process %d was let go after %.3f s, before %s: a look may stop it for "
			 "100 ms per GB, unless `midden leaks --long-stop` allows more",
			 (int)c->watch.pid, (double)c->lost.deadline.stopped_ns / 1e9, before);
}
