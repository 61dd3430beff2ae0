/* findings_test.c -- what is found, and what is not. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "model/filter.h"
#include "model/findings.h"
#include "sample.h"

#define SECOND UINT64_C(1000000000)
#define POINTS 100u

static const struct model_options usual = {0};

struct found {
	struct profile *profile;
	struct model *model;
	struct findings *findings;
};

static void find(struct found *f, struct profile *p)
{
	f->profile = p;
	f->model = model_new(p, &usual);
	f->findings = findings_build(f->model, NULL);
}

static void end(struct found *f)
{
	findings_free(f->findings);
	model_free(f->model);
	profile_free(f->profile);
}

static void assert_quiet(struct profile *p)
{
	struct found f;

	find(&f, p);
	assert_int_equal(f.findings->list.count, 0);
	end(&f);
}

static const struct finding *assert_one(struct found *f, enum finding_kind kind)
{
	assert_int_equal(f->findings->list.count, 1);
	assert_int_equal(f->findings->list.at[0].kind, kind);
	return &f->findings->list.at[0];
}

/* A site that allocated and freed `calls` blocks of `size` and holds nothing. */
static struct profile_site *add_churn(struct profile *p, const char *function, uint64_t calls,
				      uint64_t size)
{
	struct profile_site *s = vec_push(&p->sites);

	*s = (struct profile_site){.node = sample_node(p, 0, function, 1),
				   .allocations = calls,
				   .allocated_bytes = calls * size,
				   .frees = calls,
				   .freed_bytes = calls * size,
				   .size_min = size,
				   .size_max = size};
	p->totals.allocations += calls;
	p->totals.allocated_bytes += calls * size;
	return s;
}

/* ---- from figures alone ---------------------------------------------------------------------- */

static void temporary_blocks_in_a_loop_are_found(void **state)
{
	struct profile *p = sample_new();
	struct found f;

	(void)state;
	add_churn(p, "steady", 100000, 64);
	struct profile_site *s = add_churn(p, "loop", 50000, 100);
	s->temporary = 49000;
	find(&f, p);
	const struct finding *finding = assert_one(&f, FINDING_TEMPORARY);
	assert_int_equal(finding->site, 1);
	assert_int_equal(finding->calls, 49000);
	assert_int_equal(finding->amount.blocks, 50000);
	end(&f);
}

static void stacks_through_the_same_line_are_one_finding(void **state)
{
	struct profile *p = sample_new();
	uint32_t lines[2] = {sample_node(p, 0, "main", 1), sample_node(p, 0, "main", 2)};
	uint32_t cxx = sample_module(p, "/lib/libstdc++.so.6");
	struct found f;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t loop = sample_node(p, lines[i], "loop", 7);
		struct profile_site *s = add_churn(p, "unused", 30000, 100);
		s->node = sample_node_in(p, loop, cxx, 0);
		s->temporary = 30000;
	}
	find(&f, p);
	const struct finding *finding = assert_one(&f, FINDING_TEMPORARY);
	assert_int_equal(finding->sites, 2);
	assert_int_equal(finding->calls, 60000);
	end(&f);
}

static void the_place_is_where_a_wrapper_is_called(void **state)
{
	struct profile *p = sample_new();
	struct found f;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t caller = sample_node(p, 0, i ? "loop" : "rarely", 7);
		struct profile_site *s = add_churn(p, "unused", i ? 30000 : 100, 100);
		s->node = sample_node(p, sample_node_in(p, caller, 1, 0), "my_xmalloc", 3);
		s->temporary = s->allocations;
	}
	find(&f, p);
	assert_int_equal(assert_one(&f, FINDING_TEMPORARY)->calls, 60000);
	end(&f);
}

static void few_or_slow_temporary_blocks_are_not(void **state)
{
	struct profile *few = sample_new(), *slow = sample_new(), *small_part = sample_new();

	(void)state;
	add_churn(few, "loop", 5000, 100)->temporary = 5000;
	assert_quiet(few);
	slow->run.duration_ns = 3600 * SECOND;
	add_churn(slow, "loop", 50000, 100)->temporary = 50000;
	assert_quiet(slow);
	add_churn(small_part, "rest", 10000000, 100);
	add_churn(small_part, "loop", 50000, 100)->temporary = 50000;
	assert_quiet(small_part);
}

static void blocks_regrown_by_realloc_are_found(void **state)
{
	struct profile *p = sample_new();
	struct found f;

	(void)state;
	add_churn(p, "rest", 20000, 64);
	struct profile_site *s = add_churn(p, "append", 8000, 256);
	s->reallocations = 7000;
	s->size_min = 16;
	s->size_max = 4096;
	find(&f, p);
	const struct finding *finding = assert_one(&f, FINDING_REGROWN);
	assert_int_equal(finding->calls, 7000);
	assert_int_equal(finding->size_min, 16);
	assert_int_equal(finding->size_max, 4096);
	assert_int_equal(finding->saved_bytes, 8000 * 256);
	end(&f);
}

