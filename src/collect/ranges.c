/* ranges.c -- which range of addresses belongs to which map; ranges do not overlap, and any part of
 * them can be taken out. Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/ranges.h"

#include <string.h>
#include <sys/random.h>

void ranges_fini(struct ranges *r)
{
	vec_free(&r->all);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* A program that knew the numbers could choose addresses that make a list of the tree. Where the
 * kernel has none, at least where we lie is not told to anybody. Never 0. */
static uint64_t get_seed(const struct ranges *r)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (uintptr_t)r * UINT64_C(0x9e3779b97f4a7c15);
	return seed | 1;
}

/* xorshift. */
static uint32_t get_rank(struct ranges *r)
{
	if (!r->random)
		r->random = get_seed(r);
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	return (uint32_t)(r->random >> 32);
}

static uint32_t new_range(struct ranges *r, uint64_t start, uint64_t end, uint32_t map)
{
	uint32_t index = r->unused;

	if (!r->all.count)
		memset(vec_push(&r->all), 0, sizeof(struct range));
	if (index) {
		r->unused = r->all.at[index].left;
	} else {
		index = (uint32_t)r->all.count;
		(void)vec_push(&r->all);
	}
	r->all.at[index] =
		(struct range){.start = start, .end = end, .map = map, .rank = get_rank(r)};
	return index;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* All of `low` lies before all of `high`. */
static uint32_t join(struct ranges *r, uint32_t low, uint32_t high)
{
	if (!low || !high)
		return low ? low : high;
	struct range *a = &r->all.at[low], *b = &r->all.at[high];
	if (a->rank > b->rank) {
		a->right = join(r, a->right, high);
		return low;
	}
	b->left = join(r, low, b->left);
	return high;
}

/* Ranges that start before `at`, and the others. */
static void part(struct ranges *r, uint32_t root, uint64_t at, uint32_t *before, uint32_t *after)
{
	if (!root) {
		*before = *after = 0;
		return;
	}
	struct range *node = &r->all.at[root];
	if (node->start < at) {
		part(r, node->right, at, &node->right, after);
		*before = root;
	} else {
		part(r, node->left, at, before, &node->left);
		*after = root;
	}
}

static struct range *find_last(struct ranges *r, uint32_t root)
{
	while (root && r->all.at[root].right)
		root = r->all.at[root].right;
	return root ? &r->all.at[root] : NULL;
}

/* Parts a tree so that no range crosses `at`. True, with the map whose range was cut, if one did.
 */
static bool cut(struct ranges *r, uint32_t root, uint64_t at, uint32_t halves[2], uint32_t *map)
{
	part(r, root, at, &halves[0], &halves[1]);
	struct range *last = find_last(r, halves[0]);
	if (!last || last->end <= at)
		return false;
	uint64_t end = last->end;
	*map = last->map;
	last->end = at;
	uint32_t beyond = new_range(r, at, end, *map);
	halves[1] = join(r, beyond, halves[1]);
	return true;
}

/* ---- what others call ------------------------------------------------------------------------ */

static void add_node(struct ranges *r, uint32_t node)
{
	uint32_t before, after;

	part(r, r->live.root, r->all.at[node].start, &before, &after);
	r->live.root = join(r, join(r, before, node), after);
}

void ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t map)
{
	add_node(r, new_range(r, start, end, map));
}

struct range_tree ranges_take(struct ranges *r, uint64_t start, uint64_t end,
			      void (*split)(void *context, uint32_t map), void *context)
{
	uint32_t outer[2], inner[2], map;

	if (cut(r, r->live.root, start, outer, &map))
		split(context, map);
	if (cut(r, outer[1], end, inner, &map))
		split(context, map);
	r->live.root = join(r, outer[0], inner[1]);
	return (struct range_tree){inner[0]};
}

const struct range *ranges_find(const struct ranges *r, uint64_t start)
{
	uint32_t at = r->live.root;

	while (at && r->all.at[at].start != start)
		at = start < r->all.at[at].start ? r->all.at[at].left : r->all.at[at].right;
	return at ? &r->all.at[at] : NULL;
}

static void visit_node(struct ranges *r, uint32_t node,
		       void (*visit)(void *context, const struct range *range), void *context)
{
	if (!node)
		return;
	visit_node(r, r->all.at[node].left, visit, context);
	visit(context, &r->all.at[node]);
	visit_node(r, r->all.at[node].right, visit, context);
}

void ranges_visit(struct ranges *r, struct range_tree tree,
		  void (*visit)(void *context, const struct range *range), void *context)
{
	visit_node(r, tree.root, visit, context);
}

void ranges_put_back(struct ranges *r, struct range_tree tree)
{
	if (!tree.root)
		return;
	struct range *node = &r->all.at[tree.root];
	struct range_tree left = {node->left}, right = {node->right};

	node->left = node->right = 0;
	add_node(r, tree.root);
	ranges_put_back(r, left);
	ranges_put_back(r, right);
}

void ranges_drop(struct ranges *r, struct range_tree tree)
{
	if (!tree.root)
		return;
	struct range_tree left = {r->all.at[tree.root].left};
	struct range_tree right = {r->all.at[tree.root].right};

	ranges_drop(r, left);
	ranges_drop(r, right);
	r->all.at[tree.root].left = r->unused;
	r->unused = tree.root;
}
