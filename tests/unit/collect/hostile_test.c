/* hostile_test.c -- a target that lies, and one that changes its mind while it is read: the
 * collector ends, with bounded memory and a profile that is sound.
 * Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "producer.h"

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

static void assert_sound(struct collector *c)
{
	struct profile *p = collect_build_profile(c);
	struct error e = {0};

	assert_int_equal(profile_check(p, &e), 0);
	profile_free(p);
}

/* ---- too many blocks ------------------------------------------------------------------------- */

#define COLLISIONS 20000u

/* Adds the addresses of a MiB that have their home at the start of a shard. */
static uint32_t add_collisions(uint64_t *list, uint32_t count, uint64_t start)
{
	for (uint64_t ptr = start; ptr < start + (1 << 20) && count < COLLISIONS; ptr++)
		if ((live_hash(ptr) & UINT32_MAX) >> 21 == 0)
			list[count++] = ptr;
	return count;
}

/* Addresses that share a shard and nearly a group, whatever their sizes. */
static uint64_t *list_collisions(void)
{
	uint64_t *list = calloc(COLLISIONS, sizeof(*list));
	uint32_t count = 0;

	assert_non_null(list);
	for (uint64_t start = 1 << 20; count < COLLISIONS; start += 1 << 20)
		if ((live_hash(start) & ~LIVE_LOW_BITS) == 0)
			count = add_collisions(list, count, start);
	return list;
}

/* Allocates at `count` addresses, those of a list or neighbours, drained now and then, while it is
 * listened to. */
static void allocate(struct collector *c, struct producer *p, const uint64_t *list, uint64_t count)
{
	for (uint64_t i = 1; i <= count && c->streams.broken == 0; i++) {
		producer_alloc(p, i, list ? list[i - 1] : i * 16, 16, 1);
		if (i % 10000 == 0)
			(void)producer_drain(c);
	}
	(void)producer_drain(c);
}

static void assert_given_up(struct collector *c)
{
	struct collect_status status;

	assert_true(c->account.live.crowded);
	assert_int_equal(collect_run(c, 0, NULL), COLLECT_END_ABANDONED);
	collect_get_status(c, &status);
	assert_int_equal(status.lost_events, 1);
	assert_sound(c);
}

static void more_blocks_than_there_is_memory_for_end_the_recording(void **state)
{
	struct collector *c = *state;
	struct producer p = producer_open(c, 1);

	c->account.live.bytes_most = 1 << 20;
	allocate(c, &p, NULL, 200000);
	assert_given_up(c);
	assert_true(live_get_bytes(&c->account.live) < 2 << 20);
}

static void addresses_chosen_to_collide_end_the_recording(void **state)
{
	struct collector *c = *state;
	struct producer p = producer_open(c, 1);
	uint64_t *list = list_collisions();

	allocate(c, &p, list, COLLISIONS);
	free(list);
	assert_given_up(c);
	assert_true(c->account.events < COLLISIONS);
}

static void as_many_blocks_at_usual_addresses_do_not(void **state)
{
	struct collector *c = *state;
	struct producer p = producer_open(c, 1);

	allocate(c, &p, NULL, 200000);
	assert_false(c->account.live.crowded);
	assert_int_equal(c->account.events, 200000);
}

/* ---- contradictions -------------------------------------------------------------------------- */

/* All at one time, each with an event of the other thread that seems to explain it. */
static void threads_that_always_contradict_each_other_are_handled(void **state)
{
	struct collector *c = *state;
	struct producer one = producer_open(c, 1), two = producer_open(c, 2);

	for (unsigned i = 0; i < 10000; i++) {
		producer_free(&one, 5, 0x1000 + i % 7 * 16);
		producer_alloc(&two, 5, 0x1000 + i % 5 * 16, 16, 1);
	}
	assert_int_equal(producer_drain(c), 20000);
	assert_sound(c);
}

/* The account has a use for the highest bit of a size. */
static void blocks_larger_than_memory_are_blocks(void **state)
{
	struct collector *c = *state;
	struct producer p = producer_open(c, 1);

	producer_alloc(&p, 1, 0x1000, UINT64_MAX, 1);
	producer_alloc(&p, 2, 0x1000, UINT64_C(1) << 63 | 5, 1);
	producer_free(&p, 3, 0x1000);
	assert_int_equal(producer_drain(c), 3);
	assert_int_equal(c->account.missed_frees, 1);
	assert_sound(c);
}

/* ---- endless claims -------------------------------------------------------------------------- */

static void endless_threads_share_one_record(void **state)
{
	struct collector *c = *state;

	for (uint32_t i = 1; i < 400; i++) {
		struct producer p = producer_open(c, i * 10007);

		producer_alloc(&p, i, i * UINT64_C(64), 8, 1);
		producer_end(&p, i);
		(void)producer_drain(c);
	}
	assert_true(c->account.threads.list.count <= THREADS_MAX);
	assert_true(c->account.threads.by_serial.count <= THREADS_MAX + 1);
	assert_sound(c);
}

