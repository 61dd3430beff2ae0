/* check_test.c -- limits on the figures of a profile. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/check.h"
#include "sample.h"

static const struct model_options usual = {0};

/* The result of one kind of limit on a profile, which is freed; its stacks are not looked at. */
static struct check_result judge(struct profile *p, const struct check_request *request,
				 enum check_kind kind)
{
	struct model *m = model_new(p, &usual);
	struct check *c = check_build(m, request);
	struct check_result found = {.kind = CHECK_KINDS};

	for (size_t i = 0; i < c->results.count; i++)
		if (c->results.at[i].kind == kind)
			found = c->results.at[i];
	assert_int_not_equal(found.kind, CHECK_KINDS);
	found.stacks.at = NULL;
	check_free(c);
	model_free(m);
	profile_free(p);
	return found;
}

static bool fails(struct profile *p, enum check_kind kind, uint64_t limit)
{
	struct check_request request = {.stacks = 5};

	request.limits[kind] = (struct check_limit){.set = true, .value = limit};
	return judge(p, &request, kind).failed;
}

static void a_limit_holds_at_its_value_and_not_above(void **state)
{
	(void)state;
	assert_true(fails(sample_tables(), CHECK_PEAK, 999));
	assert_false(fails(sample_tables(), CHECK_PEAK, 1000));
	assert_false(fails(sample_tables(), CHECK_PEAK, 1001));
	assert_true(fails(sample_tables(), CHECK_LEAKED, 0));
	assert_false(fails(sample_tables(), CHECK_LEAKED, 1000));
	assert_true(fails(sample_tables(), CHECK_ALLOCATIONS, 9));
	assert_false(fails(sample_tables(), CHECK_ALLOCATIONS, 10));
	assert_false(fails(sample_tables(), CHECK_TEMPORARY, 0));
	assert_false(fails(sample_new(), CHECK_LEAKED, 0));
}

static void a_share_is_compared_exactly(void **state)
{
	struct check_request request = {0};

	(void)state;
	for (uint64_t temporary = 0; temporary < 3; temporary++) {
		struct profile *p = sample_tables();
		p->totals.temporary_allocations = temporary;
		request.limits[CHECK_TEMPORARY] =
			(struct check_limit){.set = true, .relative = true, .value = 100000};
		assert_int_equal(judge(p, &request, CHECK_TEMPORARY).failed, temporary > 1);
	}
}

static void damage_and_lost_events_fail_unless_they_are_allowed(void **state)
{
	(void)state;
	for (unsigned allowed = 0; allowed < 2; allowed++) {
		struct check_request request = {.allow_damaged = allowed};
		struct profile *p = sample_tables();
		p->damaged = true;
		assert_int_equal(judge(p, &request, CHECK_INTACT).failed, !allowed);
		p = sample_tables();
		p->totals.lost_events = 1;
		assert_int_equal(judge(p, &request, CHECK_LOST).failed, !allowed);
	}
	assert_false(fails(sample_tables(), CHECK_LOST, 0));
	struct profile *p = sample_tables();
	p->totals.lost_events = 4;
	assert_false(fails(p, CHECK_LOST, 4));
}

static void growth_is_compared_with_the_other_profile(void **state)
{
	struct profile *before = sample_tables();
	struct model *baseline = model_new(before, &usual);
	struct check_request request = {.baseline = baseline, .stacks = 2};

	(void)state;
	request.limits[CHECK_PEAK_GROWTH] =
		(struct check_limit){.set = true, .relative = true, .value = 50000};
	for (uint64_t more = 0; more < 3; more++) {
		struct profile *p = sample_tables();
		sample_site(p, p->sites.at[0].node, 49 + more, 1); /* of 1000 before */
		assert_int_equal(judge(p, &request, CHECK_PEAK_GROWTH).failed, more > 1);
	}
	assert_false(judge(sample_new(), &request, CHECK_PEAK_GROWTH).failed);
	model_free(baseline);
	profile_free(before);
	before = sample_new();
	baseline = model_new(before, &usual);
	request.baseline = baseline;
	assert_true(judge(sample_tables(), &request, CHECK_LEAKED_GROWTH).failed); /* from 0 */
	model_free(baseline);
	profile_free(before);
}

