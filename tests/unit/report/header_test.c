/* header_test.c -- the run, its totals and its losses as printed. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "report/header.h"

#include "../model/sample.h"
#include "page.h"

static const struct style ascii = {0};

static void a_clean_run_is_summed_up_in_a_few_lines(void **state)
{
	struct profile *p = sample_tables();
	struct page page;

	(void)state;
	p->totals.peak_time_ns = UINT64_C(250000000);
	p->totals.temporary_allocations = 1;
	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	page_assert(&page, "app  pid 42, mode exact\n"
			   "  command      ./app -x\n"
			   "  exited with code 0 after 1.50 s, 1 thread\n"
			   "  allocations  10 (1000 B in all) from 4 stacks\n"
			   "  temporary    1 (10.00% of all)\n"
			   "  peak         1000 B in 10 blocks, 250 ms after the start\n"
			   "  leaked       1000 B in 10 blocks\n");
}

/* The lines are printed for a profile merged of two. */
static void assert_merged(enum profile_merge mode, const char *lines)
{
	struct profile *p = sample_tables();
	struct page page;

	p->run.merge = mode;
	*vec_push(&p->inputs) = (struct profile_input){.end = PROFILE_END_EXITED};
	*vec_push(&p->inputs) = (struct profile_input){.end = PROFILE_END_EXEC};
	*vec_push(&p->points) = (struct profile_point){.time_ns = 7000000, .peak_bytes = 900};
	*vec_push(&p->points) = (struct profile_point){.time_ns = 8000000, .peak_bytes = 100};
	p->totals.peak_time_ns = 7000000;
	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	assert_non_null(strstr(page_text(&page), lines));
	assert_null(strstr(page_text(&page), "10 blocks, 7"));
	page_close(&page);
}

static void several_recordings_have_an_end_each(void **state)
{
	(void)state;
	assert_merged(PROFILE_MERGE_SUM,
		      "app  sum of 2 profiles, mode exact\n"
		      "  command      ./app -x\n"
		      "  1 exited with code 0, 1 replaced by another program; within 1.50 s, 1 "
		      "thread\n");
}

static void a_recording_that_never_began_says_so(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	p->run.stopped_ns = p->run.duration_ns;
	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	assert_non_null(strstr(page_text(&page), "  stopped      all the time: recording never "));
	page_close(&page);
}

static void peaks_of_several_recordings_have_no_moment(void **state)
{
	(void)state;
	assert_merged(PROFILE_MERGE_SUM,
		      "  peak         1000 B in 10 blocks, the peaks of 2 profiles added up\n"
		      "  together     at most 900 B at one time, by 7.00 ms after the first start\n"
		      "  leaked");
	assert_merged(
		PROFILE_MERGE_MAX,
		"  peak         1000 B in 10 blocks, the most of each stack at any of 2 peaks\n"
		"  leaked");
	assert_merged(PROFILE_MERGE_MEAN,
		      "  peak         1000 B in 10 blocks, the mean of each stack over 2 peaks\n"
		      "  leaked");
}

static void every_loss_that_is_not_zero_is_printed_with_its_meaning(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	p->run.end = PROFILE_END_SIGNALED;
	p->run.exit_signal = 9;
	p->run.children_not_recorded = 2;
	p->totals.reallocations = 3;
	p->totals.failed_allocations = 1;
	p->totals.rss_peak_bytes = 4096;
	p->totals.own_memory_bytes = 1024;
	p->totals.lost_events = 1234;
	p->totals.truncated_stacks = 4;
	p->totals.unwind_failures = 3;
	p->totals.foreign_frees = 5;
	p->totals.reentrant_calls = 6;
	*vec_push(&p->parts) = (struct profile_part){.thread = 0};
	*vec_push(&p->parts) = (struct profile_part){.thread = 1};
	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	page_assert(
		&page,
		"app  pid 42, mode exact\n"
		"  command      ./app -x\n"
		"  killed by signal 9 (Killed) after 1.50 s, 1 thread\n"
		"  allocations  0 (0 B in all) from 0 stacks\n"
		"  reallocated  3 of them\n"
		"  temporary    0 (0.00% of all)\n"
		"  failed       1 call returned no memory\n"
		"  peak         0 B in 0 blocks, 0 ns after the start\n"
		"  leaked       0 B in 0 blocks\n"
		"  resident     4.00 KiB at most, midden's own part 1.00 KiB\n"
		"  ! lost events: 1,234; allocations or frees found no room in the buffers: "
		"the figures miss them\n"
		"  ! truncated stacks: 4; allocations whose stack was too deep or could not be "
		"followed: frames are missing\n"
		"  ! unwind failures: 3; truncated stacks that ended at code without unwind data\n"
		"  ! foreign frees: 5; of blocks made before the recording (before a fork, say), "
		"by another allocator, or freed twice\n"
		"  ! re-entrant calls: 6; from a signal handler inside an allocation: "
		"passed through, not recorded\n"
		"  ! stacks of further threads: 1; there were too many to tell all apart: "
		"what --thread shows may be too little\n"
		"  ! child processes: 2; started by the program and not recorded\n");
}

