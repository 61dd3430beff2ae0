/* diff_tree.c -- the stacks that changed between two profiles, added up into a call tree.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/diff_tree.h"

#include "model/match.h"

/* A step of a stack. */
struct step {
	uint32_t number; /* of the function, the same in both models */
	uint32_t frame;
};

struct path {
	const struct step *steps; /* in the direction of the tree */
	uint32_t count;
	uint32_t at; /* the function at the level under way; 0: the path ends before it */
	uint32_t row;
	uint8_t side;
};

struct builder {
	struct diff_tree *tree;
	struct match *match;
	VEC(struct step) steps;
	VEC(struct path) paths;
};

/* ---- stacks ---------------------------------------------------------------------------------- */

static void push_path(struct builder *b, uint32_t index, struct model_stack *stack)
{
	const struct diff *d = b->tree->diff;
	const struct diff_row *row = &d->rows.at[index];
	unsigned side = diff_get_side(row);
	const uint32_t *numbers = b->match->numbers[side][MATCH_STRICT];

	model_get_stack(d->models[side], row->subjects[side], stack);
	size_t count = stack->frames.count;
	for (size_t i = 0; i < count; i++) {
		size_t from = b->tree->direction == TREE_INVERTED ? i : count - 1 - i;
		uint32_t frame = stack->frames.at[from];
		*vec_push(&b->steps) = (struct step){numbers[frame], frame};
	}
	*vec_push(&b->paths) =
		(struct path){.count = (uint32_t)count, .row = index, .side = (uint8_t)side};
}

static void list_paths(struct builder *b)
{
	struct model_stack stack = {0};
	size_t at = 0;

	for (uint32_t i = 0; i < b->tree->diff->rows.count; i++)
		push_path(b, i, &stack);
	for (size_t i = 0; i < b->paths.count; i++) { /* they no longer move */
		b->paths.at[i].steps = b->steps.at + at;
		at += b->paths.at[i].count;
	}
	vec_free(&stack.frames);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int compare_paths(const void *left, const void *right)
{
	const struct path *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static void add_path(struct diff_node *n, const struct diff *d, const struct path *path)
{
	const struct diff_row *row = &d->rows.at[path->row];

	diff_tree_add(&n->delta, diff_tree_get_delta(row));
	n->gross += diff_distance(figure_get_value(row->amounts[0], d->figure),
				  figure_get_value(row->amounts[1], d->figure));
}

static bool is_large(const struct diff_tree *t, const struct diff_node *n)
{
	uint64_t whole = t->diff->gross;

	return !whole || 100.0 * (double)n->gross / (double)whole >= t->threshold;
}

static int64_t node_value(const struct diff_tree *t, const struct diff_node *n)
{
	return figure_is_count(t->diff->figure) ? n->delta.blocks : n->delta.bytes;
}

/* A child while its siblings are put in order. */
struct child {
	struct diff_node node;
	size_t first; /* of its paths */
	size_t count;
	int64_t value;
	bool large;
};

static int compare_children(const void *left, const void *right)
{
	const struct child *a = left, *b = right;
	bool a_grew = a->value > 0, b_grew = b->value > 0;

	if (a->large != b->large)
		return a->large ? -1 : 1;
	if (a_grew != b_grew)
		return a_grew ? -1 : 1;
	if (a->value != b->value)
		return (a_grew ? a->value > b->value : a->value < b->value) ? -1 : 1;
	if (a->node.gross != b->node.gross)
		return a->node.gross > b->node.gross ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

struct children {
	struct child *at;
	size_t count;
	size_t room;
};

/* Groups the paths, which are sorted by their function, into children. The ones that end go to
 * `self`. */
static struct children group_paths(struct builder *b, struct path *paths, size_t count,
				   unsigned depth, struct diff_delta *self)
{
	struct diff_tree *t = b->tree;
	struct children children = {0};

	for (size_t i = 0, end; i < count; i = end) {
		struct child c = {.first = i};
		for (end = i; end < count && paths[end].at == paths[i].at; end++)
			add_path(&c.node, t->diff, &paths[end]);
		if (paths[i].at == 0) {
			*self = c.node.delta;
			continue;
		}
		c.count = end - i;
		c.node.frame = paths[i].steps[depth].frame;
		c.node.side = paths[i].side;
		c.value = node_value(t, &c.node);
		c.large = is_large(t, &c.node);
		*vec_push(&children) = c;
	}
	if (children.count)
		qsort(children.at, children.count, sizeof(*children.at), compare_children);
	return children;
}

/* Makes the children of a node from the paths that pass through it. Recursion is bounded by
 * MODEL_STACK_MAX. */
static void grow(struct builder *b, uint32_t node, struct path *paths, size_t count, unsigned depth)
{
	struct diff_tree *t = b->tree;
	struct diff_delta self = {0, 0};

	for (size_t i = 0; i < count; i++)
		paths[i].at = depth < paths[i].count ? paths[i].steps[depth].number : 0;
	qsort(paths, count, sizeof(*paths), compare_paths);
	struct children children = group_paths(b, paths, count, depth, &self);
	uint32_t first = (uint32_t)t->nodes.count, shown = 0;
	for (size_t i = 0; i < children.count; i++) {
		*vec_push(&t->nodes) = children.at[i].node;
		shown += children.at[i].large && (!t->depth || depth < t->depth);
	}
	t->nodes.at[node].self = self;
	t->nodes.at[node].first_child = first;
	t->nodes.at[node].child_count = (uint32_t)children.count;
	t->nodes.at[node].shown = shown;
	for (uint32_t i = 0; i < shown; i++)
		grow(b, first + i, paths + children.at[i].first, children.at[i].count, depth + 1);
	vec_free(&children);
}

struct diff_tree *diff_tree_build(const struct diff *d, const struct tree_view *view)
{
	struct diff_tree *t = mem_new(1, sizeof(*t));
	struct builder b = {.tree = t};

	t->diff = d;
	t->direction = view->direction;
	t->threshold = view->threshold;
	t->depth = view->depth;
	*vec_push(&t->nodes) = (struct diff_node){0};
	b.match = match_new(d->models);
	list_paths(&b);
	for (size_t i = 0; i < b.paths.count; i++)
		add_path(&t->nodes.at[0], d, &b.paths.at[i]);
	if (b.paths.count)
		grow(&b, 0, b.paths.at, b.paths.count, 0);
	match_free(b.match);
	vec_free(&b.steps);
	vec_free(&b.paths);
	return t;
}

void diff_tree_free(struct diff_tree *t)
{
	if (!t)
		return;
	vec_free(&t->nodes);
	free(t);
}
