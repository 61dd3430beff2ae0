/* stacktree_test.c -- a stack has one node, whoever asks and however many ask at once.
 * Runs: as a unit test, also under ThreadSanitizer. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <sched.h>

#include "capture/stacktree.h"

/* ---- a tree without a process ---------------------------------------------------------------- */

#define NODE_COUNT (1u << 17)

static _Atomic uint32_t roots[SEGMENT_ROOT_COUNT];
static struct segment_node nodes[NODE_COUNT];
static _Atomic uint32_t nodes_used;
static struct segment_slot slot;
static struct thread adder = {.slot = &slot};

static struct stacktree make_tree(uint32_t node_count)
{
	memset(roots, 0, sizeof(roots));
	memset(nodes, 0, sizeof(nodes));
	atomic_store(&nodes_used, 0);
	adder.spare_node = 0;
	return (struct stacktree){.roots = roots,
				  .nodes = nodes,
				  .nodes_used = &nodes_used,
				  .node_count = node_count};
}

/* The hash of the path to a node, as whoever walked it would have it. */
static uint32_t hash_of(uint32_t node)
{
	return node ? stacktree_hash(hash_of(segment_node_parent(nodes, node)),
				     segment_node_place(nodes, node))
		    : 0;
}

static uint32_t add(const struct stacktree *tree, uint32_t parent, uint32_t place)
{
	const struct stacktree_run run = {
		.outer = parent, .outer_hash = hash_of(parent), .places = &place, .count = 1};

	bool full = false;

	return stacktree_add(&adder, tree, &run, &full);
}

static uint32_t find(const struct stacktree *tree, uint32_t parent, uint32_t place)
{
	const struct stacktree_run run = {
		.outer = parent, .outer_hash = hash_of(parent), .places = &place, .count = 1};

	return stacktree_find(tree, &run, stacktree_hash(hash_of(parent), place));
}

static void the_same_frame_below_the_same_parent_is_the_same_node(void **state)
{
	struct stacktree tree = make_tree(100);
	uint32_t outer = add(&tree, 0, 0x1000);
	uint32_t inner = add(&tree, outer, 0x2000);

	(void)state;
	assert_int_not_equal(outer, 0);
	assert_int_not_equal(inner, 0);
	assert_int_equal(add(&tree, 0, 0x1000), outer);
	assert_int_equal(add(&tree, outer, 0x2000), inner);
	assert_int_equal(atomic_load(&nodes_used), 2); /* side by side */
}

static void a_node_holds_what_it_was_made_of(void **state)
{
	struct stacktree tree = make_tree(100);
	uint32_t outer = add(&tree, 0, 3);
	uint32_t inner = add(&tree, outer, 7 | SEGMENT_NODE_EXACT);

	(void)state;
	assert_int_equal(segment_node_parent(nodes, inner), outer);
	assert_int_equal(segment_node_place(nodes, inner), 7 | SEGMENT_NODE_EXACT);
	assert_int_equal(segment_node_parent(nodes, outer), 0);
	uint32_t other = add(&tree, outer, 8); /* not beside its parent */
	assert_int_equal(segment_node_parent(nodes, other), outer);
	assert_int_equal(segment_node_place(nodes, other), 8);
}

static void another_parent_place_or_flag_is_another_node(void **state)
{
	struct stacktree tree = make_tree(100);
	uint32_t first = add(&tree, 0, 0x1000);
	uint32_t found[] = {first, add(&tree, first, 0x1000), add(&tree, 0, 0x1001),
			    add(&tree, 0, 0x1000 | SEGMENT_NODE_EXACT),
			    add(&tree, 0, SEGMENT_NODE_CUT)};

	(void)state;
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(found[i], found[j]);
}

static void a_full_tree_gives_the_parent_and_still_knows_its_nodes(void **state)
{
	struct stacktree tree = make_tree(11); /* ten, as index 0 is none */
	uint32_t parent = 0, path[10];

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		path[i] = parent = add(&tree, parent, 0x1000 + i);
	atomic_store(&slot.losses.truncated_stacks, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(add(&tree, path[3], 0x9000 + i), path[3]);
		assert_int_equal(add(&tree, 0, 0x9000 + i), 0);
	}
	assert_int_equal(atomic_load(&slot.losses.truncated_stacks), 2000);
	assert_int_equal(atomic_load(&nodes_used), 10);
	parent = 0;
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(parent = add(&tree, parent, 0x1000 + i), path[i]);
}

static void a_tree_filled_by_chance_has_no_node_twice_and_loses_none(void **state)
{
	enum { COUNT = 60000 };
	struct stacktree tree = make_tree(NODE_COUNT);
	static uint32_t found[COUNT];

	(void)state;
	/* Places that differ in a few low bits only, below a few parents. */
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(find(&tree, i % 64, 0x10000 + i / 64), 0);
		found[i] = add(&tree, i % 64, 0x10000 + i / 64);
		assert_int_equal(find(&tree, i % 64, 0x10000 + i / 64), found[i]);
	}
	uint32_t used = atomic_load(&nodes_used);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(add(&tree, i % 64, 0x10000 + i / 64), found[i]);
	assert_int_equal(atomic_load(&nodes_used), used);
}

