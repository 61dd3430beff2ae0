/* live_test.c -- the table of live blocks against a plain array. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collect/live.h"

static uint64_t random_state = UINT64_C(0x2545f4914f6cdd1d);

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void add(struct live *t, uint64_t ptr, uint64_t size)
{
	struct live_block *block = live_add(t, live_hash(ptr), ptr);

	*block = (struct live_block){.ptr = ptr, .size = size};
}

static struct live_block *find(const struct live *t, uint64_t ptr)
{
	return live_find(t, live_hash(ptr), ptr);
}

static void take_out(struct live *t, uint64_t ptr)
{
	const struct live_block *gone = live_remove(t, live_hash(ptr), ptr);

	assert_non_null(gone);
	assert_int_equal(gone->ptr, ptr);
}

static void a_block_is_found_under_its_address_until_it_is_removed(void **state)
{
	struct live t;

	(void)state;
	live_init(&t);
	assert_null(find(&t, 0x1000));
	add(&t, 0x1000, 7);
	add(&t, 0x1010, 8);
	assert_int_equal(find(&t, 0x1000)->size, 7);
	assert_null(live_add(&t, live_hash(0x1000), 0x1000)); /* taken */
	take_out(&t, 0x1000);
	assert_null(live_remove(&t, live_hash(0x1000), 0x1000));
	assert_null(find(&t, 0x1000));
	assert_int_equal(find(&t, 0x1010)->size, 8);
	live_fini(&t);
}

static void address_0_is_never_found(void **state)
{
	struct live t;

	(void)state;
	live_init(&t);
	add(&t, 16, 1);
	assert_null(find(&t, 0));
	live_fini(&t);
}

/* Many more blocks than one shard takes, so that it grows, splits and splits again. */
static void every_block_survives_growth_and_splits(void **state)
{
	const uint64_t count = 600000;
	struct live t;

	(void)state;
	live_init(&t);
	for (uint64_t i = 1; i <= count; i++)
		add(&t, i * 16, i);
	assert_true(t.depth >= 1);
	for (uint64_t i = 1; i <= count; i++)
		assert_int_equal(find(&t, i * 16)->size, i);
	assert_null(find(&t, (count + 1) * 16));
	live_fini(&t);
}

/* They share the bits that choose the shard, so no split can part them. */
static void addresses_of_one_mib_stay_in_one_shard_that_grows_on(void **state)
{
	const uint64_t base = UINT64_C(0x7f3400000000), count = 200000;
	struct live t;

	(void)state;
	live_init(&t);
	for (uint64_t i = 0; i < count; i++)
		add(&t, base + i * 5, i);
	assert_int_equal(t.depth, 0);
	assert_int_equal(t.directory[0]->count, count);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(find(&t, base + i * 5)->size, i);
	live_fini(&t);
}

static void a_big_table_takes_at_most_62_bytes_per_block(void **state)
{
	struct live t;

	(void)state;
	live_init(&t);
	for (uint64_t i = 1; i <= 2000000; i++) {
		add(&t, i * 32, i);
		if (i > 200000 && i % 10000 == 0)
			assert_true(live_get_bytes(&t) <= i * 62);
	}
	live_fini(&t);
}

static void memory_is_given_back_when_most_blocks_are_gone(void **state)
{
	struct live t;

	(void)state;
	live_init(&t);
	uint64_t empty_bytes = live_get_bytes(&t);
	for (uint64_t i = 1; i <= 100000; i++)
		add(&t, i * 16, i);
	for (uint64_t i = 1; i <= 100000; i++) {
		take_out(&t, i * 16);
		if (i == 99990)
			assert_int_equal(find(&t, 99999 * 16)->size, 99999);
	}
	assert_true(live_get_bytes(&t) <= empty_bytes << t.depth); /* of each shard */
	live_fini(&t);
}

/* Addresses that share everything the table looks at: same shard, same group, same tag. The hash
 * is a bijection, so they are found by inverting its steps. */
