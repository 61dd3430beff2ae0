/* shortcut_test.c -- more leaf ends than a table holds: what is kept, and that it stays in order.
 * Runs: as a unit test. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "walked.h"

#include "capture/shortcut.h"

enum { SITES = 1024, CALLERS = 3, STACKS = SITES * CALLERS };

static uint32_t nodes[STACKS];
static uint32_t last_node;

static NOINLINE void take(void)
{
	struct walk_start start = WALK_START();

	fixture_unpoison_stack();
	last_node = walk_tagged(thread_self, &start);
	walked_sink++;
}

#define SITE(n)                     \
	case (n):                   \
		WALKED_LINE(n);     \
		take();             \
		walked_sink += (n); \
		break;
#define SITES_4(n)   SITE(n) SITE((n) + 1) SITE((n) + 2) SITE((n) + 3)
#define SITES_16(n)  SITES_4(n) SITES_4((n) + 4) SITES_4((n) + 8) SITES_4((n) + 12)
#define SITES_64(n)  SITES_16(n) SITES_16((n) + 16) SITES_16((n) + 32) SITES_16((n) + 48)
#define SITES_256(n) SITES_64(n) SITES_64((n) + 64) SITES_64((n) + 128) SITES_64((n) + 192)

static NOINLINE void take_at(unsigned site)
{
	switch (site) {
		SITES_256(0)
		SITES_256(256)
		SITES_256(512)
		SITES_256(768)
	default:
		fail();
	}
}

#define CALLER(n)                   \
	case (n):                   \
		WALKED_LINE(n);     \
		take_at(site);      \
		walked_sink += (n); \
		break;

static NOINLINE void take_by(unsigned caller, unsigned site)
{
	switch (caller) {
		CALLER(0)
		CALLER(1)
		CALLER(2)
	default:
		fail();
	}
}

/* All of them, as often as wanted; each must be the same node every time, and no other's. */
static NOINLINE void take_all(unsigned rounds)
{
	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < STACKS; i++) {
			take_by(i % CALLERS, i / CALLERS);
			if (nodes[i])
				assert_int_equal(last_node, nodes[i]);
			nodes[i] = last_node;
		}
	}
}

/* What is filed is found where it says, and only there. */
static void check_order(void)
{
	const struct shortcut_table *table = thread_self->shortcuts;
	uint32_t filed = 0;

	for (uint32_t i = 1; i <= table->used; i++) {
		assert_int_equal(table->filed[table->at[i].slot], i);
		assert_int_not_equal(table->tags[table->at[i].slot], 0);
	}
	for (uint32_t i = 0; i < SHORTCUT_SLOTS; i++)
		filed += table->tags[i] != 0;
	assert_int_equal(filed, table->used);
}

static void begin(void)
{
	memset(nodes, 0, sizeof(nodes));
	walked_begin();
}

static void a_thread_with_many_leaf_ends_keeps_as_many_as_fit(void **state)
{
	(void)state;
	begin();
	take_all(3);
	check_order();
	/* Few sets stay empty; in full ones the next in turn goes. */
	assert_in_range(thread_self->shortcuts->used, SHORTCUT_SHARE + 1, SHORTCUT_MOST);
	assert_in_range(thread_self->shortcuts->shares, 1, SHORTCUT_MOST / SHORTCUT_SHARE - 1);
	assert_int_equal(atomic_load(&process->shortcut_shares), thread_self->shortcuts->shares);
}

static void where_all_shares_are_given_out_a_thread_keeps_its_first(void **state)
{
	(void)state;
	begin();
	atomic_store(&process->shortcut_shares, SHORTCUT_SHARES);
	take_all(3);
	check_order();
	assert_int_equal(thread_self->shortcuts->used, SHORTCUT_SHARE);
	assert_int_equal(thread_self->shortcuts->shares, 0);
}

static void what_is_forgotten_is_learnt_again(void **state)
{
	(void)state;
	begin();
	take_all(1);
	shortcut_forget_ends(thread_self->shortcuts);
	check_order();
	assert_int_equal(thread_self->shortcuts->used, 0);
	memset(nodes, 0, sizeof(nodes)); /* another line, other stacks */
	take_all(2);
	check_order();
	assert_true(thread_self->shortcuts->used > SHORTCUT_SHARE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_with_many_leaf_ends_keeps_as_many_as_fit),
		cmocka_unit_test(where_all_shares_are_given_out_a_thread_keeps_its_first),
		cmocka_unit_test(what_is_forgotten_is_learnt_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
