/* threads_test.c -- records of threads, and the one for all further threads. Runs: as a test
 * program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/account_sampled.h"
#include "collect/threads.h"
#include "producer.h"

static void a_serial_keeps_its_record(void **state)
{
	struct threads t = {.most = THREADS_MAX};

	(void)state;
	assert_int_equal(threads_reserve(&t, 5), 0);
	assert_int_equal(threads_reserve(&t, 2), 1);
	assert_int_equal(threads_reserve(&t, 5), 0);
	assert_int_equal(t.list.at[0].serial, 5);
	assert_int_equal(threads_get_count(&t), 2);
	threads_fini(&t);
}

static void threads_beyond_the_last_place_share_a_record(void **state)
{
	struct threads t = {.most = THREADS_MAX};

	(void)state;
	for (uint32_t serial = 1; serial <= 70000; serial++)
		threads_reserve(&t, serial);
	assert_int_equal(t.list.count, THREADS_MAX);
	assert_int_equal(threads_reserve(&t, 66000), threads_reserve(&t, 67000));
	assert_true(t.list.at[threads_reserve(&t, 66000)].shared);
	assert_false(t.list.at[threads_reserve(&t, THREADS_MAX - 1)].shared);
	assert_int_equal(threads_get_count(&t), 70000);
	threads_fini(&t);
}

static void a_wild_serial_takes_no_more_memory(void **state)
{
	struct threads t = {.most = THREADS_MAX};

	(void)state;
	threads_reserve(&t, UINT32_MAX);
	assert_int_equal(t.list.count, 1);
	assert_true(t.by_serial.count <= THREADS_MAX + 1);
	threads_fini(&t);
}

static void sampling_keeps_few_records_however_many_threads_come(void **state)
{
	struct account a = {0};
	struct collect_config config = {.mode = SEGMENT_MODE_SAMPLE, .sample_period = 4096};
	struct segment_slot *slots = aligned_alloc(128, 2 * sizeof(*slots));
	struct ticks clock = {.span_ticks = 1, .span_ns = 1};

	(void)state;
	memset(slots, 0, 2 * sizeof(*slots));
	account_init(&a, &clock, 2);
	a.slots = slots;
	account_sampled_plan(&a, &config);
	for (uint32_t serial = 1; serial <= 20000; serial++) {
		(void)account_open_thread(&a, 1, serial);
		atomic_store(&slots[1].totals.calls[0], 1);
		account_close_thread(&a, 1);
	}
	assert_int_equal(a.threads.list.count, THREADS_SAMPLED_MAX);
	assert_int_equal(a.threads.by_serial.count, THREADS_SAMPLED_MAX + 1);
	assert_int_equal(a.sampling->retired.count, THREADS_SAMPLED_MAX);
	assert_int_equal(threads_get_count(&a.threads), 20000);
	assert_int_equal(account_get_totals(&a).allocations, 20000);
	account_fini(&a);
	free(slots);
}

static void the_shared_record_is_the_last_and_says_so(void **state)
{
	struct collector *c = producer_new_collector(0);
	struct producer far = producer_open(c, 70000), near = producer_open(c, 1);

	(void)state;
	producer_alloc(&far, 10, 0x1000, 5, 1);
	producer_alloc(&near, 20, 0x2000, 6, 1);
	producer_drain(c);
	struct profile *p = collect_build_profile(c);

	assert_int_equal(p->threads.count, 2);
	assert_int_equal(p->threads.at[0].serial, 1);
	assert_int_equal(p->threads.at[0].live_bytes, 6);
	assert_string_equal(profile_string(p, p->threads.at[1].name), "(other threads)");
	assert_int_equal(p->threads.at[1].live_bytes, 5);
	profile_free(p);
	collect_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_serial_keeps_its_record),
		cmocka_unit_test(threads_beyond_the_last_place_share_a_record),
		cmocka_unit_test(a_wild_serial_takes_no_more_memory),
		cmocka_unit_test(sampling_keeps_few_records_however_many_threads_come),
		cmocka_unit_test(the_shared_record_is_the_last_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
