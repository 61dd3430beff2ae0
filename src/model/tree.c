/* tree.c -- stacks added up into a call tree, from the allocating function outwards or from the
 * program's start. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/tree.h"

#include "base/map.h"
#include "model/fold.h"

/* A stack on its way into the tree. */
struct path {
	size_t start; /* in builder.frames */
	size_t count;
	struct amount amount;
	uint32_t node; /* how far it has come */
	uint32_t mark; /* the next of builder.marks that may be its own */
};

/* Recursion that was folded at a frame: there are few, so they are kept apart. */
struct mark_at {
	size_t frame; /* in builder.frames */
	struct fold_mark mark;
};

struct builder {
	struct tree *tree;
	const struct amount *amounts; /* by site; NULL: the figure's */
	VEC(struct path) paths;	      /* those that go on */
	VEC(uint32_t) frames;	      /* of all paths, in the direction of the tree */
	VEC(struct mark_at) marks;    /* in the order of their frames */
	struct fold fold;
};

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
		*vec_push(&t->nodes) = (struct tree_node){
			.frame = frame, .parent = parent, .cycle = 1, .repeats_min = UINT16_MAX};
	}
	return *child;
}

static void push_frames(struct builder *b, struct model_stack *stack)
{
	bool inverted = b->tree->view.direction == TREE_INVERTED;

	if (b->tree->view.fold)
		fold_stack(b->tree->model, stack, &b->fold);
	size_t count = stack->frames.count;
	for (size_t i = 0; i < count; i++) {
		size_t place = inverted ? i : count - 1 - i;
		uint32_t frame = stack->frames.at[place];
		if (b->fold.any && b->fold.marks.at[place].repeats > 1)
			*vec_push(&b->marks) =
				(struct mark_at){b->frames.count, b->fold.marks.at[place]};
		*vec_push(&b->frames) = b->tree->view.by_function
						? model_get_frame(b->tree->model, frame)->group
						: frame;
	}
}

/* Lists the stacks that count, with their sum in node 0. */
static void list_paths(struct builder *b)
{
	struct tree *t = b->tree;
	const struct profile *p = model_get_profile(t->model);
	struct model_stack stack = {0};

	vec_reserve(&b->frames, MODEL_STACK_MAX);
	for (size_t i = 0; i < p->sites.count; i++) {
		struct amount amount =
			b->amounts ? b->amounts[i] : figure_get_estimate(p, i, t->view.figure);
		if (amount_is_zero(amount))
			continue;
		model_get_stack(t->model, i, &stack);
		struct path path = {.start = b->frames.count,
				    .amount = amount,
				    .mark = (uint32_t)b->marks.count};
		push_frames(b, &stack);
		path.count = b->frames.count - path.start;
		*vec_push(&b->paths) = path;
		t->nodes.at[0].amount = amount_plus(t->nodes.at[0].amount, amount);
	}
	vec_free(&stack.frames);
}

/* Marks come in the order of frames, and a path goes through its frames in that order. */
static struct fold_mark take_mark(const struct builder *b, struct path *path, size_t frame)
{
	if (path->mark < b->marks.count && b->marks.at[path->mark].frame == frame)
		return b->marks.at[path->mark++].mark;
	return (struct fold_mark){1, 1};
}

/* Stacks have at most MODEL_STACK_MAX frames, so that 16 bits are enough. */
static void note_recursion(struct tree_node *n, struct fold_mark mark)
{
	/* Of two cycles that begin at the same node the longer one is named. */
	if (mark.cycle > n->cycle)
		n->cycle = (uint8_t)mark.cycle;
	if (mark.repeats < n->repeats_min)
		n->repeats_min = (uint16_t)mark.repeats;
	if (mark.repeats > n->repeats_max)
		n->repeats_max = (uint16_t)mark.repeats;
}

/* Takes a path one step on; false if it ends there. */
static bool step(struct builder *b, struct map *index, struct path *path, unsigned depth)
{
	uint32_t frame = b->frames.at[path->start + depth];

	path->node = find_child(b->tree, index, path->node, frame);
	struct tree_node *n = &b->tree->nodes.at[path->node];
	n->amount = amount_plus(n->amount, path->amount);
	note_recursion(n, take_mark(b, path, path->start + depth));
	if (depth + 1 < path->count)
		return true;
	n->self = amount_plus(n->self, path->amount);
	return false;
}

static bool is_large(const struct tree *t, uint32_t node)
{
	return tree_get_share(t, t->nodes.at[node].amount) >= t->view.threshold;
}

/* The tree grows by levels: only when a level is complete is it known which of its nodes are large
 * enough to go on from. An inverted tree of a big program has millions of nodes, of which a reader
 * sees a few. */
static void grow_level(struct builder *b, unsigned depth)
{
	struct map index = {0};
	struct path *paths = b->paths.at;
	size_t left = 0;

	for (size_t i = 0; i < b->paths.count; i++)
		if (step(b, &index, &paths[i], depth))
			paths[left++] = paths[i];
	b->paths.count = left;
	left = 0;
	for (size_t i = 0; i < b->paths.count; i++)
		if (is_large(b->tree, paths[i].node))
			paths[left++] = paths[i];
	b->paths.count = left;
	map_free(&index);
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
	bool count = figure_is_count(t->view.figure);

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

static void mark_hot_path(struct tree *t)
{
	struct tree_node *n = &t->nodes.at[0];
	uint64_t above = figure_get_value(n->amount, t->view.figure) / (100 / TREE_HOT_PERCENT) * 2;

	while (n->child_count) {
		struct tree_node *child = &t->nodes.at[t->children[n->first_child]];
		uint64_t value = figure_get_value(child->amount, t->view.figure);
		if (value == 0 || value < above - above / 2)
			return;
		child->hot = true;
		above = value;
		n = child;
	}
}

struct tree *tree_build(const struct model *m, const struct tree_view *view)
{
	return tree_build_of(m, view, NULL);
}

struct tree *tree_build_of(const struct model *m, const struct tree_view *view,
			   const struct amount *amounts)
{
	struct tree *t = mem_new(1, sizeof(*t));
	struct builder b = {.tree = t, .amounts = amounts};

	t->model = m;
	t->view = *view;
	*vec_push(&t->nodes) = (struct tree_node){0};
	list_paths(&b);
	/* One level more than is shown: what the last one leaves out is stated. */
	for (unsigned depth = 0; b.paths.count && (!view->depth || depth <= view->depth); depth++)
		grow_level(&b, depth);
	sort_children(t);
	mark_hot_path(t);
	vec_free(&b.paths);
	vec_free(&b.frames);
	vec_free(&b.marks);
	fold_free(&b.fold);
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
	uint64_t whole = figure_get_value(t->nodes.at[0].amount, t->view.figure);

	return whole ? 100.0 * (double)figure_get_value(a, t->view.figure) / (double)whole : 0.0;
}

uint32_t tree_get_shown(const struct tree *t, const struct tree_node *n, unsigned depth)
{
	uint32_t most = n->child_count;
	uint32_t shown = 0;

	if (t->view.depth && depth >= t->view.depth)
		return 0;
	if (t->view.limit && most > t->view.limit)
		most = t->view.limit;
	while (shown < most &&
	       tree_get_share(t, tree_get_child(t, n, shown)->amount) >= t->view.threshold)
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
