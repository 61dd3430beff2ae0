/* residency_test.c -- how pages are split over the sites whose blocks hold them. Runs: as a test
 * program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Wants the headers above. */
#include <cmocka.h>

#include "collect/residency.h"
#include "collect/usable.h"

#define PAGE  4096u
#define BASE  UINT64_C(0x7f0000000000)
#define SITES 4u

/* A heap of pages from BASE on. */
struct heap {
	struct placed_list blocks;
	struct pagemap_run runs[8];
	size_t run_count;
	struct residency_extent extent;
	struct residency found;
};

static void place(struct heap *h, uint64_t offset, uint64_t size, uint32_t site)
{
	*vec_push(&h->blocks.blocks) = (struct placed){BASE + offset, size, site};
}

static void add_pages(struct heap *h, uint64_t first, uint64_t count, unsigned state)
{
	h->runs[h->run_count++] =
		(struct pagemap_run){BASE + first * PAGE, BASE + (first + count) * PAGE, state};
}

static const struct profile_pin *join(struct heap *h, uint64_t pages)
{
	h->extent = (struct residency_extent){BASE, BASE + pages * PAGE};
	const struct residency_input in = {
		.blocks = &h->blocks,
		.runs = h->runs,
		.run_count = h->run_count,
		.extents = &h->extent,
		.extent_count = 1,
		.page_bytes = PAGE,
		.site_count = SITES,
	};

	placed_sort(&h->blocks);
	residency_join(&h->found, &in);
	assert_int_equal(h->found.pins.count, SITES);
	return h->found.pins.at;
}

/* Whatever is resident belongs to somebody, and to nobody twice. */
static void check_sums(const struct heap *h)
{
	const struct profile_survey *t = &h->found.totals;
	uint64_t held = 0, pinned = 0, lone = 0, live = 0;
	uint64_t pages = 0, resident = 0;

	for (size_t i = 0; i < h->found.pins.count; i++) {
		held += h->found.pins.at[i].resident_bytes;
		pinned += h->found.pins.at[i].pinned_bytes;
		lone += h->found.pins.at[i].lone_pages;
	}
	for (size_t i = 0; i < h->found.cells.count; i++) {
		pages += h->found.cells.at[i].held_pages;
		resident += h->found.cells.at[i].resident_pages;
		live += h->found.cells.at[i].live_bytes;
	}
	assert_int_equal(held, t->held_bytes);
	assert_int_equal(pinned, t->pinned_bytes);
	assert_int_equal(lone, t->lone_pages);
	assert_int_equal(t->held_bytes, t->touched_bytes + t->pinned_bytes);
	assert_int_equal(t->resident_bytes, t->held_bytes + t->free_bytes);
	assert_int_equal(pages * PAGE, t->held_bytes);
	assert_int_equal(resident * PAGE, t->resident_bytes);
	assert_int_equal(live, t->touched_bytes);
}

static void finish(struct heap *h)
{
	placed_fini(&h->blocks);
	residency_fini(&h->found);
}

static void the_dead_of_a_page_is_split_by_live_bytes(void **state)
{
	struct heap h = {0};

	(void)state;
	place(&h, 16, 300, 0);
	place(&h, 1024, 100, 1);
	add_pages(&h, 0, 1, PAGEMAP_RESIDENT);
	const struct profile_pin *pins = join(&h, 1);
	assert_int_equal(h.found.totals.pinned_bytes, PAGE - 400);
	assert_int_equal(pins[0].pinned_bytes, (PAGE - 400) * 3 / 4);
	assert_int_equal(pins[1].pinned_bytes, (PAGE - 400) / 4);
	assert_int_equal(pins[0].sole_bytes + pins[1].sole_bytes, 0);
	assert_int_equal(h.found.totals.lone_pages, 0);
	check_sums(&h);
	finish(&h);
}

