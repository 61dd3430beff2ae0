/* parts.c -- whose blocks a site's are, where more than one thread allocates. Runs: in the
 * collector process, one thread, for every event of such a site.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/parts.h"

#include <stdlib.h>

#include "base/mem.h"

#define FIRST_PLACES 64u

void parts_fini(struct parts *p)
{
	vec_free(&p->list);
	vec_free(&p->keys);
	free(p->places);
}

static void file(struct parts *p, uint64_t key, uint64_t part)
{
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> p->shift;

	while (p->places[i].part)
		i = (i + 1) & (p->place_count - 1);
	p->places[i] = (struct part_place){key, part};
}

static void grow(struct parts *p)
{
	size_t count = p->place_count ? p->place_count * 2 : FIRST_PLACES;

	free(p->places);
	p->places = mem_new(count, sizeof(p->places[0]));
	p->place_count = count;
	p->shift = 64 - (unsigned)__builtin_ctzll(count);
	for (size_t i = 0; i < p->keys.count; i++)
		file(p, p->keys.at[i], i + 1);
}

static struct part *push(struct parts *p, uint64_t key, const struct part *part)
{
	if (2 * (p->list.count + 1) > p->place_count)
		grow(p);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what has room has an array */
	*vec_push(&p->list) = *part;
	*vec_push(&p->keys) = key;
	file(p, key, p->list.count);
	return &p->list.at[p->list.count - 1];
}

void parts_split(struct parts *p, uint32_t site, uint32_t thread, const struct part *whole)
{
	(void)push(p, parts_get_key(site, thread), whole);
}

struct part *parts_add(struct parts *p, uint32_t site, uint32_t thread)
{
	static const struct part none;

	if (p->list.count < p->most)
		return push(p, parts_get_key(site, thread), &none);
	struct part *further = parts_find_own(p, site, PARTS_FURTHER);
	return further ? further : push(p, parts_get_key(site, PARTS_FURTHER), &none);
}
