/* instances.c -- Python's live objects by type, as a look has found them. Runs: offline.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/instances.h"

#include "model/pinning.h"

static bool has_types(const struct profile *p, size_t survey)
{
	for (size_t i = 0; i < p->types.count; i++)
		if (p->types.at[i].survey == survey)
			return true;
	return false;
}

static int fail_without(const struct profile *p, struct error *e)
{
	if (p->surveys.count)
		return error_set(e,
				 "no objects of Python were found then: it is no Python program, "
				 "or the kernel does not let its memory be read "
				 "(kernel.yama.ptrace_scope)");
	if (p->run.merge)
		return error_set(e, "profiles of several processes together do not tell of what "
				    "type objects are: look at them one by one");
	return error_set(e, "the profile does not tell of what type objects are: record a Python "
			    "program with --rss, or ask with `midden snapshot --rss PID`");
}

static long find_best(const struct profile *p, struct error *e)
{
	static const enum profile_reason order[] = {PROFILE_REASON_SNAPSHOT, PROFILE_REASON_PEAK,
						    PROFILE_REASON_END};

	for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (size_t i = p->surveys.count; i-- > 0;)
			if (p->surveys.at[i].reason == order[k] && has_types(p, i))
				return (long)i;
	return fail_without(p, e);
}

long instances_find(const struct profile *p, const char *text, struct error *e)
{
	if (!text || p->surveys.count == 0)
		return find_best(p, e);
	long i = pinning_find_named(p, text, e);
	if (i < 0 && !e->set)
		return error_set(e, "nobody looked at the program's objects then");
	if (i >= 0 && !has_types(p, (size_t)i))
		return fail_without(p, e);
	return i;
}

void instances_get(struct instances *found, const struct profile *p, size_t survey)
{
	*found = (struct instances){0};
	for (size_t i = 0; i < p->types.count; i++) {
		const struct profile_type *t = &p->types.at[i];

		if (t->survey != survey)
			continue;
		found->is_estimate |= t->bytes_deviation != 0;
		if (!*profile_string(p, t->name)) {
			found->others = *t;
			continue;
		}
		if (!found->count++)
			found->types = t;
		found->objects += t->objects;
		found->bytes += t->bytes;
	}
}
