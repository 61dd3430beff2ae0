/* drain_test.c -- streams, their merge by time, and what is handed back; hostile streams too.
 * Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "producer.h"

#define A		 UINT64_C(0x10000)
#define B		 UINT64_C(0x20000)

#define EVENTS_PER_CHUNK ((SEGMENT_CHUNK_PAYLOAD - SEGMENT_EVENT_MAX) / 16 + 1) /* frees */

static int set_up(void **state)
{
	*state = producer_new_collector(0);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	collect_free(*state);
	return 0;
}

static uint32_t count_free_chunks(const struct collector *c)
{
	uint32_t count = 0;

	for (uint32_t i = (uint32_t)atomic_load(&c->map.header->free_chunks); i;
	     i = atomic_load(&c->map.chunks[i].next_free)) {
		assert_int_equal(atomic_load(&c->map.chunks[i].next), 0);
		count++;
	}
	return count;
}

static uint64_t get_lost(struct collector *c)
{
	struct collect_status status;

	collect_get_status(c, &status);
	return status.lost_events;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void threads_are_merged_by_time(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	/* In slot order the peak would be 30, and the frees foreign. */
	producer_alloc(&one, 10, A, 10, 1);
	producer_free(&one, 40, B);
	producer_alloc(&one, 50, A + 16, 5, 1);
	producer_free(&two, 20, A);
	producer_alloc(&two, 30, B, 20, 1);
	assert_int_equal(producer_drain(c), 5);

	assert_int_equal(c->account.foreign_frees, 0);
	assert_int_equal(c->account.peak.bytes, 20);
	assert_int_equal(c->account.peak.live_bytes, 5);
}

/* Enough streams for the heap to have some depth: a block is handed round them all, one step
 * each time. */
static void hundreds_of_threads_are_merged_by_time(void **state)
{
	enum { THREADS = 300, STEPS = 30 };
	struct collector *c = *state;
	struct producer p[THREADS];
	uint64_t time = 10;

	for (uint32_t i = 0; i < THREADS; i++) {
		p[i] = producer_open(c, i + 1);
		(void)collect_drain(c); /* sees the slot and raises the limit of chunks */
	}
	for (uint32_t step = 0; step < STEPS; step++) {
		for (uint32_t i = 0; i < THREADS; i++) {
			uint32_t k = i * 7 % THREADS;

			producer_alloc(&p[k], time++, A, 100, 1);
			producer_free(&p[(k + 1) % THREADS], time++, A);
		}
	}
	assert_int_equal(producer_drain(c), THREADS * STEPS * 2);
	assert_int_equal(c->account.foreign_frees, 0);
	assert_int_equal(c->account.missed_frees, 0);
	assert_int_equal(c->account.peak.bytes, 100);
	assert_int_equal(c->account.peak.live_blocks, 0);
}

static void an_event_stamped_in_the_future_waits_for_its_time(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);
	/* Long enough for a busy machine to drain in the meantime. */
	uint64_t later = ticks_get_now(&c->clock) + ticks_from_ns(&c->clock, 1000000000);

	producer_alloc(&one, 10, A, 10, 1);
	producer_alloc(&one, later, B, 10, 1);
	assert_int_equal(producer_drain(c), 1);
	while (ticks_get_now(&c->clock) <= later)
		continue;
	assert_int_equal(collect_drain(c), 1);
}

static void an_event_published_late_is_handled_when_seen(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	producer_alloc(&one, 500, A, 10, 1);
	assert_int_equal(producer_drain(c), 1);
	producer_alloc(&two, 100, B, 20, 1);
	assert_int_equal(producer_drain(c), 1);
	assert_int_equal(c->account.peak.bytes, 30);
}

/* ---- equal stamps ---------------------------------------------------------------------------- */

