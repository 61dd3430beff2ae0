/* merge_test.c -- several profiles made one. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "model/merge_shares.h"
#include "model/model.h"
#include "model/shares.h"
#include "merging.h"

static void a_sum_of_a_profile_with_itself_doubles_everything(void **state)
{
	struct profile *p = merge(sample_tables(), sample_tables(), PROFILE_MERGE_SUM);
	struct profile *once = sample_tables();

	(void)state;
	assert_int_equal(p->sites.count, once->sites.count);
	assert_int_equal(p->nodes.count, once->nodes.count);
	assert_int_equal(p->frames.count, once->frames.count - 2); /* table_new is there thrice */
	assert_int_equal(p->modules.count, once->modules.count);
	for (size_t i = 0; i < p->sites.count; i++) {
		assert_int_equal(p->sites.at[i].allocated_bytes,
				 2 * once->sites.at[i].allocated_bytes);
		assert_int_equal(p->sites.at[i].at_peak_blocks,
				 2 * once->sites.at[i].at_peak_blocks);
		assert_int_equal(p->sites.at[i].size_min, once->sites.at[i].size_min);
	}
	assert_int_equal(p->totals.peak_bytes, 2000);
	assert_int_equal(p->totals.allocations, 20);
	assert_int_equal(p->totals.stacks, 4);
	assert_string_equal(profile_string(p, p->run.program), "app");
	assert_int_equal(p->run.pid, 42);
	profile_free(once);
	profile_free(p);
}

static void inputs_keep_their_names_and_totals(void **state)
{
	struct profile *p = merge(sample_tables(), sample_new(), PROFILE_MERGE_SUM);

	(void)state;
	assert_int_equal(p->run.merge, PROFILE_MERGE_SUM);
	assert_int_equal(p->inputs.count, 2);
	assert_string_equal(profile_string(p, p->inputs.at[0].name), "a.mdn");
	assert_int_equal(p->inputs.at[0].totals.peak_bytes, 1000);
	assert_int_equal(p->inputs.at[1].totals.peak_bytes, 0);
	p = merge(p, sample_tables(), PROFILE_MERGE_MAX); /* b.mdn is the new one, a.mdn merged */
	assert_int_equal(p->inputs.count, 3);
	assert_string_equal(profile_string(p, p->inputs.at[2].name), "b.mdn");
	profile_free(p);
}

static void code_is_the_same_wherever_it_was_loaded(void **state)
{
	struct profile *a = sample_tables(), *b = sample_tables();

	(void)state;
	b->modules.at[1].bias += 0x7000;
	for (size_t i = 1; i < b->nodes.count; i++)
		b->nodes.at[i].pc += 0x7000;
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_int_equal(p->sites.count, 4);
	assert_int_equal(p->totals.leaked_bytes, 2000);
	profile_free(p);
}

static void named_frames_are_the_same_by_their_names(void **state)
{
	struct profile *p[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		p[i] = sample_new();
		uint32_t outer = sample_python(p[i], 0, "spam", 1);

		sample_site(p[i], sample_python(p[i], outer, i ? "ham" : "eggs", 2), 8, 1);
		sample_site(p[i], outer, 16, 1);
	}
	struct profile *out = merge(p[0], p[1], PROFILE_MERGE_SUM);
	assert_int_equal(out->nodes.count, 4);
	assert_int_equal(out->sites.count, 3);
	for (size_t i = 1; i < out->nodes.count; i++)
		assert_int_equal(out->nodes.at[i].named, PROFILE_NAMED_PYTHON);
	profile_free(out);
}

static void another_program_keeps_its_own_stacks(void **state)
{
	struct profile *a = sample_tables(), *b = sample_tables();
	static const struct model_options usual = {0};
	struct model_stack stack = {0};

	(void)state;
	b->run.program = profile_add_string(b, "tool");
	b->run.executable = profile_add_string(b, "/src/tool");
	b->modules.at[1].path = (struct string_id){0}; /* the program itself */
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_int_equal(p->sites.count, 8);
	assert_string_equal(profile_string(p, p->run.program), "app and others");
	struct model *m = model_new(p, &usual);
	model_get_stack(m, 7, &stack);
	assert_string_equal(model_get_frame(m, stack.frames.at[0])->module, "/src/tool");
	vec_free(&stack.frames);
	model_free(m);
	profile_free(p);
}

