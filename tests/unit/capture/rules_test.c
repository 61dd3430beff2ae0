/* rules_test.c -- what was cached of an address is not taken for what is there now.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "walked.h"

#include "capture/returns.h"
#include "capture/rules.h"
#include "capture/walk_step.h"

#define BOGUS UINT64_C(0x123450012345678)

static NOINLINE uint64_t here(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0) - 1;
}

/* As rules.c remembers it. */
static void plant(uint64_t address, uint32_t generation)
{
	struct rule_entry *e = rules_entry(address, 0);

	atomic_store(&e->rule, BOGUS);
	atomic_store(&e->check, rules_check(address, generation, BOGUS));
}

static void a_rule_is_believed_in_its_own_generation_alone(void **state)
{
	uint64_t address = here();
	uint32_t place;

	(void)state;
	plant(address, 7);
	assert_int_equal(rules_find(thread_self, address, 7, &place), BOGUS);
	for (uint32_t bit = 0; bit < 32; bit++) {
		plant(address, 7);
		assert_int_not_equal(rules_find(thread_self, address, 7 ^ 1u << bit, &place),
				     BOGUS);
	}
}

/* Half of one writer's words and half of another's: rules that differ in one bit, or in two. */
static void an_entry_of_two_writers_is_not_believed(void **state)
{
	uint64_t address = here();
	uint32_t place;

	(void)state;
	for (uint32_t bit = 0; bit < 64; bit++)
		for (uint32_t other = 0; other < 64; other++) {
			struct rule_entry *e = rules_entry(address, bit % RULES_WAYS);
			uint64_t torn = BOGUS ^ UINT64_C(1) << bit ^ UINT64_C(1) << other;

			if (bit == other)
				continue;
			atomic_store(&e->check, rules_check(address, 7, BOGUS));
			atomic_store(&e->rule, torn);
			assert_int_not_equal(rules_find(thread_self, address, 7, &place), torn);
		}
}

/* As many as a line holds: what one way has does not push out what another has. */
static void addresses_of_one_line_are_all_remembered(void **state)
{
	uint64_t address[RULES_WAYS], line = 0;
	uint32_t place, count = 0;

	(void)state;
	line = (uint64_t)(rules_entry(here(), 0) - rules_cache) / RULES_WAYS;
	for (uint64_t a = here(); count < RULES_WAYS; a++)
		if ((uint64_t)(rules_entry(a, 0) - rules_cache) / RULES_WAYS == line)
			address[count++] = a;
	for (uint32_t i = 0; i < RULES_WAYS; i++) {
		struct rule_entry *e = rules_entry(address[0], i);

		atomic_store(&e->rule, BOGUS + i);
		atomic_store(&e->check, rules_check(address[i], 7, BOGUS + i));
	}
	for (uint32_t i = 0; i < RULES_WAYS; i++)
		assert_int_equal(rules_find(thread_self, address[i], 7, &place), BOGUS + i);
}

static NOINLINE uint64_t after_a_call(void)
{
	walked_sink++;
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static void answers_about_return_addresses_are_too(void **state)
{
	uint64_t address = after_a_call();
	uint8_t *page = (uint8_t *)(uintptr_t)((address - 8) & ~(uint64_t)4095);
	uint8_t *call = (uint8_t *)(uintptr_t)(address - ARCH_CALL_BYTES);
	uint8_t saved[ARCH_CALL_BYTES];
	struct walk_start start = WALK_START();
	struct walk walk;

	(void)state;
	walk_begin(&walk, thread_self, &start);
	walk.generation = 7;
	assert_true(returns_has(&walk, address));
	/* Other code has come to the place. */
	memcpy(saved, call, sizeof(saved));
	assert_int_equal(mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	memset(call, 0, sizeof(saved));
	for (uint32_t bit = 0; bit < 32; bit++) {
		walk.generation = 7 ^ 1u << bit;
		assert_false(returns_has(&walk, address));
		walk.generation = 7;
		memcpy(call, saved, sizeof(saved));
		assert_true(returns_has(&walk, address));
		memset(call, 0, sizeof(saved));
	}
	memcpy(call, saved, sizeof(saved));
	assert_int_equal(mprotect(page, 8192, PROT_READ | PROT_EXEC), 0);
}

static int begin(void **state)
{
	(void)state;
	walked_begin();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_believed_in_its_own_generation_alone),
		cmocka_unit_test(an_entry_of_two_writers_is_not_believed),
		cmocka_unit_test(addresses_of_one_line_are_all_remembered),
		cmocka_unit_test(answers_about_return_addresses_are_too),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