static void of_equal_stamps_the_free_of_a_live_block_goes_first(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	producer_alloc(&two, 10, A, 10, 1);
	producer_alloc(&one, 50, A, 30, 2); /* the lower slot comes first in the merge */
	producer_free(&two, 50, A);
	assert_int_equal(producer_drain(c), 3);
	assert_int_equal(c->account.missed_frees, 0);
	assert_int_equal(c->account.peak.bytes, 30);
	assert_int_equal(c->account.peak.live_bytes, 30);
}

static void of_equal_stamps_the_allocation_of_a_dead_block_goes_first(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	producer_free(&one, 50, A);
	producer_alloc(&two, 50, A, 30, 1);
	assert_int_equal(producer_drain(c), 2);
	assert_int_equal(c->account.foreign_frees, 0);
	assert_int_equal(c->account.peak.live_blocks, 0);
}

static void of_equal_stamps_a_realloc_lets_go_of_its_block_first(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	producer_alloc(&two, 10, A, 10, 1);
	producer_alloc(&one, 50, A, 30, 2);
	producer_resize(&two, 50, A);
	producer_resized(&two, 60, B, 12, 1);
	assert_int_equal(producer_drain(c), 4);
	assert_int_equal(c->account.missed_frees, 0);
	assert_int_equal(c->account.peak.live_bytes, 42);
}

/* A's free waits for nothing, B's allocation for A's free, C's for B's free after it. */
static void a_chain_of_equal_stamps_is_untangled(void **state)
{
	struct collector *c = *state;
	struct producer third = producer_open(c, 3), second = producer_open(c, 2);
	struct producer first = producer_open(c, 1);

	producer_alloc(&first, 10, A, 1, 1);
	producer_alloc(&first, 11, B, 2, 1);
	producer_alloc(&third, 50, B, 8, 1);
	producer_alloc(&second, 50, A, 4, 1);
	producer_free(&second, 50, B);
	producer_free(&first, 50, A);
	assert_int_equal(producer_drain(c), 6);
	assert_int_equal(c->account.missed_frees, 0);
	assert_int_equal(c->account.foreign_frees, 0);
	assert_int_equal(c->account.peak.live_bytes, 12);
}

static void a_tie_is_settled_across_the_end_of_a_batch(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	producer_alloc(&two, 10, A, 10, 1);
	for (uint32_t i = 0; i < EVENT_BATCH - 2; i++)
		producer_alloc(&one, 20 + i, 0x100000 + i * 16, 1, 1);
	producer_alloc(&one, 500, A, 30, 2); /* the last of the first batch */
	producer_free(&two, 500, A);
	producer_drain(c);
	assert_int_equal(c->account.missed_frees, 0);
	assert_int_equal(c->account.foreign_frees, 0);
}

static void equal_stamps_that_contradict_each_other_end_in_counts(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	producer_alloc(&one, 10, A, 1, 1);
	producer_alloc(&one, 11, B, 1, 1);
	producer_alloc(&one, 50, A, 2, 1); /* waits for two's free of A, */
	producer_free(&one, 50, B);
	producer_alloc(&two, 50, B, 2, 1); /* which waits for one's free of B */
	producer_free(&two, 50, A);
	assert_int_equal(producer_drain(c), 6);
	assert_int_equal(holding_get_blocks(&c->account.sites.list.at[0].held),
			 c->account.peak.live_blocks);
	assert_true(c->account.missed_frees + c->account.foreign_frees > 0);
}

/* ---- chunks and slots ------------------------------------------------------------------------ */

static void drained_chunks_go_back_and_waiting_targets_are_told(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	for (uint32_t i = 0; i < 3 * EVENTS_PER_CHUNK + 1; i++)
		producer_free(&one, 10 + i, A);
	assert_int_equal(producer_drain(c), 3 * EVENTS_PER_CHUNK + 1);
	assert_int_equal(count_free_chunks(c), 3);
	assert_int_equal(atomic_load(&c->map.header->freed), 3);
	assert_int_equal(get_lost(c), 0);
}