/* A build-id that somebody chose, in so few bytes, tells nothing. */
static void a_file_with_the_same_build_id_is_the_same_under_another_path(void **state)
{
	static const uint32_t bytes[2] = {20, 4};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct profile *of[2] = {sample_tables(), sample_tables()};

		for (unsigned k = 0; k < 2; k++) {
			of[k]->modules.at[1].build_id_bytes = bytes[i];
			memset(of[k]->modules.at[1].build_id, 7, bytes[i]);
		}
		of[1]->modules.at[1].path = profile_add_string(of[1], "/copy/app");
		struct profile *p = merge(of[0], of[1], PROFILE_MERGE_SUM);
		assert_int_equal(p->sites.count, i ? 8 : 4);
		assert_int_equal(p->modules.count, i ? 3 : 2);
		profile_free(p);
	}
}

static void a_maximum_is_that_of_each_stack_and_still_adds_up(void **state)
{
	struct profile *a = sample_tables(), *b = sample_tables();

	(void)state;
	b->sites.at[0].at_peak_bytes = 10; /* 600 in the other */
	b->sites.at[1].at_peak_bytes = 5000;
	b->totals.peak_bytes = 10 + 5000 + 250 + 50;
	struct profile *p = merge(a, b, PROFILE_MERGE_MAX);
	assert_int_equal(p->sites.at[0].at_peak_bytes, 600);
	assert_int_equal(p->sites.at[1].at_peak_bytes, 5000);
	assert_int_equal(p->totals.peak_bytes, 600 + 5000 + 250 + 50);
	assert_int_equal(p->totals.allocations, 10);
	profile_free(p);
}

/* A global that holds a block, which holds each of two more, all lost or held by the first site. */
static void add_chains(struct profile *p)
{
	static const uint32_t holders[] = {0, 1, 2, 2};

	for (size_t i = 0; i < 4; i++)
		*vec_push(&p->links) = (struct profile_link){
			.kind = i ? PROFILE_LINK_BLOCK : PROFILE_LINK_GLOBAL,
			.site = i ? 1 : 0,
			.holder = holders[i],
			.offset = i,
		};
	for (uint32_t class = 0; class < 2; class ++)
		*vec_push(&p->lost) = (struct profile_lost){
			.site = class, .class = class, .blocks = 1, .bytes = 8, .chain = 3 + class};
}

static void holders_that_chains_share_are_merged_once(void **state)
{
	struct profile *a = sample_tables(), *b = sample_tables();
	struct error e = {0};

	(void)state;
	add_chains(a);
	add_chains(b);
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_int_equal(profile_check(p, &e), 0);
	assert_int_equal(p->lost.count, 2);
	assert_int_equal(p->links.count, 4);
	for (size_t i = 0; i < 2; i++) {
		const struct profile_link *last = &p->links.at[p->lost.at[i].chain - 1];

		assert_int_equal(last->offset, 2 + i);
		assert_int_equal(p->links.at[last->holder - 1].offset, 1);
	}
	profile_free(p);
}

static void a_mean_is_rounded_for_each_stack_and_still_adds_up(void **state)
{
	struct profile *a = sample_tables(), *b = sample_tables();

	(void)state;
	b->sites.at[0].allocations += 1; /* freed at once */
	b->sites.at[0].frees += 1;
	b->sites.at[3].live_blocks += 1;
	b->sites.at[3].allocations += 1;
	b->totals.allocations += 2;
	b->totals.frees += 1;
	b->totals.leaked_blocks += 1;
	b->totals.lost_events = 1;
	struct profile *p = merge(a, b, PROFILE_MERGE_MEAN);
	assert_int_equal(p->sites.at[0].allocations, 7); /* of 6 and 7 */
	assert_int_equal(p->sites.at[0].frees, 1);
	assert_int_equal(p->sites.at[1].allocations, 1);
	assert_int_equal(p->totals.peak_bytes, 1000);
	assert_int_equal(p->totals.lost_events, 1); /* does not vanish */
	assert_int_equal(p->totals.leaked_blocks, p->totals.allocations - p->totals.frees);
	profile_free(p);
}

static void what_stacks_do_not_account_for_is_kept(void **state)
{
	struct profile *a = sample_tables();

	(void)state;
	a->totals.allocations += 5;
	a->totals.failed_allocations = 3;
	struct profile *p = merge(a, sample_tables(), PROFILE_MERGE_SUM);
	assert_int_equal(p->totals.allocations, 25);
	assert_int_equal(p->totals.failed_allocations, 3);
	profile_free(p);
}