static void the_largest_stacks_are_named_first(void **state)
{
	struct profile *p = sample_tables();
	struct model *m = model_new(p, &usual);
	struct check_request request = {.stacks = 2};

	(void)state;
	request.limits[CHECK_PEAK] = (struct check_limit){.set = true};
	struct check *c = check_build(m, &request);
	assert_int_equal(c->failures, 1);
	const struct check_result *r = &c->results.at[c->results.count - 1];
	assert_int_equal(r->stacks.count, 2);
	assert_int_equal(r->stacks.at[0].amount.bytes, 600);
	assert_int_equal(r->stacks.at[1].amount.bytes, 250);
	check_free(c);
	request.stacks = 0;
	c = check_build(m, &request);
	assert_int_equal(c->results.at[c->results.count - 1].stacks.count, 0);
	check_free(c);
	model_free(m);
	profile_free(p);
}

static void suppressed_leaks_do_not_count_and_are_not_named(void **state)
{
	struct profile *p = sample_tables();
	struct model *m = model_new(p, &usual);
	const bool suppressed[] = {true, false, true, false};
	struct check_request request = {.stacks = 5, .suppressed = {NULL, suppressed}};

	(void)state;
	request.limits[CHECK_LEAKED] = (struct check_limit){.set = true, .value = 149};
	struct check *c = check_build(m, &request);
	const struct check_result *r = &c->results.at[c->results.count - 1];
	assert_int_equal(r->value, 150);
	assert_int_equal(r->suppressed.bytes, 850);
	assert_int_equal(r->suppressed.blocks, 8);
	assert_true(r->failed);
	assert_int_equal(r->stacks.count, 2);
	check_free(c);
	model_free(m);
	profile_free(p);
}

static void suppressed_leaks_do_not_count_as_growth_either(void **state)
{
	struct profile *before = sample_tables(), *now = sample_tables();
	struct model *models[2] = {model_new(before, &usual), NULL};
	const bool old[] = {true, false, false, false};
	const bool new[] = {true, false, false, false, true};
	struct check_request request = {
		.stacks = 5, .baseline = models[0], .suppressed = {old, new}};

	(void)state;
	request.limits[CHECK_PEAK_GROWTH] = (struct check_limit){.set = true, .relative = true};
	sample_site(now, sample_node(now, 0, "keeps", 1), 5000, 1);
	models[1] = model_new(now, &usual);
	struct check *c = check_build(models[1], &request);
	const struct check_result *r = NULL;
	for (size_t i = 0; i < c->results.count; i++)
		if (c->results.at[i].kind == CHECK_LEAKED_GROWTH)
			r = &c->results.at[i];
	assert_non_null(r);
	assert_false(r->failed);
	assert_int_equal(r->before, 400);
	assert_int_equal(r->value, 400);
	assert_int_equal(r->suppressed_before.bytes, 600);
	assert_int_equal(r->suppressed.bytes, 5600);
	check_free(c);
	for (unsigned i = 0; i < 2; i++)
		model_free(models[i]);
	profile_free(before);
	profile_free(now);
}

static void only_limits_that_were_set_are_looked_at(void **state)
{
	struct profile *p = sample_tables();
	struct model *m = model_new(p, &usual);
	struct check_request request = {0};

	(void)state;
	struct check *c = check_build(m, &request);
	assert_int_equal(c->results.count, 2); /* damage, losses */
	assert_int_equal(c->failures, 0);
	check_free(c);
	model_free(m);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_holds_at_its_value_and_not_above),
		cmocka_unit_test(a_share_is_compared_exactly),
		cmocka_unit_test(damage_and_lost_events_fail_unless_they_are_allowed),
		cmocka_unit_test(growth_is_compared_with_the_other_profile),
		cmocka_unit_test(the_largest_stacks_are_named_first),
		cmocka_unit_test(suppressed_leaks_do_not_count_and_are_not_named),
		cmocka_unit_test(suppressed_leaks_do_not_count_as_growth_either),
		cmocka_unit_test(only_limits_that_were_set_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
