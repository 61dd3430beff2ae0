/* reach_test.c -- classes of blocks in graphs whose answer is known, and finding a block by an
 * address. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Wants the headers above. */
#include <cmocka.h>

#include "collect/reach.h"

#define BLOCK_BYTES 64u

/* Blocks 0 to count - 1 at 0x1000, 0x1040, ... */
static void make_blocks(struct reach *r, uint32_t count)
{
	memset(r, 0, sizeof(*r));
	for (uint32_t i = 0; i < count; i++)
		*vec_push(&r->blocks) =
			(struct reach_block){.start = 0x1000 + (uint64_t)i * BLOCK_BYTES,
					     .size = BLOCK_BYTES,
					     .site = i};
	reach_sort(r);
}

/* The pointers of the next block, ending in REACH_NONE; the n-th of all points n bytes behind a
 * start, if it is to the inside. */
static void add_pointers(struct reach *r, const uint32_t *targets)
{
	*vec_push(&r->firsts) = r->targets.count;
	for (; *targets != REACH_NONE; targets++) {
		*vec_push(&r->insides) = (uint32_t)r->targets.count;
		*vec_push(&r->targets) = *targets;
	}
}

#define POINTERS(r, ...) add_pointers(r, (const uint32_t[]){__VA_ARGS__})
#define NOTHING		 REACH_NONE

static void run(struct reach *r)
{
	*vec_push(&r->firsts) = r->targets.count;
	assert_int_equal(r->firsts.count, r->blocks.count + 1);
	reach_run(r);
	assert_int_equal(r->order.count, r->blocks.count);
}

static void add_root(struct reach *r, uint32_t target)
{
	*vec_push(&r->roots) = (struct reach_root){.target = target};
}

static void check_classes(const struct reach *r, const char *classes)
{
	static const char letters[] = {'d', 'i', 'n', 'h'};
	char found[64] = "";

	for (size_t i = 0; i < r->blocks.count; i++)
		found[i] = letters[r->classes[i]];
	assert_string_equal(found, classes);
}

static void test_chains_hold_what_they_lead_to(void **state)
{
	struct reach r;

	(void)state;
	make_blocks(&r, 4);
	POINTERS(&r, 2, NOTHING);
	POINTERS(&r, NOTHING);
	POINTERS(&r, 1, 0, NOTHING);
	POINTERS(&r, NOTHING);
	add_root(&r, 0);
	run(&r);
	check_classes(&r, "hhhd");
	assert_int_equal(r.holders[0], 0 | REACH_ROOT);
	assert_int_equal(r.holders[1], 2);
	assert_int_equal(r.holders[2], 0);
	assert_int_equal(r.holders[3], REACH_NONE);
	reach_fini(&r);
}

static void test_a_pointer_inside_makes_all_behind_it_doubtful(void **state)
{
	struct reach r;

	(void)state;
	make_blocks(&r, 4);
	POINTERS(&r, 1 | REACH_INSIDE, NOTHING);
	POINTERS(&r, 2, 3, NOTHING);
	POINTERS(&r, NOTHING);
	POINTERS(&r, NOTHING);
	add_root(&r, 0);
	add_root(&r, 3);
	run(&r);
	check_classes(&r, "hnnh");
	reach_fini(&r);
}

static bool accept_second(void *context, const struct reach_doubt *doubt)
{
	(void)context;
	assert_int_equal(doubt->holder, 0);
	return doubt->target == 1;
}

static void test_a_pointer_inside_that_is_accepted_is_as_good_as_another(void **state)
{
	struct reach r;

	(void)state;
	make_blocks(&r, 4);
	POINTERS(&r, 1 | REACH_INSIDE, 3 | REACH_INSIDE, NOTHING);
	POINTERS(&r, 2, NOTHING);
	POINTERS(&r, NOTHING);
	POINTERS(&r, NOTHING);
	add_root(&r, 0);
	r.accepts = accept_second;
	run(&r);
	check_classes(&r, "hhhn");
	reach_fini(&r);
}

/* Accepts the last of 1000 pointers, and counts the questions. */
static bool accept_last(void *context, const struct reach_doubt *doubt)
{
	++*(unsigned *)context;
	assert_int_equal(doubt->target, 1);
	return doubt->inside == 999;
}

static void test_each_pointer_inside_is_asked_for_by_itself(void **state)
{
	struct reach r;
	uint32_t many[1001];
	unsigned asked = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		many[i] = 1 | REACH_INSIDE;
	many[1000] = NOTHING;
	make_blocks(&r, 3);
	add_pointers(&r, many);
	POINTERS(&r, 2, NOTHING);
	POINTERS(&r, NOTHING);
	add_root(&r, 0);
	r.accepts = accept_last;
	r.context = &asked;
	run(&r);
	check_classes(&r, "hhh");
	assert_int_equal(asked, 1000);
	reach_fini(&r);
}

static void test_of_a_circle_the_lowest_is_lost_unless_something_leads_into_it(void **state)
{
	struct reach r;

	(void)state;
	make_blocks(&r, 6);
	POINTERS(&r, 1, NOTHING);
	POINTERS(&r, 2, NOTHING);
	POINTERS(&r, 0, NOTHING);
	POINTERS(&r, 4, NOTHING); /* a second circle, 3 and 4, */
	POINTERS(&r, 3, NOTHING);
	POINTERS(&r, 4 | REACH_INSIDE, NOTHING); /* and what leads into its middle */
	run(&r);
	check_classes(&r, "diiiid");
	reach_fini(&r);
}

