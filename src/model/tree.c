/* tree.c -- stacks added up into a call tree, from the allocating function outwards or from the
 * program's start. Runs: offline; immutable once built. SPDX-License-Identifier: Apache-2.0 */
#include "model/tree.h"

#include "base/map.h"

struct order_key {
	uint64_t value;
	uint64_t second; /* the amount's other half */
	uint32_t parent;
	uint32_t frame;
	uint32_t node;
};

/* The child of `parent` for a frame, made if it is not there. */
static uint32_t find_child(struct tree *t, struct map *index, uint32_t parent, uint32_t frame)
{
	uint32_t *child = map_reserve(index, (uint64_t)parent << 32 | frame);

	if (*child == 0) {
		*child = (uint32_t)t->nodes.count;
		*vec_push(&t->nodes) = (struct tree_node){.frame = frame, .parent = parent};
	}
	return *child;
}

static void add_stack(struct tree *t, struct map *index, const struct model_stack *stack,
		      struct amount amount)
{
	size_t count = stack->frames.count;
	uint32_t node = 0;

	t->nodes.at[0].amount = amount_plus(t->nodes.at[0].amount, amount);
	for (size_t i = 0; i < count; i++) {
		size_t at = t->direction == TREE_INVERTED ? i : count - 1 - i;
		node = find_child(t, index, node, stack->frames.at[at]);
		t->nodes.at[node].amount = amount_plus(t->nodes.at[node].amount, amount);
	}
	t->nodes.at[node].self = amount_plus(t->nodes.at[node].self, amount);
}

static int compare_keys(const void *left, const void *right)
{
	const struct order_key *a = left, *b = right;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	if (a->second != b->second)
		return a->second > b->second ? -1 : 1;
	return (a->frame > b->frame) - (a->frame < b->frame);
}

static struct order_key make_key(const struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->nodes.at[node];
	bool count = figure_is_count(t->figure);

	return (struct order_key){
		.value = count ? n->amount.blocks : n->amount.bytes,
		.second = count ? n->amount.bytes : n->amount.blocks,
		.parent = n->parent,
		.frame = n->frame,
		.node = node,
	};
}

static void sort_children(struct tree *t)
{
	size_t count = t->nodes.count - 1;
	struct order_key *keys = mem_new(count, sizeof(*keys));

	for (size_t i = 0; i < count; i++)
		keys[i] = make_key(t, (uint32_t)i + 1);
	qsort(keys, count, sizeof(*keys), compare_keys);

	t->children = mem_new(count, sizeof(*t->children));
	for (size_t i = 0; i < count; i++) {
		struct tree_node *parent = &t->nodes.at[keys[i].parent];
		if (parent->child_count++ == 0)
			parent->first_child = (uint32_t)i;
		t->children[i] = keys[i].node;
	}
	free(keys);
}

struct tree *tree_build(const struct model *m, enum figure figure, enum tree_direction direction)
{
	const struct profile *p = model_get_profile(m);
	struct tree *t = mem_new(1, sizeof(*t));
	struct model_stack stack = {0};
	struct map index = {0};

	t->model = m;
	t->figure = figure;
	t->direction = direction;
	*vec_push(&t->nodes) = (struct tree_node){0};
	for (size_t i = 0; i < p->sites.count; i++) {
		struct amount amount = figure_get(&p->sites.at[i], figure);
		if (amount_is_zero(amount))
			continue;
		model_get_stack(m, i, &stack);
		add_stack(t, &index, &stack, amount);
	}
	sort_children(t);
	vec_free(&stack.frames);
	map_free(&index);
	return t;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	vec_free(&t->nodes);
	free(t->children);
	free(t);
}

const struct tree_node *tree_get_child(const struct tree *t, const struct tree_node *n, uint32_t i)
{
	return &t->nodes.at[t->children[n->first_child + i]];
}

double tree_get_share(const struct tree *t, struct amount a)
{
	uint64_t whole = figure_get_value(t->nodes.at[0].amount, t->figure);

	return whole ? 100.0 * (double)figure_get_value(a, t->figure) / (double)whole : 0.0;
}

uint32_t tree_get_shown(const struct tree *t, const struct tree_node *n,
			const struct tree_view *view, unsigned depth)
{
	uint32_t shown = 0;

	if (view->depth && depth >= view->depth)
		return 0;
	while (shown < n->child_count &&
	       tree_get_share(t, tree_get_child(t, n, shown)->amount) >= view->threshold)
		shown++;
	return shown;
}

struct amount tree_get_rest(const struct tree *t, const struct tree_node *n, uint32_t shown)
{
	struct amount rest = amount_minus(n->amount, n->self);

	for (uint32_t i = 0; i < shown; i++)
		rest = amount_minus(rest, tree_get_child(t, n, i)->amount);
	return rest;
}