static void a_stream_that_ends_at_the_end_of_a_chunk_waits_for_the_next(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	for (uint32_t i = 0; i < EVENTS_PER_CHUNK; i++)
		producer_free(&one, 10 + i, A);
	assert_int_equal(producer_drain(c), EVENTS_PER_CHUNK);
	assert_int_equal(collect_drain(c), 0);
	assert_int_equal(count_free_chunks(c), 0);
	producer_free(&one, 20000, A);
	assert_int_equal(collect_drain(c), 1);
	assert_int_equal(count_free_chunks(c), 1);
	assert_int_equal(get_lost(c), 0);
}

static void an_ended_slot_is_retired_with_its_chunk_and_its_losses(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);
	struct segment_slot *slot = &c->map.slots[one.slot];

	producer_alloc(&one, 10, A, 10, 1);
	atomic_store(&slot->losses.lost_events, 3);
	atomic_store(&slot->losses.reentrant_calls, 2);
	atomic_store(&slot->losses.failed_allocations, 4);
	producer_end(&one, 70);
	producer_drain(c);
	assert_int_equal(atomic_load(&slot->state), SEGMENT_SLOT_FREE);
	assert_int_equal((uint32_t)atomic_load(&c->map.header->free_slots), one.slot);
	assert_int_equal(count_free_chunks(c), 1);
	assert_int_equal(get_lost(c), 3);

	struct profile *p = collect_build_profile(c);
	assert_int_equal(p->threads.at[0].losses, 5);
	assert_int_equal(p->threads.at[0].failed_allocations, 4);
	assert_int_equal(p->threads.at[0].start_ns, 5);
	assert_int_equal(p->threads.at[0].end_ns, 70);
	assert_int_equal(p->totals.failed_allocations, 4);
	assert_int_equal(p->totals.lost_events, 3);
	assert_int_equal(p->totals.reentrant_calls, 2);
	profile_free(p);
}

static void a_chunk_that_was_linked_and_never_written_goes_back_too(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	for (uint32_t i = 0; i < EVENTS_PER_CHUNK; i++)
		producer_free(&one, 10 + i, A);
	(void)producer_reserve(&one, 2);
	producer_end(&one, 20000);
	producer_drain(c);
	assert_int_equal(count_free_chunks(c), 2);
	assert_int_equal(get_lost(c), 0);
}

static void losses_of_a_live_thread_are_in_the_profile_once(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	producer_alloc(&one, 10, A, 10, 1);
	atomic_store(&c->map.slots[one.slot].losses.truncated_stacks, 6);
	atomic_store(&c->map.header->losses.truncated_stacks, 1);
	producer_drain(c);
	for (int i = 0; i < 2; i++) {
		struct profile *p = collect_build_profile(c);

		assert_int_equal(p->totals.truncated_stacks, 7);
		assert_int_equal(p->threads.at[0].end_ns, UINT64_MAX);
		profile_free(p);
	}
}

static void a_slot_is_used_again_by_the_next_thread(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	producer_alloc(&one, 10, A, 10, 1);
	producer_end(&one, 20);
	producer_drain(c);
	struct producer two = producer_open(c, 2);
	assert_int_equal(two.slot, one.slot);
	producer_free(&two, 30, A);
	assert_int_equal(producer_drain(c), 1);
	assert_int_equal(c->account.threads.list.count, 2);
	assert_int_equal(c->account.threads.list.at[1].frees, 1);
	assert_int_equal(c->account.foreign_frees, 0);
}

static void a_thread_that_comes_back_continues_its_record(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	producer_alloc(&one, 10, A, 10, 1);
	producer_end(&one, 20);
	producer_drain(c);
	one = producer_open(c, 1);
	producer_free(&one, 30, A); /* its latest allocation: temporary */
	producer_drain(c);

	struct profile *p = collect_build_profile(c);
	assert_int_equal(p->threads.count, 1);
	assert_int_equal(p->totals.threads, 1);
	assert_int_equal(p->threads.at[0].end_ns, UINT64_MAX);
	assert_int_equal(p->threads.at[0].temporary, 1);
	profile_free(p);
}

