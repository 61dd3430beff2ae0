/* cells_test.c -- memory that shards take and give back. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/cells.h"

#define COUNT 100u

static size_t get_bytes(unsigned i)
{
	return (i % 8 + 1) * CELLS_UNIT_BYTES;
}

static void check_cell(const char *cell, unsigned i)
{
	for (size_t at = 0; at < get_bytes(i); at += 4096)
		assert_int_equal(cell[at], (char)i);
}

static void cells_do_not_overlap_however_they_come_and_go(void **state)
{
	struct cells c = {0};
	char *taken[COUNT];

	(void)state;
	for (unsigned i = 0; i < COUNT; i++)
		memset(taken[i] = cells_take(&c, get_bytes(i)), (int)i, get_bytes(i));
	for (unsigned i = 0; i < COUNT; i += 2)
		cells_put(&c, taken[i], get_bytes(i));
	for (unsigned i = 0; i < COUNT; i += 2)
		memset(taken[i] = cells_take(&c, get_bytes(i)), (int)i, get_bytes(i));
	for (unsigned i = 0; i < COUNT; i++)
		check_cell(taken[i], i);
	for (unsigned i = 0; i < COUNT; i++)
		cells_put(&c, taken[i], get_bytes(i));
	assert_int_equal(c.regions.count, 0); /* all went back */
	cells_fini(&c);
}

static void what_was_put_back_is_taken_again(void **state)
{
	struct cells c = {0};

	(void)state;
	void *kept = cells_take(&c, CELLS_UNIT_BYTES);
	void *first = cells_take(&c, 6 * CELLS_UNIT_BYTES);
	cells_put(&c, first, 6 * CELLS_UNIT_BYTES);
	assert_ptr_equal(cells_take(&c, 4 * CELLS_UNIT_BYTES), first);
	assert_int_equal(c.regions.count, 1);
	cells_put(&c, kept, CELLS_UNIT_BYTES);
	cells_fini(&c); /* what is still taken goes with it */
}

static void a_cell_of_more_than_a_region_is_one_of_its_own(void **state)
{
	const size_t bytes = 96 * CELLS_UNIT_BYTES;
	struct cells c = {0};

	(void)state;
	char *cell = cells_take(&c, bytes);
	cell[0] = cell[bytes - 1] = 1;
	assert_int_equal(c.regions.count, 0);
	cells_put(&c, cell, bytes);
	cells_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_do_not_overlap_however_they_come_and_go),
		cmocka_unit_test(what_was_put_back_is_taken_again),
		cmocka_unit_test(a_cell_of_more_than_a_region_is_one_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