static void counts_beyond_the_tables_are_cut(void **state)
{
	struct collector *c = *state;
	struct segment_header *h = c->map.header;
	_Atomic uint32_t *const counts[] = {&h->slots_used,  &h->modules_used, &h->strings_used,
					    &h->chunks_used, &h->next_serial,  &h->children,
					    &h->places_used, &h->nodes_used,   &h->waiting,
					    &h->exit_status};

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		atomic_store(counts[i], UINT32_MAX);
	(void)producer_drain(c);
	assert_sound(c);
}

static void a_wild_layout_in_the_header_is_not_read(void **state)
{
	struct collector *c = *state;
	struct producer p = producer_open(c, 1);

	memset(&c->map.header->layout, 0xff, sizeof(c->map.header->layout));
	producer_alloc(&p, 1, 0x1000, 10, 1);
	assert_int_equal(producer_drain(c), 1);
	assert_sound(c);
}

/* ---- while it is read ------------------------------------------------------------------------ */

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Words of every part that a target writes. */
static void spoil_word(const struct segment_map *map, uint64_t random, uint64_t value)
{
	char *const parts[] = {(char *)map->header + offsetof(struct segment_header, free_chunks),
			       (char *)map->slots,
			       (char *)map->modules,
			       map->strings,
			       (char *)map->places,
			       (char *)map->nodes,
			       (char *)map->chunks};
	size_t room = random % 7 ? 32768 : 512;

	memcpy(parts[random % 7] + (random >> 8) % room / 8 * 8, &value, sizeof(value));
}

/* One of the slots that are in use at this time; broken ones are left behind. */
static void spoil_slot(const struct segment_map *map, uint64_t random, uint32_t first)
{
	struct segment_slot *slot = &map->slots[first + random % 8];

	slot->first_chunk = 1 + (uint32_t)(random >> 8) % 32;
	slot->serial = (uint32_t)(random >> 16) % 64;
	slot->tid = (uint32_t)getpid();
	if (random >> 24 & 1)
		atomic_fetch_add(&slot->head, (random >> 32) % 128 * SEGMENT_EVENT_MAX);
	atomic_store(&slot->state, (random >> 25) % 16 ? SEGMENT_SLOT_LIVE : SEGMENT_SLOT_ENDED);
	atomic_store(&map->header->slots_used, first + 8);
}

/* Events of the same length mostly, so that a stream lasts for a while. */
static void spoil_event(const struct segment_map *map, uint64_t random)
{
	static const uint8_t kinds[] = {SEGMENT_EVENT_ALLOC_BIG, SEGMENT_EVENT_RESIZED_BIG,
					SEGMENT_EVENT_NAME,	 SEGMENT_EVENT_MARK,
					SEGMENT_EVENT_ALLOC_BIG, SEGMENT_EVENT_RESIZED_BIG,
					SEGMENT_EVENT_NAME,	 SEGMENT_EVENT_ALLOC_BIG};
	struct segment_chunk *chunk = &map->chunks[1 + random % 32];
	uint64_t *words = &chunk->words[(random >> 8) % (SEGMENT_CHUNK_PAYLOAD / 32) * 4];
	bool odd = (random >> 56) % 64 == 0;

	words[0] = (random >> 20) % 4096 << 8 | (odd ? random >> 32 & 15 : kinds[random >> 32 & 7]);
	words[1] = (1 + (random >> 40) % 64) * 16;
	words[2] = (random >> 54) % 32;
	words[3] = (random >> 48) % 64;
	atomic_store(&chunk->next, 1 + (uint32_t)(random >> 10) % (odd ? 40 : 32));
}

/* In a process of its own, for ever. */
static void __attribute__((noreturn)) scribble(const struct segment_map *map)
{
	uint64_t x = 88172645463325252u;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t i = 0; i < 100000; i++)
		spoil_event(map, next_random(&x));
	for (uint64_t i = 0;; i++) {
		uint64_t random = next_random(&x);

		if (random >> 60 == 0)
			spoil_word(map, random, next_random(&x));
		else if (random >> 60 < 4)
			spoil_slot(map, random, 1 + (uint32_t)(i >> 10) % 4000);
		else
			spoil_event(map, random);
	}
}

static void what_is_changed_while_it_is_read_harms_nobody(void **state)
{
	struct collector *c = *state;
	uint64_t events = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		scribble(&c->map);
	for (unsigned round = 0; (round < 3000 || events < 1000) && c->streams.broken < 4000;
	     round++) {
		events += producer_drain(c);
		if (round % 500 == 0)
			assert_sound(c);
	}
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(events >= 1000);
	assert_sound(c);
}

#define with_collector(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_collector(more_blocks_than_there_is_memory_for_end_the_recording),
		with_collector(addresses_chosen_to_collide_end_the_recording),
		with_collector(as_many_blocks_at_usual_addresses_do_not),
		with_collector(threads_that_always_contradict_each_other_are_handled),
		with_collector(blocks_larger_than_memory_are_blocks),
		with_collector(endless_threads_share_one_record),
		with_collector(counts_beyond_the_tables_are_cut),
		with_collector(a_wild_layout_in_the_header_is_not_read),
		with_collector(what_is_changed_while_it_is_read_harms_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
