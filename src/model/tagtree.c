/* tagtree.c -- what was counted by tag, as trees: one per thread, or per pattern of threads. Runs:
 * offline, pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Trees may be as deep as a program likes, so nothing here calls itself. */
#define _GNU_SOURCE
#include "model/tagtree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 64u /* threads whose names a merged tree has */

void tagtree_init(struct tagtree *t, const struct pattern_list *rules)
{
	*t = (struct tagtree){.rules = rules, .texts = profile_new()};
}

void tagtree_fini(struct tagtree *t)
{
	vec_free(&t->trees);
	vec_free(&t->nodes);
	map_free(&t->children);
	map_free(&t->owners);
	profile_free(t->texts);
}

const char *tagtree_get_name(const struct tagtree *t, struct string_id name)
{
	return profile_string(t->texts, name);
}

const char *tagtree_get_title(const struct tagtree *t, const struct tagtree_tree *tree,
			      char buffer[32])
{
	const char *name = tagtree_get_name(t, tree->name);

	if (tree->rule)
		return pattern_get_text(tree->rule);
	if (*name)
		return name;
	(void)snprintf(buffer, 32, "thread %" PRIu32, tree->tid);
	return buffer;
}

uint64_t tagtree_get_calls(const struct tagtree_counts *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < PROFILE_APIS; i++)
		sum += c->calls[i];
	return sum;
}

static void add_counts(struct tagtree_counts *to, const struct tagtree_counts *more)
{
	to->entered += more->entered;
	to->open += more->open;
	to->requested_bytes += more->requested_bytes;
	to->allocated_bytes += more->allocated_bytes;
	to->freed_bytes += more->freed_bytes;
	to->frees += more->frees;
	to->resizes += more->resizes;
	for (unsigned i = 0; i < PROFILE_APIS; i++)
		to->calls[i] += more->calls[i];
}

static struct tagtree_counts get_counts(const struct profile_tag *tag)
{
	struct tagtree_counts c = {
		.entered = tag->entered,
		.open = tag->open,
		.requested_bytes = tag->requested_bytes,
		.allocated_bytes = tag->allocated_bytes,
		.freed_bytes = tag->freed_bytes,
		.frees = tag->frees,
		.resizes = tag->resizes,
	};