static void a_page_with_one_small_block_is_lone_and_its_own(void **state)
{
	struct heap h = {0};

	(void)state;
	place(&h, 16, 64, 2);
	place(&h, PAGE + 16, PAGE / 2, 2);
	add_pages(&h, 0, 2, PAGEMAP_RESIDENT);
	const struct profile_pin *pins = join(&h, 2);
	assert_int_equal(pins[2].lone_pages, 1);
	assert_int_equal(pins[2].sole_bytes, 2 * PAGE);
	assert_int_equal(pins[2].resident_bytes, 2 * PAGE);
	check_sums(&h);
	finish(&h);
}

static void pages_without_a_block_are_the_allocators(void **state)
{
	struct heap h = {0};

	(void)state;
	place(&h, 3 * PAGE, 100, 0);
	add_pages(&h, 0, 5, PAGEMAP_RESIDENT | PAGEMAP_HUGE);
	join(&h, 8);
	assert_int_equal(h.found.totals.free_bytes, 4 * PAGE);
	assert_int_equal(h.found.totals.huge_bytes, 5 * PAGE);
	check_sums(&h);
	finish(&h);
}

static void memory_of_files_counts_only_where_blocks_are(void **state)
{
	struct heap h = {0};

	(void)state;
	place(&h, 3 * PAGE, 100, 0);
	add_pages(&h, 0, 5, PAGEMAP_RESIDENT | RESIDENCY_FOREIGN);
	join(&h, 8);
	assert_int_equal(h.found.totals.resident_bytes, PAGE);
	assert_int_equal(h.found.totals.free_bytes, 0);
	finish(&h);
}

static void a_big_block_has_what_was_touched_of_it(void **state)
{
	struct heap h = {0};

	(void)state;
	/* Half of its first page, ten whole ones, a quarter of the last. */
	place(&h, PAGE / 2, PAGE / 2 + 10 * PAGE + PAGE / 4, 1);
	place(&h, 11 * PAGE + PAGE / 2, PAGE / 4, 3);
	add_pages(&h, 0, 3, PAGEMAP_RESIDENT);
	add_pages(&h, 5, 2, PAGEMAP_SWAPPED);
	add_pages(&h, 11, 1, PAGEMAP_RESIDENT);
	const struct profile_pin *pins = join(&h, 12);
	assert_int_equal(h.found.totals.swapped_live_bytes, 2 * PAGE);
	assert_int_equal(h.found.totals.swapped_bytes, 2 * PAGE);
	assert_int_equal(h.found.totals.untouched_bytes, 6 * PAGE);
	assert_int_equal(pins[1].resident_bytes, 3 * PAGE + PAGE / 2);
	assert_int_equal(pins[1].pinned_bytes, PAGE / 2 + PAGE / 4);
	assert_int_equal(pins[1].sole_bytes, 3 * PAGE);
	assert_int_equal(pins[3].resident_bytes, PAGE / 2);
	check_sums(&h);
	finish(&h);
}

static void blocks_that_overlap_are_not_counted_twice(void **state)
{
	struct heap h = {0};

	(void)state;
	place(&h, 0, 2 * PAGE, 0); /* its free was not seen */
	place(&h, 64, 64, 1);
	place(&h, PAGE, PAGE + 100, 2);
	place(&h, UINT64_MAX - BASE, 16, 3); /* and this cannot be */
	add_pages(&h, 0, 3, PAGEMAP_RESIDENT);
	const struct profile_pin *pins = join(&h, 3);
	assert_int_equal(pins[0].resident_bytes, 2 * PAGE);
	assert_int_equal(pins[1].resident_bytes, 0);
	assert_int_equal(pins[1].live_blocks, 1);
	assert_int_equal(pins[2].resident_bytes, PAGE);
	check_sums(&h);
	finish(&h);
}

static void a_block_of_no_bytes_holds_its_page(void **state)
{
	struct heap h = {0};

	(void)state;
	place(&h, 32, 0, 1);
	add_pages(&h, 0, 1, PAGEMAP_RESIDENT);
	const struct profile_pin *pins = join(&h, 1);
	assert_int_equal(pins[1].resident_bytes, PAGE);
	assert_int_equal(pins[1].live_bytes, 0);
	assert_int_equal(pins[1].lone_pages, 1);
	finish(&h);
}