static void threads_of_processes_stay_apart_and_those_of_runs_join(void **state)
{
	struct profile *a = sample_new(), *b = sample_new();

	(void)state;
	add_thread(a, 10, 100);
	add_thread(b, 20, 300);
	add_thread(b, 21, 50);
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_int_equal(p->threads.count, 3);
	assert_int_equal(p->threads.at[0].input, 1);
	assert_int_equal(p->threads.at[2].input, 2);
	assert_int_equal(p->threads.at[2].serial, 3);
	p = merge(sample_new(), p, PROFILE_MERGE_SUM);
	assert_int_equal(p->threads.at[2].input, 3); /* behind the first profile's own input */
	profile_free(p);
	a = sample_new();
	b = sample_new();
	add_thread(a, 10, 100);
	add_thread(b, 20, 300);
	p = merge(a, b, PROFILE_MERGE_MEAN);
	assert_int_equal(p->threads.count, 1);
	assert_int_equal(p->threads.at[0].allocated_bytes, 200);
	profile_free(p);
}

static void a_thread_of_a_process_ends_with_it_and_not_with_the_last_process(void **state)
{
	struct profile *a = sample_new(), *b = sample_new();

	(void)state;
	add_thread(a, 10, 100);
	add_thread(b, 20, 300);
	a->run.start_unix_ns = UINT64_C(5000000000);
	b->run.start_unix_ns = UINT64_C(3000000000);
	b->threads.at[0].end_ns = 7;
	add_thread(b, 21, 300);
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_int_equal(p->run.duration_ns, UINT64_C(3500000000));
	assert_int_equal(p->threads.at[0].end_ns, UINT64_C(3500000000));
	assert_int_equal(p->threads.at[1].end_ns, 7);
	assert_int_equal(p->threads.at[2].end_ns, UINT64_C(1500000000));
	profile_free(p);
	a = sample_new();
	b = sample_new();
	add_thread(a, 10, 100);
	add_thread(b, 20, 300);
	p = merge(a, b, PROFILE_MERGE_MEAN);
	assert_true(p->threads.at[0].end_ns == UINT64_MAX);
	profile_free(p);
}

/* One thread, whose deepest stack is main and `inner` with so many bytes. */
static struct profile *make_deep(const char *inner, uint64_t bytes)
{
	struct profile *p = sample_new();
	uint32_t outer = sample_node(p, 0, "main", 1);

	add_thread(p, 10, 100);
	*vec_push(&p->depths) = (struct profile_depth){.thread = 1, .node = outer, .bytes = 16};
	*vec_push(&p->depths) = (struct profile_depth){
		.thread = 1, .node = sample_node(p, outer, inner, 2), .bytes = bytes};
	return p;
}

static void of_a_thread_the_deeper_stack_stays(void **state)
{
	static const uint64_t deeper[2][2] = {{500, 300}, {300, 500}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct profile *p = merge(make_deep("work", deeper[i][0]),
					  make_deep("rest", deeper[i][1]), PROFILE_MERGE_MEAN);
		assert_int_equal(p->depths.count, 2);
		assert_int_equal(p->depths.at[1].bytes, 500);
		assert_int_equal(p->nodes.at[p->depths.at[1].node].parent, p->depths.at[0].node);
		profile_free(p);
	}
	struct profile *p =
		merge(make_deep("work", 500), make_deep("rest", 300), PROFILE_MERGE_SUM);
	assert_int_equal(p->depths.count, 4);
	assert_int_equal(p->depths.at[3].thread, 2);
	assert_int_equal(p->depths.at[3].bytes, 300);
	assert_int_equal(p->depths.at[2].node, p->depths.at[0].node);
	assert_int_not_equal(p->depths.at[3].node, p->depths.at[1].node);
	profile_free(p);
}

/* Threads 1 and 2, called worker; the first allocates in one site, both in the other: `mine` of
 * 100 bytes by the first. */
static struct profile *make_shared(uint64_t mine, uint64_t other)
{
	struct profile *p = sample_new();

	add_thread(p, 10, 100 * mine + 30);
	add_thread(p, 11, 100 * other);
	sample_site(p, sample_node(p, 0, "main", 1), 30, 1)->thread = 1;
	sample_site(p, sample_node(p, 0, "work", 2), 100 * (mine + other), mine + other);
	for (uint32_t thread = 1; thread <= 2; thread++) {
		uint64_t blocks = thread == 1 ? mine : other;
		*vec_push(&p->parts) = (struct profile_part){
			.site = 1,
			.thread = thread,
			.allocations = blocks,
			.allocated_bytes = 100 * blocks,
			.live_blocks = blocks,
			.live_bytes = 100 * blocks,
			.at_peak_blocks = blocks,
			.at_peak_bytes = 100 * blocks,
		};
	}
	return p;
}