	memcpy(c.calls, tag->calls, sizeof(c.calls));
	return c;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static uint32_t add_node(struct tagtree *t, struct string_id name, uint32_t parent)
{
	*vec_push(&t->nodes) = (struct tagtree_node){
		.name = name,
		.parent = parent,
		.child = TAGTREE_NONE,
		.next = TAGTREE_NONE,
		.depth = parent == TAGTREE_NONE ? 0 : t->nodes.at[parent].depth + 1,
	};
	return (uint32_t)t->nodes.count - 1;
}

static uint32_t find_child(struct tagtree *t, uint32_t tree, uint32_t parent, const char *text)
{
	struct string_id name = profile_add_string(t->texts, text);
	uint32_t *place = map_reserve(&t->children, (uint64_t)parent << 32 | name.v);

	if (!*place) {
		struct tagtree_tree *of = &t->trees.at[tree];

		*place = add_node(t, name, parent) + 1;
		of->nodes++;
		if (t->nodes.at[*place - 1].depth >= of->levels)
			of->levels = t->nodes.at[*place - 1].depth + 1;
	}
	return *place - 1;
}

static const struct profile_thread *find_thread(const struct profile *p, uint32_t serial)
{
	size_t low = 0, high = p->threads.count;

	while (low < high) { /* in order of their serials */
		size_t middle = low + (high - low) / 2;

		if (p->threads.at[middle].serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->threads.count && p->threads.at[low].serial == serial ? &p->threads.at[low]
									     : NULL;
}

static const struct pattern *find_rule(const struct tagtree *t, const char *name)
{
	for (size_t i = 0; t->rules && i < t->rules->all.count; i++)
		if (pattern_has(t->rules->all.at[i], name))
			return t->rules->all.at[i];
	return NULL;
}

static uint32_t add_tree(struct tagtree *t, const struct pattern *rule, uint32_t serial)
{
	struct string_id none = {0};
	uint32_t root = add_node(t, none, TAGTREE_NONE);

	*vec_push(&t->trees) = (struct tagtree_tree){
		.root = root, .serial = serial, .nodes = 1, .levels = 1, .rule = rule};
	return (uint32_t)t->trees.count - 1;
}

static uint32_t find_merged(struct tagtree *t, const struct pattern *rule, uint32_t serial)
{
	for (uint32_t i = 0; i < t->trees.count; i++)
		if (t->trees.at[i].rule == rule)
			return i;
	return add_tree(t, rule, serial);
}

/* Of many threads the first ones tell enough. */
static void join_name(struct tagtree *t, struct tagtree_tree *tree, const char *name)
{
	if (tree->threads >= NAMES_MAX)
		return;
	char *joined = tree->threads ? mem_format("%s,%s", tagtree_get_name(t, tree->name), name)
				     : mem_copy_string(name);

	tree->name = profile_add_string(t->texts, joined);
	free(joined);
}

/* The tree of a thread of the file that is being added. */
static uint32_t find_tree(struct tagtree *t, const struct profile *p, uint32_t serial)
{
	uint32_t *owner = map_reserve(&t->owners, (uint64_t)t->files << 32 | serial);

	if (*owner)
		return *owner - 1;
	const struct profile_thread *thread = find_thread(p, serial);
	const char *name = thread ? profile_string(p, thread->name) : "";
	const struct pattern *rule = find_rule(t, name);
	uint32_t found = rule ? find_merged(t, rule, serial) : add_tree(t, NULL, serial);
	struct tagtree_tree *tree = &t->trees.at[found];

	*owner = found + 1;
	if (!tree->threads && thread)
		tree->tid = thread->tid;
	join_name(t, tree, name);
	tree->threads++;
	return found;
}

/* Rows come with the parent before the child. */
void tagtree_add(struct tagtree *t, const struct profile *p, uint32_t snapshot)
{
	uint32_t *nodes = mem_new(p->tags.count + 1, sizeof(*nodes)); /* by row */

	t->files++;
	for (size_t i = 0; i < p->tags.count; i++) {
		const struct profile_tag *tag = &p->tags.at[i];

		if (tag->snapshot != snapshot)
			continue;
		uint32_t tree = find_tree(t, p, tag->thread);
		nodes[i] = tag->parent ? find_child(t, tree, nodes[tag->parent - 1],
						    profile_string(p, tag->name))
				       : t->trees.at[tree].root;
		struct tagtree_counts more = get_counts(tag);
		add_counts(&t->nodes.at[nodes[i]].self, &more);
	}
	free(nodes);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A parent's index is smaller than its child's. */
static void sum_up(struct tagtree *t)
{
	for (size_t i = t->nodes.count; i-- > 0;) {
		struct tagtree_node *n = &t->nodes.at[i];

		add_counts(&n->total, &n->self);
		add_counts(n->parent == TAGTREE_NONE ? &t->total : &t->nodes.at[n->parent].total,
			   &n->total);
	}
}

static int compare_nodes(const void *left, const void *right, void *tree)
{
	const struct tagtree *t = tree;
	const struct tagtree_node *a = &t->nodes.at[*(const uint32_t *)left];
	const struct tagtree_node *b = &t->nodes.at[*(const uint32_t *)right];

	if (a->total.allocated_bytes != b->total.allocated_bytes)
		return a->total.allocated_bytes > b->total.allocated_bytes ? -1 : 1;
	return strcmp(tagtree_get_name(t, a->name), tagtree_get_name(t, b->name));
}

/* From the last one to the first, each put in front of its siblings. */
static void link_children(struct tagtree *t)
{
	uint32_t *order = mem_new(t->nodes.count + 1, sizeof(*order));

	for (uint32_t i = 0; i < t->nodes.count; i++)
		order[i] = i;
	qsort_r(order, t->nodes.count, sizeof(*order), compare_nodes, t);
	for (size_t i = t->nodes.count; i-- > 0;) {
		struct tagtree_node *n = &t->nodes.at[order[i]];

		if (n->parent == TAGTREE_NONE)
			continue;
		n->next = t->nodes.at[n->parent].child;
		t->nodes.at[n->parent].child = order[i];
	}
	free(order);
}

void tagtree_finish(struct tagtree *t)
{
	sum_up(t);
	link_children(t);
}

uint32_t tagtree_get_next(const struct tagtree *t, uint32_t node)
{
	if (t->nodes.at[node].child != TAGTREE_NONE)
		return t->nodes.at[node].child;
	while (node != TAGTREE_NONE && t->nodes.at[node].next == TAGTREE_NONE)
		node = t->nodes.at[node].parent;
	return node == TAGTREE_NONE ? node : t->nodes.at[node].next;
}
