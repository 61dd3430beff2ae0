/* shares_test.c -- a thread's share of a site is found, whether the site is its own or not.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/shares.h"

/* Site 0 is thread 2's, sites 1 and 3 are shared, of site 2 nothing is known. */
static struct profile *build(void)
{
	struct profile *p = profile_new();

	*vec_push(&p->sites) = (struct profile_site){
		.thread = 2, .allocations = 5, .allocated_bytes = 50, .temporary = 4};
	for (int i = 0; i < 3; i++)
		*vec_push(&p->sites) = (struct profile_site){.allocations = 9};
	*vec_push(&p->parts) = (struct profile_part){.site = 1, .thread = 0, .allocations = 1};
	*vec_push(&p->parts) = (struct profile_part){.site = 1, .thread = 1, .allocations = 3};
	*vec_push(&p->parts) = (struct profile_part){
		.site = 1, .thread = 2, .allocations = 5, .at_peak_bytes = 70, .at_peak_blocks = 7};
	*vec_push(&p->parts) = (struct profile_part){.site = 3, .thread = 2, .allocations = 9};
	return p;
}

static void a_site_of_one_thread_is_its_share(void **state)
{
	struct profile *p = build();
	struct profile_part share = shares_find(p, 0, 2);

	(void)state;
	assert_int_equal(shares_get_count(p, 0), 1);
	assert_int_equal(shares_get(p, 0, 0).allocations, 5);
	assert_int_equal(share.allocated_bytes, 50);
	assert_int_equal(shares_get_amount(&share, FIGURE_TEMPORARY).blocks, 4);
	assert_int_equal(shares_find(p, 0, 1).allocations, 0);
	profile_free(p);
}

static void a_shared_site_has_a_share_per_thread(void **state)
{
	struct profile *p = build();
	struct profile_part share = shares_find(p, 1, 2);

	(void)state;
	assert_int_equal(shares_get_count(p, 1), 3);
	assert_int_equal(shares_get(p, 1, 0).thread, 0);
	assert_int_equal(shares_get(p, 1, 2).thread, 2);
	assert_int_equal(shares_find(p, 1, 1).allocations, 3);
	assert_int_equal(shares_get_amount(&share, FIGURE_PEAK).bytes, 70);
	assert_int_equal(shares_get_amount(&share, FIGURE_CALLS).blocks, 5);
	assert_int_equal(shares_find(p, 1, 77).allocations, 0);
	assert_int_equal(shares_get_count(p, 3), 1);
	profile_free(p);
}

static void a_profile_without_shares_says_so(void **state)
{
	struct profile *p = build();

	(void)state;
	assert_int_equal(shares_get_count(p, 2), 0);
	assert_true(shares_are_known(p));
	p->parts.count = 0;
	p->sites.at[0].thread = 0;
	assert_false(shares_are_known(p));
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_of_one_thread_is_its_share),
		cmocka_unit_test(a_shared_site_has_a_share_per_thread),
		cmocka_unit_test(a_profile_without_shares_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