static void the_chunk_limit_follows_the_number_of_threads(void **state)
{
	struct collector *c = *state;
	uint32_t before = atomic_load(&c->map.header->chunk_limit);
	struct producer p[10];

	for (uint32_t i = 0; i < 10; i++)
		p[i] = producer_open(c, i + 1);
	producer_drain(c);
	assert_int_equal(atomic_load(&c->map.header->chunk_limit), before + 10);
	for (uint32_t i = 0; i < 10; i++)
		producer_end(&p[i], 20);
	producer_drain(c);
	assert_int_equal(atomic_load(&c->map.header->chunk_limit), before);
}

static void the_name_is_the_last_one_seen(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	producer_alloc(&one, 10, A, 10, 1);
	producer_drain(c);
	memcpy(c->map.slots[one.slot].name, "0123456789abcdef", SEGMENT_NAME_BYTES);
	atomic_store(&c->map.slots[one.slot].end_ticks, 20); /* it was at its end that it said so */
	struct profile *p = collect_build_profile(c);
	assert_string_equal(profile_string(p, p->threads.at[0].name), "0123456789abcde");
	profile_free(p);
}

/* ---- hostile streams ------------------------------------------------------------------------- */

/* One good thread, one that breaks the contract: the good one is not disturbed. */
static void expect_broken(struct collector *c, struct producer *good)
{
	uint64_t before = c->account.events;

	producer_drain(c);
	assert_int_equal(get_lost(c), 1);
	producer_drain(c);
	assert_int_equal(get_lost(c), 1); /* counted once, not read again */
	producer_alloc(good, 900, 0x990000, 1, 1);
	producer_drain(c);
	assert_int_equal(c->account.events, before + 1);
}

static void a_kind_that_is_none_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_write(&bad, 1, (uint64_t[4]){10 << 8 | SEGMENT_EVENT_NONE});
	expect_broken(c, &good);
}

static void a_kind_beyond_the_known_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_write(&bad, 4, (uint64_t[4]){10 << 8 | SEGMENT_EVENT_KINDS});
	expect_broken(c, &good);
}

static void an_event_cut_off_by_the_head_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_write(&bad, 2, (uint64_t[4]){10 << 8 | SEGMENT_EVENT_ALLOC, A});
	expect_broken(c, &good);
}

static void a_node_outside_the_layout_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_alloc(&bad, 10, A, 1, c->map.layout.node_count);
	expect_broken(c, &good);
}

static void a_node_of_more_than_32_bits_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_write(&bad, 4,
		       (uint64_t[4]){10 << 8 | SEGMENT_EVENT_ALLOC_BIG, A, UINT64_C(1) << 32, 8});
	expect_broken(c, &good);
}

static void a_block_at_address_0_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_alloc(&bad, 10, 0, 1, 1);
	expect_broken(c, &good);
}

static void a_head_that_goes_back_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_alloc(&bad, 10, A, 1, 1);
	producer_drain(c);
	atomic_store(&c->map.slots[bad.slot].head, 8);
	expect_broken(c, &good);
}

static void a_head_beyond_all_chunks_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	atomic_store(&c->map.slots[bad.slot].head, UINT64_C(1) << 60);
	expect_broken(c, &good);
}

static void a_chunk_outside_the_layout_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	producer_alloc(&bad, 10, A, 1, 1);
	c->map.slots[bad.slot].first_chunk = c->map.layout.chunk_count;
	expect_broken(c, &good);
}

static void a_link_to_nowhere_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 2);

	for (uint32_t i = 0; i < EVENTS_PER_CHUNK; i++)
		producer_free(&bad, 10 + i, A);
	producer_drain(c);
	atomic_store(&c->map.chunks[bad.chunk].next, 0);
	atomic_store(&c->map.slots[bad.slot].head, SEGMENT_CHUNK_PAYLOAD + 16);
	expect_broken(c, &good);
}