static void given_a_damaged_or_abandoned_recording_then_a_notice_says_so(void **state)
{
	struct profile *p = sample_new();
	struct page page;

	(void)state;
	p->damaged = true;
	strcpy(p->damage, "points are missing\n");
	p->run.end = PROFILE_END_ABANDONED;
	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	assert_non_null(strstr(page_text(&page), "  recorded for 1.50 s, 1 thread\n"));
	assert_non_null(strstr(page_text(&page),
			       "  ! the file is damaged, this is what could be read of it: "
			       "points are missing\\x0a\n"));
	assert_non_null(strstr(page_text(&page), "  ! the recording ended before the program did"));
	page_close(&page);
}

/* A stack of 40 frames: `nameless` of the 39 of the program have no name, nor has one of a
 * library. */
static struct profile *make_stripped(unsigned nameless)
{
	struct profile *p = sample_new();
	uint32_t at = 0;

	for (unsigned i = 0; i < 39; i++)
		at = sample_node_in(p, at, 1, i < nameless ? 0 : sample_frame(p, "f", "", 0, 0));
	at = sample_node_in(p, at, sample_module(p, "/lib/libother.so"), 0);
	sample_site(p, at, 100, 1);
	return p;
}

static void assert_nameless(struct profile *p, bool is_told)
{
	struct page page;

	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	assert_int_equal(strstr(page_text(&page), "  ! no names for most functions of app: debug "
						  "symbols are missing") != NULL,
			 is_told);
	page_close(&page);
}

static void given_a_program_without_names_then_a_line_says_what_to_do(void **state)
{
	struct profile *p;

	(void)state;
	assert_nameless(make_stripped(20), true);
	assert_nameless(make_stripped(19), false); /* most have names */
	p = make_stripped(39);
	p->resolved = false; /* nobody has looked for them */
	assert_nameless(p, false);
}

static void libraries_without_names_are_told_once_the_largest_first(void **state)
{
	struct profile *p = make_stripped(39);
	uint32_t loaded_again[2] = {sample_module(p, "/lib/libother.so"),
				    sample_module(p, "/lib/libother.so")};
	struct page page;
	uint32_t at = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		at = sample_node_in(p, at, loaded_again[i % 2], 0);
	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	assert_non_null(strstr(page_text(&page), "functions of libother.so, app: debug"));
	page_close(&page);
}

static void an_empty_profile_can_be_summed_up(void **state)
{
	struct profile *p = profile_new();
	struct page page;

	(void)state;
	page_open(&page);
	header_print(page.out, p, &ascii);
	profile_free(p);
	assert_non_null(strstr(page_text(&page), "unknown program"));
	assert_non_null(strstr(page_text(&page), "ended in an unknown way after 0 ns"));
	page_close(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clean_run_is_summed_up_in_a_few_lines),
		cmocka_unit_test(several_recordings_have_an_end_each),
		cmocka_unit_test(a_recording_that_never_began_says_so),
		cmocka_unit_test(peaks_of_several_recordings_have_no_moment),
		cmocka_unit_test(every_loss_that_is_not_zero_is_printed_with_its_meaning),
		cmocka_unit_test(given_a_damaged_or_abandoned_recording_then_a_notice_says_so),
		cmocka_unit_test(given_a_program_without_names_then_a_line_says_what_to_do),
		cmocka_unit_test(libraries_without_names_are_told_once_the_largest_first),
		cmocka_unit_test(an_empty_profile_can_be_summed_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