static void assert_shares_add_up(const struct profile *p)
{
	for (size_t i = 0; i < p->sites.count; i++) {
		uint64_t bytes = 0, frees = 0;
		for (size_t k = 0; k < shares_get_count(p, i); k++) {
			bytes += shares_get(p, i, k).at_peak_bytes;
			frees += shares_get(p, i, k).frees;
		}
		assert_int_equal(bytes, p->sites.at[i].at_peak_bytes);
		assert_int_equal(frees, p->sites.at[i].frees);
	}
}

static void a_sum_knows_what_each_thread_has_of_a_stack(void **state)
{
	struct profile *p = merge(make_shared(3, 1), make_shared(5, 2), PROFILE_MERGE_SUM);

	(void)state;
	assert_int_equal(p->threads.count, 4);
	assert_int_equal(shares_get_count(p, 0), 2); /* both processes have it */
	assert_int_equal(shares_find(p, 0, 1).allocated_bytes, 30);
	assert_int_equal(shares_find(p, 0, 3).allocated_bytes, 30);
	assert_int_equal(shares_get_count(p, 1), 4);
	assert_int_equal(shares_find(p, 1, 1).at_peak_bytes, 300);
	assert_int_equal(shares_find(p, 1, 3).at_peak_bytes, 500);
	assert_int_equal(shares_find(p, 1, 4).live_blocks, 2);
	assert_shares_add_up(p);
	p = merge(p, sample_new(), PROFILE_MERGE_SUM);
	assert_int_equal(shares_find(p, 1, 3).at_peak_bytes, 500);
	profile_free(p);
}

static void a_stack_of_one_process_alone_stays_one_threads(void **state)
{
	struct profile *p = merge(sample_new(), make_shared(3, 1), PROFILE_MERGE_SUM);

	(void)state;
	assert_int_equal(p->sites.at[0].thread, 1);
	assert_int_equal(p->parts.count, 2);
	profile_free(p);
}

static void threads_that_a_profile_does_not_tell_apart_are_nobodys(void **state)
{
	struct profile *old = make_shared(7, 0);

	(void)state;
	old->parts.count = 0;
	old->sites.at[0].thread = 0;
	struct profile *p = merge(make_shared(3, 1), old, PROFILE_MERGE_SUM);
	assert_int_equal(shares_find(p, 1, 0).at_peak_bytes, 700);
	assert_int_equal(shares_find(p, 1, 1).at_peak_bytes, 300);
	assert_shares_add_up(p);
	profile_free(p);
	p = merge(sample_tables(), sample_tables(), PROFILE_MERGE_SUM);
	assert_false(shares_are_known(p));
	profile_free(p);
}

static void the_shares_of_runs_add_up_in_a_mean_and_a_maximum(void **state)
{
	struct profile *p = merge(make_shared(3, 1), make_shared(4, 2), PROFILE_MERGE_MEAN);

	(void)state;
	assert_int_equal(p->threads.count, 2);
	assert_int_equal(p->sites.at[0].thread, 1);
	assert_int_equal(shares_find(p, 1, 1).at_peak_bytes, 350);
	assert_int_equal(shares_find(p, 1, 2).at_peak_bytes, 150);
	assert_shares_add_up(p);
	profile_free(p);
	p = merge(make_shared(3, 1), make_shared(0, 5), PROFILE_MERGE_MAX);
	assert_int_equal(shares_find(p, 1, 1).at_peak_bytes,
			 0); /* of the run with the larger peak */
	assert_int_equal(shares_find(p, 1, 2).at_peak_bytes, 500);
	assert_shares_add_up(p);
	profile_free(p);
	p = merge(make_shared(1, 0), make_shared(0, 0), PROFILE_MERGE_MEAN);
	assert_shares_add_up(p);
	profile_free(p);
}

static void runs_have_the_same_threads_by_name(void **state)
{
	struct profile *a = sample_new(), *b = sample_new();

	(void)state;
	add_thread(a, 10, 100);
	add_thread(b, 20, 40);
	add_thread(b, 21, 300);
	b->threads.at[0].name = profile_add_string(b, "logger");
	struct profile *p = merge(a, b, PROFILE_MERGE_MAX);
	assert_int_equal(p->threads.count, 2);
	assert_int_equal(p->threads.at[0].allocated_bytes, 300);
	assert_int_equal(p->threads.at[0].tid, 0); /* of either */
	assert_string_equal(profile_string(p, p->threads.at[1].name), "logger");
	profile_free(p);
}