static void vectors_that_grow_are_found_by_their_function(void **state)
{
	struct profile *p = sample_new();
	struct found f;

	(void)state;
	struct profile_site *s =
		add_churn(p, "void std::vector<int>::_M_realloc_append<int>(int&&)", 9000, 128);
	s->size_min = 4;
	s->size_max = 2048;
	find(&f, p);
	assert_one(&f, FINDING_REGROWN);
	end(&f);
}

/* One vector that doubled to 512 KiB, beside 100 KB of other blocks. */
static struct profile *make_doubling(uint64_t duration_ns)
{
	struct profile *p = sample_new();

	p->run.duration_ns = duration_ns;
	add_churn(p, "rest", 10, 10000);
	struct profile_site *s =
		add_churn(p, "void std::vector<int>::_M_realloc_insert<int>(int&&)", 18, 58254);
	s->size_min = 4;
	s->size_max = 524288;
	return p;
}

static void one_vector_that_doubles_counts_in_a_short_run(void **state)
{
	struct found f;

	(void)state;
	find(&f, make_doubling(20000000));
	const struct finding *finding = assert_one(&f, FINDING_REGROWN);
	assert_int_equal(finding->calls, 18);
	end(&f);
	assert_quiet(make_doubling(UINT64_C(60000000000)));
}

static void a_buffer_that_is_resized_a_little_is_not(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	struct profile_site *s = add_churn(p, "tune", 9000, 1000);
	s->reallocations = 8000;
	s->size_min = 900;
	s->size_max = 1100;
	assert_quiet(p);
}

static void many_tiny_blocks_are_found(void **state)
{
	struct profile *p = sample_new();
	struct found f;

	(void)state;
	sample_site(p, sample_node(p, 0, "node_new", 1), 24 * 50000, 50000);
	sample_site(p, sample_node(p, 0, "table", 2), 1000000, 1);
	find(&f, p);
	const struct finding *finding = assert_one(&f, FINDING_TINY);
	assert_int_equal(finding->amount.blocks, 50000);
	assert_int_equal(finding->size_max, 24);
	assert_int_equal(finding->saved_bytes, 50000 * 8);
	end(&f);
}

static void few_tiny_blocks_beside_a_large_heap_are_not(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "node_new", 1), 24 * 50000, 50000);
	sample_site(p, sample_node(p, 0, "table", 2), 100000000, 1);
	assert_quiet(p);
}

/* ---- over time ------------------------------------------------------------------------------- */

/* Ten seconds in a hundred points. */
static struct profile *sample_course(void)
{
	struct profile *p = sample_new();

	p->run.duration_ns = 10 * SECOND;
	for (unsigned i = 0; i < POINTS; i++)
		*vec_push(&p->points) =
			(struct profile_point){.time_ns = (i + 1) * 10 * SECOND / POINTS};
	return p;
}

/* One site; held(point) are its blocks of `size` bytes. */
static void add_course(struct profile *p, uint64_t (*held)(unsigned point), uint64_t size)
{
	uint64_t most = 0, last = UINT64_MAX;

	for (unsigned i = 0; i < POINTS; i++) {
		uint64_t blocks = held(i);
		most = blocks > most ? blocks : most;
		if (blocks != last)
			*vec_push(&p->changes) =
				(struct profile_change){i, 0, blocks * size, blocks};
		last = blocks;
	}
	struct profile_site *s = sample_site(p, sample_node(p, 0, "f", 1), most * size, most);
	s->live_blocks = last;
	s->live_bytes = last * size;
	s->frees = most - last;
	p->totals.leaked_bytes = s->live_bytes;
	p->totals.leaked_blocks = last;
}

static uint64_t grow_steadily(unsigned point)
{
	return 10 * (point + 1);
}

static uint64_t grow_at_first(unsigned point)
{
	return point < 50 ? 20 * (point + 1) : 1000;
}

static uint64_t grow_once(unsigned point)
{
	return point < 10 ? 0 : 1000;
}

static uint64_t rise_and_fall(unsigned point)
{
	return point < 50 ? 20 * (point + 1) : 20 * (POINTS - point);
}

static uint64_t leave_one(unsigned point)
{
	return point < 20 ? 16 : 1;
}

static uint64_t leave_none(unsigned point)
{
	return point < 20 ? 16 : 0;
}

static uint64_t leave_late(unsigned point)
{
	return point < 80 ? 16 : 1;
}

