/* snapshots.c -- the moments that a program or its user asked to keep. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static long find_number(const struct profile *p, const char *text, struct error *e)
{
	char *end;

	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	if (end == text || *end || errno || *text == '-')
		return error_set(e, "there is no snapshot called %s", text);
	if (number == 0 || number > p->snapshots.count)
		return error_set(e, "there is no snapshot %s: there are %zu", text,
				 p->snapshots.count);
	return (long)number - 1;
}

long snapshots_find(const struct profile *p, const char *text, struct error *e)
{
	long first = -1, found = -1;
	size_t namesakes = 0;

	if (p->snapshots.count == 0)
		return error_set(e, "the profile has no snapshots: see midden-snapshot(1)");
	for (size_t i = 0; i < p->snapshots.count; i++) {
		if (strcmp(profile_string(p, p->snapshots.at[i].name), text) != 0)
			continue;
		found = (long)i;
		first = namesakes++ ? first : found;
	}
	if (namesakes > 1)
		return error_set(
			e,
			"%zu snapshots are called %s, number %ld the first and %ld the last: "
			"choose by number",
			namesakes, text, first + 1, found + 1);
	return namesakes ? found : find_number(p, text, e);
}

struct moment snapshots_get_moment(const struct profile *p, size_t i)
{
	const struct profile_snapshot *s = &p->snapshots.at[i];

	return (struct moment){
		.kind = MOMENT_POINT,
		.asked_ns = s->time_ns,
		.time_ns = s->time_ns,
		.point = s->point,
		.snapshot = i + 1,
	};
}