/* The root of a place that has no parent. */
static uint32_t root_of(uint32_t place)
{
	struct stacktree tree = make_tree(100);

	(void)add(&tree, 0, place);
	for (uint32_t i = 0; i < SEGMENT_ROOT_COUNT; i++)
		if (atomic_load(&roots[i]))
			return i;
	return 0;
}

/* Where a root is found by the top bits of a product of the hash, as stacktree.c has it. */
static uint32_t guess_root(uint32_t place)
{
	return stacktree_hash(0, place) * UINT32_C(0x85ebca6b) /
	       (UINT32_MAX / SEGMENT_ROOT_COUNT + 1);
}

static void many_nodes_with_one_root_are_all_found(void **state)
{
	enum { WANTED = 0x1234, MOST = 40 };
	static uint32_t places[MOST], found[MOST];
	uint32_t count = 0, root = root_of(WANTED);

	(void)state;
	assert_int_equal(guess_root(WANTED), root);
	struct stacktree tree = make_tree(NODE_COUNT);
	for (uint32_t i = 1; i <= SEGMENT_NODE_PLACE_MASK && count < MOST; i++)
		if (guess_root(i) == root)
			places[count++] = i;
	assert_int_equal(count, MOST);
	for (uint32_t i = 0; i < MOST; i++) {
		assert_int_equal(find(&tree, 0, places[i]), 0);
		found[i] = add(&tree, 0, places[i]);
		for (uint32_t k = 0; k <= i; k++)
			assert_int_equal(find(&tree, 0, places[k]), found[k]);
	}
	for (uint32_t i = 0; i < MOST; i++)
		assert_int_equal(add(&tree, 0, places[i]), found[i]);
}

static void a_node_kept_in_reserve_is_used_before_a_new_one(void **state)
{
	struct stacktree tree = make_tree(100);
	enum { KNOWN = 0x1000, FRESH = 0x2000 };

	(void)state;
	(void)add(&tree, 0, KNOWN);
	atomic_store(&nodes_used, 3); /* as if node 3, with its parent in slot 2, had lost a race */
	adder.spare_node = 3;
	(void)add(&tree, 0, KNOWN);
	assert_int_equal(adder.spare_node, 3);
	assert_int_equal(add(&tree, 0, FRESH), 3);
	assert_int_equal(adder.spare_node, 0);
	assert_int_equal(atomic_load(&nodes_used), 3);
	assert_int_equal(segment_node_parent(nodes, 3), 0);
}

/* ---- many threads ---------------------------------------------------------------------------- */

enum { THREADS = 4, STACKS = 3000, INSERTS = 100000, DEPTH = 12, ABREAST = 20 };

/* Stack s: its outer frames are shared with many others, its inner ones with few. */
static uint32_t frame_of(uint32_t stack, uint32_t depth)
{
	return 0x400000 + depth * 0x10000 + stack % (1u << depth);
}

static uint32_t depth_of(uint32_t stack)
{
	return DEPTH - stack % 4;
}

static _Atomic uint32_t arrived;

struct inserter {
	pthread_t thread;
	const struct stacktree *tree;
	uint32_t number;
	struct segment_slot slot;
	struct thread state;
	uint32_t found[STACKS];
	uint32_t contradictions;
};

static uint32_t insert_stack(struct inserter *in, uint32_t stack)
{
	uint32_t count = depth_of(stack);
	uint32_t leaf_first[DEPTH];
	const struct stacktree_run run = {.places = leaf_first, .count = count};

	for (uint32_t depth = 0; depth < count; depth++)
		leaf_first[count - 1 - depth] = frame_of(stack, depth);
	bool full = false;

	return stacktree_add(&in->state, in->tree, &run, &full);
}

/* Waits for the others, awake: a sleeper would come too late for any race. */
static void draw_level(uint32_t round)
{
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < THREADS * (round + 1))
		(void)sched_yield();
}

static void *insert_many(void *argument)
{
	struct inserter *in = argument;
	uint64_t random = in->number;

	for (uint32_t i = 0; i < INSERTS; i++) {
		/* Everybody goes through all stacks at first, side by side, then by chance. */
		if (i < STACKS && i % ABREAST == 0)
			draw_level(i / ABREAST);
		uint32_t stack = i < STACKS ? i : (uint32_t)(fixture_random(&random) % STACKS);
		uint32_t node = insert_stack(in, stack);

		if (in->found[stack] && in->found[stack] != node)
			in->contradictions++;
		in->found[stack] = node;
	}
	return NULL;
}