/* The map stays small however big the heap is, and each of its cells knows its leader. */
/* There is none in an honest program. */
static void a_block_in_the_first_page_of_all_is_counted(void **state)
{
	struct heap h = {0};

	(void)state;
	place(&h, 16 - BASE, 100, 1);
	place(&h, 16, 50, 1);
	add_pages(&h, 0, 1, PAGEMAP_RESIDENT);
	const struct profile_pin *pins = join(&h, 1);
	assert_int_equal(pins[1].live_bytes, 150);
	assert_int_equal(h.found.totals.untouched_bytes, 100);
	assert_int_equal(h.found.totals.touched_bytes, 50);
	check_sums(&h);
	finish(&h);
}

static void a_large_heap_has_a_map_of_few_cells(void **state)
{
	enum { PAGES = 100000 };
	struct heap h = {0};

	(void)state;
	for (uint64_t i = 0; i < PAGES; i++) {
		place(&h, i * PAGE + 16, 100, i < PAGES / 2 ? 0 : 1);
		place(&h, i * PAGE + 200, 40, 2);
	}
	add_pages(&h, 0, PAGES, PAGEMAP_RESIDENT);
	join(&h, PAGES);
	check_sums(&h);
	assert_in_range(h.found.cells.count, RESIDENCY_CELLS_MOST / 2, RESIDENCY_CELLS_MOST + 2);
	assert_int_equal(h.found.cells.at[1].site, 0 + 1);
	assert_int_equal(h.found.cells.at[h.found.cells.count - 2].site, 1 + 1);
	finish(&h);
}

static void blocks_in_any_order_come_out_by_address(void **state)
{
	struct placed_list l = {0};
	uint64_t x = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		*vec_push(&l.blocks) = (struct placed){(x >> 20) | (i % 3 ? BASE : 0), 1, 0};
	}
	placed_sort(&l);
	for (size_t i = 1; i < l.blocks.count; i++)
		assert_true(l.blocks.at[i - 1].ptr <= l.blocks.at[i].ptr);
	placed_fini(&l);
}

static void usable_sizes_are_those_of_the_allocator(void **state)
{
	(void)state;
	assert_int_equal(usable_get(USABLE_GLIBC, BASE, 0), 24);
	assert_int_equal(usable_get(USABLE_GLIBC, BASE, 25), 40);
	assert_int_equal(usable_get(USABLE_GLIBC, BASE, 240), 248);
	assert_int_equal(usable_get(USABLE_GLIBC, BASE + 16, 1 << 20), (1 << 20) + 4096 - 16);
	assert_int_equal(usable_get(USABLE_JEMALLOC, BASE, 1), 8);
	assert_int_equal(usable_get(USABLE_JEMALLOC, BASE, 129), 160);
	assert_int_equal(usable_get(USABLE_JEMALLOC, BASE, 1025), 1280);
	assert_int_equal(usable_get(USABLE_UNKNOWN, BASE, 1025), 0);
	assert_int_equal(usable_recognise("/usr/lib/libjemalloc.so.2"), USABLE_JEMALLOC);
	assert_int_equal(usable_recognise("/usr/lib/libtcmalloc_minimal.so.4"), USABLE_UNKNOWN);
	assert_int_equal(usable_recognise("/usr/lib/libc.so.6"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_dead_of_a_page_is_split_by_live_bytes),
		cmocka_unit_test(a_page_with_one_small_block_is_lone_and_its_own),
		cmocka_unit_test(pages_without_a_block_are_the_allocators),
		cmocka_unit_test(memory_of_files_counts_only_where_blocks_are),
		cmocka_unit_test(a_big_block_has_what_was_touched_of_it),
		cmocka_unit_test(blocks_that_overlap_are_not_counted_twice),
		cmocka_unit_test(a_block_of_no_bytes_holds_its_page),
		cmocka_unit_test(a_block_in_the_first_page_of_all_is_counted),
		cmocka_unit_test(a_large_heap_has_a_map_of_few_cells),
		cmocka_unit_test(blocks_in_any_order_come_out_by_address),
		cmocka_unit_test(usable_sizes_are_those_of_the_allocator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