/* Chunks linked in a ring and a head as far as allowed: handled, and then it is over. */
static void a_ring_of_chunks_does_not_keep_us_for_ever(void **state)
{
	struct collector *c = *state;
	struct producer bad = producer_open(c, 1);

	for (uint32_t i = 0; i < EVENTS_PER_CHUNK; i++)
		producer_free(&bad, 10 + i, A);
	atomic_store(&c->map.chunks[bad.chunk].next, bad.chunk);
	atomic_store(&c->map.slots[bad.slot].head, 100 * (uint64_t)SEGMENT_CHUNK_PAYLOAD);
	assert_true(producer_drain(c) <= 100 * EVENTS_PER_CHUNK);
}

static void a_serial_of_0_breaks_the_stream(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1), bad = producer_open(c, 0);

	producer_alloc(&bad, 10, A, 1, 1);
	expect_broken(c, &good);
}

static void a_slot_count_beyond_the_layout_is_not_believed(void **state)
{
	struct collector *c = *state;
	struct producer good = producer_open(c, 1);

	atomic_store(&c->map.header->slots_used, UINT32_MAX);
	producer_alloc(&good, 10, A, 1, 1);
	assert_int_equal(producer_drain(c), 1);
}

static void an_api_beyond_the_known_counts_as_other(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1);

	producer_write(&one, 3, (uint64_t[4]){10 << 8 | 15 << 4 | SEGMENT_EVENT_ALLOC, A, 1 << 8});
	producer_drain(c);
	assert_int_equal(c->account.api_calls[SEGMENT_API_OTHER], 1);
}

#define with_collector(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_collector(threads_are_merged_by_time),
		with_collector(hundreds_of_threads_are_merged_by_time),
		with_collector(an_event_stamped_in_the_future_waits_for_its_time),
		with_collector(an_event_published_late_is_handled_when_seen),
		with_collector(of_equal_stamps_the_free_of_a_live_block_goes_first),
		with_collector(of_equal_stamps_the_allocation_of_a_dead_block_goes_first),
		with_collector(of_equal_stamps_a_realloc_lets_go_of_its_block_first),
		with_collector(a_chain_of_equal_stamps_is_untangled),
		with_collector(a_tie_is_settled_across_the_end_of_a_batch),
		with_collector(equal_stamps_that_contradict_each_other_end_in_counts),
		with_collector(drained_chunks_go_back_and_waiting_targets_are_told),
		with_collector(a_stream_that_ends_at_the_end_of_a_chunk_waits_for_the_next),
		with_collector(an_ended_slot_is_retired_with_its_chunk_and_its_losses),
		with_collector(a_chunk_that_was_linked_and_never_written_goes_back_too),
		with_collector(losses_of_a_live_thread_are_in_the_profile_once),
		with_collector(a_slot_is_used_again_by_the_next_thread),
		with_collector(a_thread_that_comes_back_continues_its_record),
		with_collector(the_chunk_limit_follows_the_number_of_threads),
		with_collector(the_name_is_the_last_one_seen),
		with_collector(a_kind_that_is_none_breaks_the_stream),
		with_collector(a_kind_beyond_the_known_breaks_the_stream),
		with_collector(an_event_cut_off_by_the_head_breaks_the_stream),
		with_collector(a_node_outside_the_layout_breaks_the_stream),
		with_collector(a_node_of_more_than_32_bits_breaks_the_stream),
		with_collector(a_block_at_address_0_breaks_the_stream),
		with_collector(a_head_that_goes_back_breaks_the_stream),
		with_collector(a_head_beyond_all_chunks_breaks_the_stream),
		with_collector(a_chunk_outside_the_layout_breaks_the_stream),
		with_collector(a_link_to_nowhere_breaks_the_stream),
		with_collector(a_ring_of_chunks_does_not_keep_us_for_ever),
		with_collector(a_serial_of_0_breaks_the_stream),
		with_collector(a_slot_count_beyond_the_layout_is_not_believed),
		with_collector(an_api_beyond_the_known_counts_as_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