struct key {
	uint32_t parent;
	uint32_t place;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* No place is 0 here, so such a slot is none; and one before a FAR node names its parent. */
static bool is_node(const struct inserter *in, uint32_t i)
{
	for (uint32_t t = 0; t < THREADS; t++)
		if (in[t].state.spare_node == i)
			return false;
	return nodes[i].place && !(nodes[i + 1].place & SEGMENT_NODE_FAR);
}

/* Every node but the reserved ones must have a key of its own. */
static void check_no_duplicates(const struct inserter *in)
{
	uint32_t used = atomic_load(&nodes_used), count = 0;
	static struct key sorted[NODE_COUNT];

	for (uint32_t i = 1; i <= used; i++)
		if (is_node(in, i))
			sorted[count++] = (struct key){segment_node_parent(nodes, i),
						       segment_node_place(nodes, i)};
	qsort(sorted, count, sizeof(sorted[0]), compare_keys);
	for (uint32_t i = 1; i < count; i++)
		assert_int_not_equal(compare_keys(&sorted[i - 1], &sorted[i]), 0);
}

static void check_path(uint32_t node, uint32_t stack)
{
	for (uint32_t depth = depth_of(stack); depth-- > 0; node = segment_node_parent(nodes, node))
		assert_int_equal(segment_node_place(nodes, node), frame_of(stack, depth));
	assert_int_equal(node, 0);
}

static void insert_all_at_once(struct inserter *in, const struct stacktree *tree)
{
	atomic_store(&arrived, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		in[i] = (struct inserter){.tree = tree, .number = i + 1};
		in[i].state.slot = &in[i].slot;
		assert_int_equal(pthread_create(&in[i].thread, NULL, insert_many, &in[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		(void)pthread_join(in[i].thread, NULL);
}

static void when_four_threads_insert_the_same_stacks_all_get_the_same_nodes(void **state)
{
	static struct inserter in[THREADS];

	(void)state;
	for (unsigned round = 0; round < 5; round++) { /* races are rare: more chances */
		struct stacktree tree = make_tree(NODE_COUNT);

		insert_all_at_once(in, &tree);
		for (uint32_t i = 0; i < THREADS; i++) {
			assert_int_equal(in[i].contradictions, 0);
			assert_memory_equal(in[i].found, in[0].found, sizeof(in[0].found));
		}
		for (uint32_t stack = 0; stack < STACKS; stack++)
			check_path(in[0].found[stack], stack);
		check_no_duplicates(in);
	}
}

/* ---- the stack of a thread ------------------------------------------------------------------- */

static uint32_t intern(const uint32_t *places, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		thread_self->frames[i] = places[i];
	return stacktree_intern(thread_self, count);
}

static uint32_t parent_of(uint32_t node)
{
	return segment_node_parent(process_node(0), node);
}

static void a_stack_is_found_again_from_its_node(void **state)
{
	static const uint32_t leaf_first[] = {0x50, 0x40, 0x30, 0x20, 0x10};

	(void)state;
	FIXTURE_BEGIN(0);
	assert_true(cold_enter(0, 0));
	uint32_t node = intern(leaf_first, 5);
	for (uint32_t i = 0; i < 5; i++, node = segment_node_parent(process_node(0), node))
		assert_int_equal(segment_node_place(process_node(0), node), leaf_first[i]);
	assert_int_equal(node, 0);
}

static void stacks_share_their_outer_frames(void **state)
{
	static const uint32_t one[] = {0x50, 0x40, 0x30, 0x20, 0x10};
	static const uint32_t other[] = {0x99, 0x30, 0x20, 0x10};

	(void)state;
	FIXTURE_BEGIN(0);
	assert_true(cold_enter(0, 0));
	uint32_t first = intern(one, 5);
	uint32_t second = intern(other, 4);
	uint32_t fork = parent_of(parent_of(first));
	assert_int_equal(parent_of(second), fork);
	assert_int_equal(intern(one, 5), first);
	assert_int_equal(intern(one + 2, 3), fork);
	assert_int_equal(intern(one, 0), 0);
	assert_int_equal(atomic_load(&process->header->nodes_used),
			 7); /* one of which names a parent */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_frame_below_the_same_parent_is_the_same_node),
		cmocka_unit_test(a_node_holds_what_it_was_made_of),
		cmocka_unit_test(another_parent_place_or_flag_is_another_node),
		cmocka_unit_test(a_full_tree_gives_the_parent_and_still_knows_its_nodes),
		cmocka_unit_test(a_tree_filled_by_chance_has_no_node_twice_and_loses_none),
		cmocka_unit_test(many_nodes_with_one_root_are_all_found),
		cmocka_unit_test(a_node_kept_in_reserve_is_used_before_a_new_one),
		cmocka_unit_test(when_four_threads_insert_the_same_stacks_all_get_the_same_nodes),
		cmocka_unit_test(a_stack_is_found_again_from_its_node),
		cmocka_unit_test(stacks_share_their_outer_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
