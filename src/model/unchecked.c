/* unchecked.c -- processes of a merged profile that nobody looked at: what they lost is not known.
 * Runs: offline.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/unchecked.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NAMED_MOST 5u /* a build has thousands */

static bool is_allowed(const char *program, const char *patterns)
{
	char *copy = mem_copy_string(patterns ? patterns : "");
	char *rest = NULL;
	bool found = false;

	for (char *one = strtok_r(copy, ",", &rest); one && !found;
	     one = strtok_r(NULL, ",", &rest))
		found = fnmatch(one, program, 0) == 0;
	free(copy);
	return found;
}

void unchecked_list(struct unchecked *u, const struct profile *p, const char *allowed)
{
	*u = (struct unchecked){.processes = p->inputs.count};
	for (uint32_t i = 0; i < p->inputs.count; i++) {
		const struct profile_input *in = &p->inputs.at[i];

		if (in->lost_flags)
			u->looked_at++;
		else if (!is_allowed(profile_string(p, in->program), allowed))
			*vec_push(&u->rows) = i;
	}
	if (u->processes == 0)
		u->processes = u->looked_at = 1;
}

void unchecked_free(struct unchecked *u)
{
	vec_free(&u->rows);
}

/* Adds to a malloc'ed text. */
static char *append(char *text, char *more)
{
	char *whole = mem_format("%s%s", text, more);

	free(text);
	free(more);
	return whole;
}

char *unchecked_describe(const struct unchecked *u, const struct profile *p)
{
	size_t count = u->rows.count;
	size_t named = count > NAMED_MOST ? NAMED_MOST : count;
	char *text = mem_copy_string("");

	for (size_t i = 0; i < named; i++) {
		const struct profile_input *in = &p->inputs.at[u->rows.at[i]];
		const char *comma = i == 0 ? "" : i + 1 == count ? " and " : ", ";

		text = append(text, mem_format("%s%s (%" PRIu32 ")", comma,
					       profile_string(p, in->program), in->pid));
	}
	if (count > named)
		text = append(text, mem_format(" and %zu other%s", count - named,
					       count - named == 1 ? "" : "s"));
	return text;
}