static void further_threads_share_what_there_is_no_room_for(void **state)
{
	struct profile *p = make_shared(3, 1), *out = profile_new();
	struct merge_shares shares = {.most = 2};
	struct map serials = {0};
	const uint32_t sites[] = {0, 1};

	(void)state;
	*map_reserve(&serials, 1) = 1;
	*map_reserve(&serials, 2) = 2;
	merge_shares_add(&shares, &(struct merge_shares_input){
					  .profile = p,
					  .sites = sites,
					  .serials = &serials,
					  .mode = PROFILE_MERGE_SUM,
				  });
	out->run.merge = PROFILE_MERGE_SUM;
	*vec_push(&out->sites) = p->sites.at[0];
	*vec_push(&out->sites) = p->sites.at[1];
	merge_shares_finish(&shares, out, 1);
	assert_int_equal(shares_find(out, 1, 1).allocations, 3);
	assert_int_equal(shares_find(out, 1, 0).allocations, 1);
	merge_shares_fini(&shares);
	map_free(&serials);
	profile_free(out);
	profile_free(p);
}

static void damage_and_bad_ends_are_handed_on(void **state)
{
	struct profile *a = sample_tables(), *b = sample_tables();

	(void)state;
	b->damaged = true;
	memset(b->damage, 'x', sizeof(b->damage) - 1);
	b->run.end = PROFILE_END_SIGNALED;
	b->run.exit_signal = 9;
	b->resolved = false;
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	assert_true(p->damaged && !p->resolved);
	assert_memory_equal(p->damage, "b.mdn: xxx", 10);
	assert_int_equal(p->run.exit_signal, 9);
	profile_free(p);
}

#define CHAIN	   1000000u
#define DEADLINE_S 600u /* for what takes a second; by the square it would take a day */

/* Only a forged file has such a chain; it compresses to little. */
static void a_chain_of_frames_outside_of_modules_is_followed_once(void **state)
{
	struct profile *a = sample_new(), *b = sample_tables();
	uint32_t innermost = 0;

	(void)state;
	for (uint32_t i = 0; i < CHAIN; i++)
		innermost = sample_frame(a, "f", "", 1, innermost);
	for (uint32_t i = 0; i < CHAIN; i++)
		sample_node_in(a, 0, 0, innermost);
	alarm(DEADLINE_S);
	struct profile *p = merge(a, b, PROFILE_MERGE_SUM);
	alarm(0);
	assert_true(p->frames.count > CHAIN && p->nodes.count > CHAIN);
	profile_free(p);
}

static void nothing_cannot_be_merged(void **state)
{
	const struct merge_options options = {.mode = PROFILE_MERGE_SUM};
	struct error e = {0};

	(void)state;
	assert_null(merge_finish(merge_new(&options), &e));
	assert_true(e.set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_of_a_profile_with_itself_doubles_everything),
		cmocka_unit_test(inputs_keep_their_names_and_totals),
		cmocka_unit_test(code_is_the_same_wherever_it_was_loaded),
		cmocka_unit_test(named_frames_are_the_same_by_their_names),
		cmocka_unit_test(another_program_keeps_its_own_stacks),
		cmocka_unit_test(a_file_with_the_same_build_id_is_the_same_under_another_path),
		cmocka_unit_test(a_maximum_is_that_of_each_stack_and_still_adds_up),
		cmocka_unit_test(a_mean_is_rounded_for_each_stack_and_still_adds_up),
		cmocka_unit_test(holders_that_chains_share_are_merged_once),
		cmocka_unit_test(what_stacks_do_not_account_for_is_kept),
		cmocka_unit_test(threads_of_processes_stay_apart_and_those_of_runs_join),
		cmocka_unit_test(a_thread_of_a_process_ends_with_it_and_not_with_the_last_process),
		cmocka_unit_test(of_a_thread_the_deeper_stack_stays),
		cmocka_unit_test(a_sum_knows_what_each_thread_has_of_a_stack),
		cmocka_unit_test(a_stack_of_one_process_alone_stays_one_threads),
		cmocka_unit_test(threads_that_a_profile_does_not_tell_apart_are_nobodys),
		cmocka_unit_test(the_shares_of_runs_add_up_in_a_mean_and_a_maximum),
		cmocka_unit_test(runs_have_the_same_threads_by_name),
		cmocka_unit_test(further_threads_share_what_there_is_no_room_for),
		cmocka_unit_test(damage_and_bad_ends_are_handed_on),
		cmocka_unit_test(a_chain_of_frames_outside_of_modules_is_followed_once),
		cmocka_unit_test(nothing_cannot_be_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