static uint64_t unhash(uint64_t h)
{
	h ^= h >> 32;
	h *= UINT64_C(0x572b5ee77a54e3bd); /* inverse of the second factor */
	h ^= (h >> 29) ^ (h >> 58);
	h *= UINT64_C(0xf1de83e19937733d); /* inverse of the first factor */
	return h ^ (h >> 32);
}

static void blocks_with_colliding_hashes_overflow_into_later_groups(void **state)
{
	const uint64_t count = 220;
	struct live t;

	(void)state;
	live_init(&t);
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t ptr = unhash(UINT64_C(0x1200000000000000) | i << 40 | 7);

		assert_int_equal(live_hash(ptr) & 0xffffffff, 7);
		add(&t, ptr, i);
	}
	for (uint64_t i = 1; i <= count; i += 2)
		take_out(&t, unhash(UINT64_C(0x1200000000000000) | i << 40 | 7));
	for (uint64_t i = 1; i <= count; i++) {
		struct live_block *b = find(&t, unhash(UINT64_C(0x1200000000000000) | i << 40 | 7));

		if (i % 2)
			assert_null(b);
		else
			assert_int_equal(b->size, i);
	}
	for (uint64_t i = 2; i <= count; i += 2)
		take_out(&t, unhash(UINT64_C(0x1200000000000000) | i << 40 | 7));
	for (uint32_t i = 0; i < t.directory[0]->groups; i++)
		assert_int_equal(live_get_passed(&t.directory[0]->heads[i]),
				 0); /* no mark is left */
	live_fini(&t);
}

/* Hostile addresses that all fall into one group, more of them than its count of passers-by can
 * hold. */
static void a_saturated_overflow_count_loses_no_block(void **state)
{
	const uint64_t count = 4000;
	struct live t;

	(void)state;
	live_init(&t);
	for (uint64_t i = 1; i <= count; i++)
		add(&t, unhash(i << 33 | 9), i);
	for (uint64_t i = 1; i <= count; i += 3)
		take_out(&t, unhash(i << 33 | 9));
	for (uint64_t i = 1; i <= count; i++)
		assert_int_equal(find(&t, unhash(i << 33 | 9)) == NULL, i % 3 == 1);
	live_fini(&t);
}

static void random_traffic_agrees_with_a_plain_array(void **state)
{
	enum { ADDRESSES = 50000, STEPS = 2000000 };
	uint64_t *sizes = mem_new(ADDRESSES, sizeof(*sizes));
	struct live t;

	(void)state;
	live_init(&t);
	for (uint64_t step = 1; step <= STEPS; step++) {
		/* The population swells and shrinks. */
		uint64_t span = step / 200000 % 2 ? ADDRESSES : ADDRESSES / 20;
		uint64_t i = next_random() % span;
		struct live_block *block = find(&t, 0x7f0000000000 + i * 16);

		assert_int_equal(block ? block->size : 0, sizes[i]);
		if (block)
			take_out(&t, 0x7f0000000000 + i * 16);
		else
			add(&t, 0x7f0000000000 + i * 16, step);
		sizes[i] = block ? 0 : step;
	}
	live_fini(&t);
	free(sizes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_found_under_its_address_until_it_is_removed),
		cmocka_unit_test(address_0_is_never_found),
		cmocka_unit_test(every_block_survives_growth_and_splits),
		cmocka_unit_test(addresses_of_one_mib_stay_in_one_shard_that_grows_on),
		cmocka_unit_test(a_big_table_takes_at_most_62_bytes_per_block),
		cmocka_unit_test(memory_is_given_back_when_most_blocks_are_gone),
		cmocka_unit_test(blocks_with_colliding_hashes_overflow_into_later_groups),
		cmocka_unit_test(a_saturated_overflow_count_loses_no_block),
		cmocka_unit_test(random_traffic_agrees_with_a_plain_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
