/* ranking_test.c -- who holds, grows and allocates, between two states. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model/ranking.h"
#include "sample.h"

#define SECOND UINT64_C(1000000000)

struct fixture {
	struct profile *p;
	struct model *m;
	struct ranking_base start; /* empty */
	struct ranking_base base;
	struct ranking r;
};

static struct fixture f;

/* sample_tables after ten seconds, noted; then save frees a block of table_new, allocates ten and
 * frees them at once; one second later. */
static int set_up(void **state)
{
	struct profile *p = sample_tables();

	p->run.duration_ns = 10 * SECOND;
	p->run.start_unix_ns = 7;
	ranking_note(&f.base, p);
	p->sites.at[2].live_bytes -= 125;
	p->sites.at[2].live_blocks -= 1;
	p->sites.at[3].allocations += 10;
	p->sites.at[3].allocated_bytes += 500;
	p->totals.leaked_bytes -= 125;
	p->totals.leaked_blocks -= 1;
	p->totals.allocations += 10;
	p->totals.allocated_bytes += 500;
	p->run.duration_ns = 11 * SECOND;
	f.p = p;
	f.m = model_new(p, &(struct model_options){0});
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ranking_free(&f.r);
	ranking_base_free(&f.base);
	model_free(f.m);
	profile_free(f.p);
	f = (struct fixture){0};
	return 0;
}

static struct ranking_request since(const struct ranking_base *base)
{
	return (struct ranking_request){.model = f.m, .mark = base, .before = base, .filter = ""};
}

static const char *name_of(size_t row)
{
	return model_get_frame(f.m, f.r.rows.at[row].frame)->function;
}

static void rows_are_functions_by_what_they_hold(void **state)
{
	const struct ranking_request request = since(&f.base);

	(void)state;
	ranking_build(&f.r, &request);
	assert_int_equal(f.r.rows.count, 2);
	assert_string_equal(name_of(0), "table_new");
	assert_int_equal(f.r.rows.at[0].stacks, 3);
	assert_int_equal(f.r.rows.at[0].site, 0);
	assert_int_equal(f.r.rows.at[0].figures.live.bytes, 825);
	assert_int_equal(f.r.rows.at[0].figures.live.blocks, 8);
	assert_int_equal(f.r.rows.at[0].figures.growth_bytes, -125);
	assert_int_equal(f.r.rows.at[0].figures.allocated.blocks, 0);
	assert_string_equal(name_of(1), "save");
	assert_int_equal(f.r.rows.at[1].figures.allocated.blocks, 10);
	assert_int_equal(f.r.rows.at[1].figures.allocated.bytes, 500);
	assert_int_equal(f.r.whole.live.bytes, 875);
	assert_int_equal(f.r.whole.growth_bytes, -125);
	assert_int_equal(f.r.span_ns, SECOND);
}

static void keys_order_rows(void **state)
{
	struct ranking_request request = since(&f.base);

	(void)state;
	request.key = RANKING_CALLS;
	ranking_build(&f.r, &request);
	assert_string_equal(name_of(0), "save");
	ranking_free(&f.r);
	request.key = RANKING_GROWTH; /* 0 is more than -125 */
	ranking_build(&f.r, &request);
	assert_string_equal(name_of(0), "save");
}

static void stacks_can_have_rows_of_their_own(void **state)
{
	struct ranking_request request = since(&f.base);

	(void)state;
	request.by_stack = true;
	ranking_build(&f.r, &request);
	assert_int_equal(f.r.rows.count, 4);
	assert_int_equal(f.r.rows.at[0].site, 0);
	assert_int_equal(f.r.rows.at[3].site, 3);
	ranking_free(&f.r);
	request.by_stack = false;
	ranking_build_stacks(&f.r, &request, 1);
	assert_int_equal(f.r.rows.count, 3); /* those of table_new */
	assert_int_equal(f.r.rows.at[1].site, 2);
	assert_int_equal(f.r.rows.at[2].site, 1);
}

static void a_filter_takes_stacks_by_any_of_their_functions(void **state)
{
	struct ranking_request request = since(&f.base);

	(void)state;
	request.filter = "LOA";
	ranking_build(&f.r, &request);
	assert_int_equal(f.r.rows.count, 1);
	assert_int_equal(f.r.rows.at[0].figures.live.bytes, 700);
	assert_int_equal(f.r.whole.live.bytes, 875);
	ranking_free(&f.r);
	request.filter = "nothing has this";
	ranking_build(&f.r, &request);
	assert_int_equal(f.r.rows.count, 0);
}

/* The program has become another one since. */
static void a_base_of_another_recording_is_the_start(void **state)
{
	const struct ranking_request from_start = since(&f.start), request = since(&f.base);

	(void)state;
	ranking_build(&f.r, &from_start);
	assert_int_equal(f.r.whole.growth_bytes, 875);
	assert_int_equal(f.r.whole.allocated.blocks, 20);
	assert_int_equal(f.r.span_ns, 11 * SECOND);
	ranking_free(&f.r);
	f.base.start_unix_ns = 8;
	ranking_build(&f.r, &request);
	assert_int_equal(f.r.whole.growth_bytes, 875);
	assert_int_equal(f.r.span_ns, 11 * SECOND);
}

static void keys_have_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RANKING_KEYS; i++)
		assert_int_equal(ranking_find(ranking_name((enum ranking_key)i)), i);
	assert_int_equal(ranking_find("colour"), RANKING_KEYS);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(rows_are_functions_by_what_they_hold),
		WITH(keys_order_rows),
		WITH(stacks_can_have_rows_of_their_own),
		WITH(a_filter_takes_stacks_by_any_of_their_functions),
		WITH(a_base_of_another_recording_is_the_start),
		cmocka_unit_test(keys_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
