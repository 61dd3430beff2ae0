/* rules_test.c -- what was cached of an address is not taken for what is there now.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "walked.h"

#include "capture/returns.h"
#include "capture/rules.h"
#include "capture/walk_step.h"

#define BOGUS UINT64_C(0x123450001234567)

static NOINLINE uint64_t here(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0) - 1;
}

/* As rules.c remembers it. */
static void plant(uint64_t address, uint32_t generation)
{
	struct rule_entry *e = rules_entry(address);

	atomic_store(&e->rule, BOGUS);
	atomic_store(&e->place, 1);
	atomic_store(&e->check, rules_check(address, generation, BOGUS, 1));
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

/* Half of one writer's words and half of another's: the rules of two frames, one of which saves fp,
 * and places whose numbers differ by as much. */
static void an_entry_of_two_writers_is_not_believed(void **state)
{
	const uint64_t saves = UINT64_C(2) << 44;
	uint64_t address = here();
	uint32_t place;

	(void)state;
	for (uint32_t shift = 0; shift < 48; shift++) {
		struct rule_entry *e = rules_entry(address);
		uint64_t other = 1 ^ (saves >> shift & UINT32_MAX);

		atomic_store(&e->check, rules_check(address, 7, BOGUS, 1));
		atomic_store(&e->rule, BOGUS ^ saves);
		atomic_store(&e->place, other);
		assert_int_not_equal(rules_find(thread_self, address, 7, &place), BOGUS ^ saves);
	}
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
		cmocka_unit_test(answers_about_return_addresses_are_too),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