static void a_leak_that_grows_is_found(void **state)
{
	struct profile *p = sample_course();
	struct found f;

	(void)state;
	add_course(p, grow_steadily, 100);
	find(&f, p);
	const struct finding *finding = assert_one(&f, FINDING_GROWING_LEAK);
	assert_int_equal(finding->amount.bytes, 100000);
	assert_int_equal(finding->quarters[0], 25000);
	assert_int_equal(finding->quarters[1], 50000);
	assert_int_equal(finding->quarters[3], 100000);
	assert_int_equal(f.findings->other_leaks.bytes, 0);
	end(&f);
}

/* A file that was damaged or forged need not say what the peak was. Each leak that is looked at
 * takes memory for all points. */
static void without_a_peak_a_leak_is_still_a_hundredth_of_all(void **state)
{
	const uint32_t leaks = 200;
	struct profile *p = sample_course();
	struct found f;

	(void)state;
	for (unsigned point = 0; point < POINTS; point++)
		for (uint32_t i = 0; i < leaks; i++)
			*vec_push(&p->changes) = (struct profile_change){
				point, i, 100 * grow_steadily(point), grow_steadily(point)};
	for (uint32_t i = 0; i < leaks; i++)
		sample_site(p, sample_node(p, 0, "f", i + 1), 100 * grow_steadily(POINTS - 1),
			    grow_steadily(POINTS - 1));
	p->totals.peak_bytes = 0;
	find(&f, p);
	assert_int_equal(f.findings->list.count, 0);
	end(&f);
}

static void leaks_that_do_not_grow_are_summed_up(void **state)
{
	uint64_t (*const courses[])(unsigned) = {grow_at_first, grow_once, rise_and_fall};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct profile *p = sample_course();
		struct found f;
		add_course(p, courses[i], 100);
		find(&f, p);
		assert_int_equal(f.findings->list.count, 0);
		assert_int_equal(f.findings->other_leaks.bytes, p->totals.leaked_bytes);
		end(&f);
	}
}

static void a_suppressed_leak_is_none(void **state)
{
	struct profile *p = sample_course();
	struct model *m;
	uint8_t verdict = FILTER_SUPPRESSED;

	(void)state;
	add_course(p, grow_steadily, 100);
	m = model_new(p, &usual);
	struct findings *f = findings_build(m, &verdict);
	assert_int_equal(f->list.count, 0);
	assert_int_equal(f->other_leaks.bytes, 0);
	findings_free(f);
	model_free(m);
	profile_free(p);
}

static void a_short_recording_does_not_tell(void **state)
{
	struct profile *p = sample_course();
	struct found f;

	(void)state;
	p->run.duration_ns = SECOND / 10;
	add_course(p, grow_steadily, 100);
	find(&f, p);
	assert_int_equal(f.findings->list.count, 0);
	assert_false(f.findings->has_time_line);
	end(&f);
}

static void a_block_left_behind_is_found(void **state)
{
	struct profile *p = sample_course();
	struct found f;

	(void)state;
	add_course(p, leave_one, 100000);
	find(&f, p);
	const struct finding *finding = assert_one(&f, FINDING_LEFT_BEHIND);
	assert_int_equal(finding->amount.bytes, 100000);
	assert_int_equal(finding->freed, 15);
	assert_int_equal(finding->span_ns, 10 * SECOND - p->points.at[20].time_ns);
	end(&f);
}

static void blocks_freed_together_or_late_are_not(void **state)
{
	struct profile *together = sample_course(), *late = sample_course();

	(void)state;
	add_course(together, leave_none, 100000);
	assert_quiet(together);
	add_course(late, leave_late, 100000);
	assert_quiet(late);
}

static void an_empty_profile_is_quiet(void **state)
{
	(void)state;
	assert_quiet(profile_new());
	assert_quiet(sample_tables());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(temporary_blocks_in_a_loop_are_found),
		cmocka_unit_test(stacks_through_the_same_line_are_one_finding),
		cmocka_unit_test(the_place_is_where_a_wrapper_is_called),
		cmocka_unit_test(few_or_slow_temporary_blocks_are_not),
		cmocka_unit_test(blocks_regrown_by_realloc_are_found),
		cmocka_unit_test(vectors_that_grow_are_found_by_their_function),
		cmocka_unit_test(one_vector_that_doubles_counts_in_a_short_run),
		cmocka_unit_test(a_buffer_that_is_resized_a_little_is_not),
		cmocka_unit_test(many_tiny_blocks_are_found),
		cmocka_unit_test(few_tiny_blocks_beside_a_large_heap_are_not),
		cmocka_unit_test(a_leak_that_grows_is_found),
		cmocka_unit_test(without_a_peak_a_leak_is_still_a_hundredth_of_all),
		cmocka_unit_test(leaks_that_do_not_grow_are_summed_up),
		cmocka_unit_test(a_suppressed_leak_is_none),
		cmocka_unit_test(a_short_recording_does_not_tell),
		cmocka_unit_test(a_block_left_behind_is_found),
		cmocka_unit_test(blocks_freed_together_or_late_are_not),
		cmocka_unit_test(an_empty_profile_is_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
