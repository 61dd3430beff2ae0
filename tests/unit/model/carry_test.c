/* carry_test.c -- names for the next profile of a recording that goes on. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "addresses.h"
#include "model/carry.h"
#include "model/resolve.h"
#include "sample.h"

__attribute__((noinline)) static int some_function(volatile int *x)
{
	for (int i = 0; i < 10; i++)
		*x += i * *x;
	return *x;
}

/* The stacks of sample_tables without their names, and `more` further ones. */
static struct profile *make_next(unsigned more)
{
	struct profile *p = sample_tables();

	p->frames.count = 1;
	for (size_t i = 1; i < p->nodes.count; i++)
		p->nodes.at[i].frames = 0;
	for (unsigned i = 0; i < more; i++)
		sample_node_in(p, 1, 1, 0);
	p->resolved = false;
	return p;
}

static void expect_sound(const struct profile *p)
{
	struct error e = {0};

	if (profile_check(p, &e) != 0)
		fail_msg("%s", e.text);
}

static void names_go_to_the_same_stacks_and_new_ones_get_none(void **state)
{
	struct profile *before = sample_tables();
	struct profile *p = make_next(2);
	uint32_t known = (uint32_t)before->nodes.count;

	(void)state;
	assert_int_equal(carry_names(p, before), known);
	assert_string_equal(addresses_function_at(p, 1), "main");
	assert_string_equal(addresses_function_at(p, known - 1), "table_new");
	assert_int_equal(p->frames.at[p->nodes.at[2].frames].line, 11);
	assert_int_equal(p->nodes.at[known].frames, 0);
	expect_sound(p);
	profile_free(p);
	profile_free(before);
}

static void inlined_frames_stay_in_their_order(void **state)
{
	struct profile *before = sample_new();
	struct profile *p = sample_new();
	uint32_t outer = sample_frame(before, "outer", "/src/app.c", 1, 0);

	(void)state;
	sample_node_in(before, 0, 1, sample_frame(before, "inner", "/src/app.h", 2, outer));
	sample_node_in(p, 0, 1, 0);
	assert_int_equal(carry_names(p, before), 2);
	const struct profile_frame *inner = &p->frames.at[p->nodes.at[1].frames];
	assert_string_equal(profile_string(p, inner->function), "inner");
	assert_string_equal(profile_string(p, p->frames.at[inner->next].function), "outer");
	expect_sound(p);
	profile_free(p);
	profile_free(before);
}

static void a_named_frame_is_the_same_by_its_name(void **state)
{
	struct profile *before = sample_new();
	struct profile *p = sample_new();

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct profile *each = i ? p : before;
		uint32_t outer = sample_python(each, 0, "spam", 1);

		sample_python(each, outer, i ? "ham" : "eggs", 2);
	}
	assert_int_equal(carry_names(p, before), 2);
	assert_string_equal(addresses_function_at(p, 1), "spam");
	assert_string_equal(addresses_function_at(p, 2), "ham");
	expect_sound(p);
	profile_free(p);
	profile_free(before);
}

static void what_is_not_the_same_any_more_ends_it(void **state)
{
	struct profile *before = sample_tables();
	struct profile *p = make_next(0);

	(void)state;
	p->nodes.at[4].pc += 16;
	assert_int_equal(carry_names(p, before), 4);
	assert_int_equal(p->nodes.at[4].frames, 0);
	expect_sound(p);
	profile_free(p);
	profile_free(before);
}

static void another_recording_gives_nothing(void **state)
{
	struct profile *before = sample_tables();
	struct profile *p = make_next(0);

	(void)state;
	p->run.start_unix_ns++;
	assert_int_equal(carry_names(p, before), 0);
	p->run.start_unix_ns--;
	p->modules.at[1].path = profile_add_string(p, "/src/other");
	assert_int_equal(carry_names(p, before), 0);
	p->modules.count = 1; /* fewer than before */
	assert_int_equal(carry_names(p, before), 0);
	assert_int_equal(p->frames.count, 1);
	profile_free(p);
	profile_free(before);
}

static void an_earlier_profile_without_names_gives_nothing(void **state)
{
	struct profile *before = make_next(0);
	struct profile *p = make_next(0);

	(void)state;
	assert_int_equal(carry_names(p, before), 0);
	profile_free(p);
	profile_free(before);
}

/* Node 1 is known to have no name, node 2 is new. */
static void what_was_looked_up_is_not_looked_up_again(void **state)
{
	const struct resolve_options options = {.known_nodes = 2};
	struct resolve_outcome outcome = {0};
	struct profile *p = profile_new();
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	uint64_t pc = addresses_address_of(some_function) + 4;

	(void)state;
	addresses_add_node(p, module, pc, false);
	addresses_add_node(p, module, pc, false);
	assert_int_equal(resolve_profile(p, &options, &outcome), 0);
	assert_int_equal(p->nodes.at[1].frames, 0);
	assert_string_equal(addresses_function_at(p, 2), "some_function");
	assert_int_equal(outcome.changed, 1);
	resolve_outcome_free(&outcome);
	profile_free(p);
}

int main(void)
{
	volatile int x = 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_go_to_the_same_stacks_and_new_ones_get_none),
		cmocka_unit_test(inlined_frames_stay_in_their_order),
		cmocka_unit_test(what_is_not_the_same_any_more_ends_it),
		cmocka_unit_test(a_named_frame_is_the_same_by_its_name),
		cmocka_unit_test(another_recording_gives_nothing),
		cmocka_unit_test(an_earlier_profile_without_names_gives_nothing),
		cmocka_unit_test(what_was_looked_up_is_not_looked_up_again),
	};

	(void)some_function(&x);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