static void test_what_is_lost_comes_right_behind_what_it_is_lost_with(void **state)
{
	struct reach r;

	(void)state;
	make_blocks(&r, 5);
	POINTERS(&r, 2, NOTHING);
	POINTERS(&r, 3, NOTHING);
	POINTERS(&r, 4, NOTHING);
	POINTERS(&r, 4, NOTHING);
	POINTERS(&r, NOTHING);
	run(&r);
	check_classes(&r, "ddiii");
	for (size_t i = 1; i < r.order.count; i++)
		if (r.classes[r.order.at[i]] == REACH_INDIRECT)
			assert_int_equal(r.holders[r.order.at[i]], r.order.at[i - 1]);
	reach_fini(&r);
}

static void test_a_deep_chain_needs_no_deep_stack(void **state)
{
	struct reach r;
	const uint32_t count = 1000000;

	(void)state;
	make_blocks(&r, count);
	for (uint32_t i = 0; i < count; i++) {
		*vec_push(&r.firsts) = r.targets.count;
		if (!i)
			continue;
		*vec_push(&r.targets) = i - 1;
		*vec_push(&r.insides) = 0;
	}
	run(&r);
	assert_int_equal(r.classes[count - 1], REACH_DEFINITE);
	assert_int_equal(r.classes[0], REACH_INDIRECT);
	reach_fini(&r);
}

/* The slow way, for comparison. */
static uint32_t find_slowly(const struct reach *r, uint64_t address)
{
	for (uint32_t i = 0; i < r->blocks.count; i++) {
		uint64_t offset = address - r->blocks.at[i].start;

		if (offset == 0)
			return i;
		if (address > r->blocks.at[i].start && offset < r->blocks.at[i].size)
			return i | REACH_INSIDE;
	}
	return REACH_NONE;
}

static uint32_t draw(unsigned *seed)
{
	return (uint32_t)rand_r(seed);
}

static void test_a_block_is_found_by_any_address_inside(void **state)
{
	struct reach r = {0};
	uint64_t at = 0x10000;
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 500; i++) {
		uint64_t size = draw(&seed) % 8 ? draw(&seed) % 200 : draw(&seed) % 30000;

		*vec_push(&r.blocks) = (struct reach_block){.start = at, .size = size};
		at += size + 1 + draw(&seed) % 5000;
		if (draw(&seed) % 50 == 0)
			at += draw(&seed) % (8u << 20); /* another MiB, perhaps not the next one */
	}
	for (size_t i = r.blocks.count; i > 1; i--) { /* in any order */
		size_t other = draw(&seed) % i;
		struct reach_block kept = r.blocks.at[i - 1];

		r.blocks.at[i - 1] = r.blocks.at[other];
		r.blocks.at[other] = kept;
	}
	reach_sort(&r);
	for (uint64_t address = 0xff00; address < at + 5000; address += 1 + draw(&seed) % 997)
		assert_int_equal(reach_find(&r, address), find_slowly(&r, address));
	for (size_t i = 0; i < r.blocks.count; i++)
		assert_int_equal(reach_find(&r, r.blocks.at[i].start), i);
	reach_fini(&r);
}

static void test_many_are_found_as_one_is(void **state)
{
	struct reach r = {0};
	uint64_t addresses[1000];
	uint32_t found[1000];
	unsigned seed = 9;

	(void)state;
	for (uint64_t i = 0; i < 3000; i++)
		*vec_push(&r.blocks) = (struct reach_block){
			.start = 0x7f0000000000 + i * 1008 + i / 1000 * (3u << 20), .size = 1000};
	reach_sort(&r);
	for (int round = 0; round < 20; round++) {
		size_t count = draw(&seed) % 1001;

		for (size_t i = 0; i < count; i++)
			addresses[i] = 0x7f0000000000 - 5000 + draw(&seed) % (13u << 20);
		reach_find_many(&r, addresses, found, count);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(found[i], find_slowly(&r, addresses[i]));
	}
	reach_fini(&r);
}

static void test_blocks_that_cannot_be_do_no_harm(void **state)
{
	struct reach r = {0};

	(void)state;
	*vec_push(&r.blocks) = (struct reach_block){.start = 0x3000, .size = UINT64_MAX - 0x3000};
	*vec_push(&r.blocks) = (struct reach_block){.start = 0x1000, .size = UINT64_MAX - 0x1000};
	*vec_push(&r.blocks) = (struct reach_block){.start = UINT64_MAX, .size = 0};
	reach_sort(&r);
	assert_int_equal(reach_find(&r, 0), REACH_NONE);
	assert_int_equal(reach_find(&r, 0x2fff), 0 | REACH_INSIDE);
	assert_int_equal(reach_find(&r, 0x3000), 1);
	assert_int_equal(reach_find(&r, UINT64_MAX - 1), 1 | REACH_INSIDE);
	assert_int_equal(reach_find(&r, UINT64_MAX), 2);
	reach_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains_hold_what_they_lead_to),
		cmocka_unit_test(test_a_pointer_inside_makes_all_behind_it_doubtful),
		cmocka_unit_test(test_a_pointer_inside_that_is_accepted_is_as_good_as_another),
		cmocka_unit_test(test_each_pointer_inside_is_asked_for_by_itself),
		cmocka_unit_test(
			test_of_a_circle_the_lowest_is_lost_unless_something_leads_into_it),
		cmocka_unit_test(test_what_is_lost_comes_right_behind_what_it_is_lost_with),
		cmocka_unit_test(test_a_deep_chain_needs_no_deep_stack),
		cmocka_unit_test(test_a_block_is_found_by_any_address_inside),
		cmocka_unit_test(test_many_are_found_as_one_is),
		cmocka_unit_test(test_blocks_that_cannot_be_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
