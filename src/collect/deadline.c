/* deadline.c -- how long the target may be stopped for a look, and whether that time is over.
 * Runs: in the collector process; deadline_is_over on any of its threads, all else on one.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/deadline.h"

#include <stdlib.h>
#include <string.h>

#include "format/clock.h"
#include "format/env.h"

#define MS	    UINT64_C(1000000)
#define MS_PER_GB   100u		/* the promise: docs/leaks.md */
#define BYTES_OF_MS UINT64_C(1000)	/* a ms per GB is a ns for so many bytes */
#define WHOLE_NS    UINT64_C(100000000) /* any target: to stop its threads and hear it out */
#define READING_NS  UINT64_C(25000000)	/* any target: some time slices of a busy machine */
#define EXPECTED_NS UINT64_C(10000000)	/* any target, as far as can be foreseen */

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What reading may take: a share by size, and not less than `least_ns`. */
static uint64_t get_share(const struct deadline *d, uint64_t least_ns)
{
	return max(d->bytes / BYTES_OF_MS * d->ms_per_gb, d->is_bare ? 0 : least_ns);
}

static uint64_t get_whole(const struct deadline *d)
{
	return max(get_share(d, 0), d->whole_ns);
}

void deadline_start(struct deadline *d, uint64_t bytes, bool is_open)
{
	const char *wanted = getenv(ENV_STOP_LIMIT);
	const char *whole = wanted ? strchr(wanted, ',') : NULL;

	*d = (struct deadline){.bytes = bytes,
			       .is_open = is_open,
			       .is_bare = wanted,
			       .ms_per_gb = wanted ? strtoull(wanted, NULL, 10) : MS_PER_GB,
			       .whole_ns = whole ? strtoull(whole + 1, NULL, 10) * MS : WHOLE_NS};
}

void deadline_stop(struct deadline *d, uint64_t since_ns)
{
	d->since_ns = since_ns;
}

void deadline_read(struct deadline *d)
{
	d->reading_ns = clock_monotonic_ns();
}

void deadline_go_on(struct deadline *d)
{
	uint64_t now = clock_monotonic_ns();

	if (d->since_ns)
		d->stopped_ns += now - d->since_ns;
	if (d->since_ns && d->reading_ns)
		d->read_ns += now - d->reading_ns;
	d->since_ns = d->reading_ns = d->leaving_ns = 0;
}

bool deadline_is_over(const struct deadline *d)
{
	if (d->is_open || !d->since_ns)
		return false;
	uint64_t now = clock_monotonic_ns();
	return d->stopped_ns + (now - d->since_ns) + d->leaving_ns > get_whole(d) ||
	       (d->reading_ns && d->read_ns + (now - d->reading_ns) > get_share(d, READING_NS));
}

uint64_t deadline_get_left(const struct deadline *d)
{
	uint64_t whole = get_whole(d);

	if (d->is_open)
		return UINT64_MAX;
	return whole > d->stopped_ns ? whole - d->stopped_ns : 0;
}

uint64_t deadline_get_allowed(const struct deadline *d)
{
	return get_share(d, EXPECTED_NS);
}

bool deadline_allows(const struct deadline *d, uint64_t expected_ns)
{
	return d->is_open || d->stopped_ns + expected_ns <= deadline_get_allowed(d);
}
