/* sieve_test.c -- a block that is kept in mind is never missed; one that is not costs nothing.
 * Runs: as a unit test, also under ThreadSanitizer. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include "capture/sieve.h"

/* Never followed. */
static const void *block_at(uint64_t address)
{
	return (const void *)(uintptr_t)address; /* NOLINT: an address */
}

static const void *block_of_hash(uint32_t hash, uint32_t lap)
{
	return block_at(((uint64_t)lap * SIEVE_HASHES + hash) * 16);
}

static unsigned count_held(void)
{
	unsigned held = 0;

	for (uint32_t hash = 0; hash < SIEVE_HASHES; hash++)
		held += sieve_may_hold(block_of_hash(hash, 1));
	return held;
}

static void a_block_is_held_until_it_is_taken_out(void **state)
{
	(void)state;
	const void *block = block_at(0x7f1234567890);

	assert_true(!sieve_may_hold(block));
	sieve_add(block);
	assert_true(sieve_may_hold(block));
	assert_true(count_held() == 1);
	sieve_remove(block);
	assert_true(count_held() == 0);
}

static void blocks_of_one_hash_are_counted(void **state)
{
	(void)state;
	for (uint32_t lap = 1; lap <= 100; lap++)
		sieve_add(block_of_hash(77, lap));
	for (uint32_t lap = 1; lap <= 100; lap++) {
		assert_true(sieve_may_hold(block_of_hash(77, lap)));
		sieve_remove(block_of_hash(77, lap));
	}
	assert_true(count_held() == 0);
}

/* More than can be counted stay for good: that is slow, but right. */
static void more_than_can_be_counted_stay(void **state)
{
	(void)state;
	for (uint32_t lap = 1; lap <= 300; lap++)
		sieve_add(block_of_hash(78, lap));
	for (uint32_t lap = 1; lap <= 300; lap++)
		sieve_remove(block_of_hash(78, lap));
	assert_true(sieve_may_hold(block_of_hash(78, 1)));
	assert_true(count_held() == 1);
	sieve_clear();
	assert_true(count_held() == 0);
}

static void what_is_watched_stays(void **state)
{
	(void)state;
	sieve_watch(NULL);
	sieve_add(NULL);
	sieve_remove(NULL);
	assert_true(sieve_may_hold(NULL));
	sieve_clear();
	assert_true(!sieve_may_hold(NULL));
}

/* ---- several threads ------------------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 200000, NEAR = 3 };

static _Atomic unsigned missed;

/* Each thread's blocks share their hashes, and their words, with those of the others. */
static void *enter_and_leave(void *argument)
{
	uint32_t lap = (uint32_t)(uintptr_t)argument;

	for (uint32_t turn = 0; turn < TURNS; turn++) {
		const void *block = block_of_hash(1000 + turn % NEAR, lap);

		sieve_add(block);
		if (!sieve_may_hold(block))
			atomic_fetch_add(&missed, 1);
		sieve_remove(block);
	}
	return NULL;
}

static void threads_that_share_bits_miss_nothing(void **state)
{
	(void)state;
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_true(pthread_create(&threads[i], NULL, enter_and_leave, (void *)(i + 1)) ==
			    0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_true(pthread_join(threads[i], NULL) == 0);
	assert_true(missed == 0);
	assert_true(count_held() == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_held_until_it_is_taken_out),
		cmocka_unit_test(blocks_of_one_hash_are_counted),
		cmocka_unit_test(more_than_can_be_counted_stay),
		cmocka_unit_test(what_is_watched_stays),
		cmocka_unit_test(threads_that_share_bits_miss_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
