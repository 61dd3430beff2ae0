/* pagemap_test.c -- which pages a process has in memory, and what they are. Runs: as a test
 * program, on itself.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Wants the headers above. */
#include <cmocka.h>

#include "collect/pagemap.h"
#include "collect/regions.h"
#include "collect/roots.h"

#define PAGES	      10000u
#define GUARD_INSTALL 102 /* of madvise, since Linux 6.13: headers may be older */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* PAGES pages without huge ones, of which every third from the second on has been written to. */
static char *map_thirds(void)
{
	char *at = mmap(NULL, PAGES * page_bytes(), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	(void)madvise(at, PAGES * page_bytes(), MADV_NOHUGEPAGE);
	for (size_t i = 1; i < PAGES; i += 3)
		at[i * page_bytes()] = 1;
	return at;
}

static struct pagemap open_own(bool scans)
{
	struct pagemap m;
	struct error e = {0};

	assert_int_equal(pagemap_open(&m, getpid(), &e), 0);
	m.scans = m.scans && scans;
	return m;
}

static void count_thirds(bool scans)
{
	char *at = map_thirds();
	struct pagemap m = open_own(scans);
	struct pagemap_count count;
	struct error e = {0};
	uint64_t start = (uintptr_t)at;

	assert_int_equal(pagemap_count(&m, start, start + PAGES * page_bytes(), &count, &e), 0);
	assert_int_equal(count.resident_bytes + count.swapped_bytes,
			 (PAGES + 1) / 3 * page_bytes());
	assert_int_equal(count.huge_bytes, 0);
	/* Part of a page counts as all of it. */
	assert_int_equal(
		pagemap_count(&m, start + page_bytes() + 7, start + page_bytes() + 9, &count, &e),
		0);
	assert_int_equal(count.resident_bytes + count.swapped_bytes, page_bytes());
	pagemap_close(&m);
	(void)munmap(at, PAGES * page_bytes());
}

static void pages_that_were_written_to_are_resident_and_no_others(void **state)
{
	(void)state;
	count_thirds(true);
}

static void a_kernel_that_cannot_scan_gives_the_same(void **state)
{
	(void)state;
	count_thirds(false);
}

static void add_state(void *context, const struct pagemap_run *run)
{
	unsigned *states = context;

	*states |= run->state;
}

/* One page that was written to, and one that is a guard. */
static void look_at_guard(bool scans)
{
	struct pagemap m = open_own(scans);
	struct pagemap_count count;
	struct error e = {0};
	unsigned states = 0;
	char *at = mmap(NULL, 2 * page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	const struct pagemap_run range = {
		.start = (uintptr_t)at,
		.end = (uintptr_t)at + 2 * page_bytes(),
	};

	assert_ptr_not_equal(at, MAP_FAILED);
	if (madvise(at, page_bytes(), GUARD_INSTALL) != 0 || !m.scans_guards)
		skip();
	at[page_bytes()] = 1;
	assert_int_equal(pagemap_count(&m, range.start, range.end, &count, &e), 0);
	assert_int_equal(count.resident_bytes, page_bytes());
	assert_int_equal(count.swapped_bytes, 0);
	assert_int_equal(pagemap_visit(&m, &range, add_state, &states, &e), 0);
	assert_int_equal(states & PAGEMAP_GUARD, 0);
	m.shows_guards = true;
	assert_int_equal(pagemap_visit(&m, &range, add_state, &states, &e), 0);
	assert_int_equal(states & PAGEMAP_GUARD, PAGEMAP_GUARD);
	pagemap_close(&m);
	(void)munmap(at, 2 * page_bytes());
}

static void guards_are_no_memory_and_shown_to_who_wants_them(void **state)
{
	(void)state;
	look_at_guard(true);
	look_at_guard(false);
}

static void memory_that_was_only_read_is_none_where_the_kernel_tells(void **state)
{
	struct pagemap m = open_own(true);
	struct pagemap_count count;
	struct error e = {0};
	volatile char *at = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_int_equal(at[0], 0);
	if (!m.scans)
		skip();
	assert_int_equal(pagemap_count(&m, (uintptr_t)at, (uintptr_t)at + 1, &count, &e), 0);
	assert_int_equal(count.resident_bytes, 0);
	pagemap_close(&m);
}

static void a_process_that_is_gone_is_told(void **state)
{
	struct pagemap m;
	struct regions r = {0};
	struct error e = {0};
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(pagemap_open(&m, child, &e), -1);
	assert_non_null(strstr(e.text, "gone"));
	e = (struct error){0};
	assert_int_equal(regions_read(&r, child, &e), -1);
	assert_true(e.set);
	regions_fini(&r);
}

static void a_region_says_what_an_address_is(void **state)
{
	char *at = map_thirds();
	struct regions r = {0};
	struct error e = {0};
	static int variable = 1;

	(void)state;
	assert_int_equal(regions_read(&r, getpid(), &e), 0);
	const struct region *mine = regions_find(&r, (uintptr_t)at + 5 * page_bytes());
	assert_non_null(mine);
	assert_true(mine->start <= (uintptr_t)at);
	assert_true(region_is_anonymous(mine) && mine->is_writable && !mine->is_executable);
	const struct region *file = regions_find(&r, (uintptr_t)&variable);
	assert_non_null(file);
	assert_false(region_is_anonymous(file));
	assert_non_null(strstr(regions_get_name(&r, file), "pagemap_test"));
	assert_null(regions_find(&r, 0));
	(void)munmap(at, PAGES * page_bytes());
	regions_fini(&r);
}

#define MAPS 256u

/* For others that are stopped meanwhile. */
static void lists_are_cut_short_when_the_time_is_over(void **state)
{
	uint64_t page = page_bytes();
	char *at =
		mmap(NULL, MAPS * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct deadline over = {.since_ns = 1};
	struct roots r = {0};
	struct error e = {0};

	(void)state;
	assert_true(at != MAP_FAILED);
	memset(at, 1, MAPS * page);
	for (unsigned i = 0; i < MAPS; i += 2)
		assert_int_equal(mprotect(at + i * page, page, PROT_READ), 0);
	assert_int_equal(regions_read(&r.regions, getpid(), &e), 0);
	assert_true(r.regions.list.count >= MAPS);
	*vec_push(&r.spans) =
		(struct root_span){.start = (uintptr_t)at, .end = (uintptr_t)at + MAPS * page};
	roots_list(&r, getpid(), ROOTS_ALL);
	assert_int_equal(roots_add_up(&r), MAPS * page);
	assert_false(r.is_cut);
	r.deadline = r.regions.deadline = &over;
	roots_list(&r, getpid(), ROOTS_ALL);
	assert_int_equal(roots_add_up(&r), 0);
	assert_true(r.is_cut);
	assert_int_equal(regions_read(&r.regions, getpid(), &e), 0);
	assert_in_range(r.regions.list.count, 1, MAPS / 2);
	(void)munmap(at, MAPS * page);
	roots_fini(&r);
}

/* Each is asked for by itself. */
static void a_large_map_that_was_hardly_touched_is_listed(void **state)
{
	const uint64_t bytes = UINT64_C(5) << 30, at = UINT64_C(3) << 30;
	uint64_t page = page_bytes();
	char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct roots r = {0};

	(void)state;
	if (map == MAP_FAILED)
		skip();
	(void)madvise(map, bytes, MADV_NOHUGEPAGE);
	map[0] = map[at - 1] = map[at] = map[bytes - 1] = 1;
	*vec_push(&r.spans) =
		(struct root_span){.start = (uintptr_t)map, .end = (uintptr_t)map + bytes};
	roots_list(&r, getpid(), ROOTS_ALL);
	assert_int_equal(roots_add_up(&r), 4 * page);
	assert_int_equal(r.ranges.at[0].start, (uintptr_t)map);
	assert_int_equal(r.ranges.at[r.ranges.count - 1].end, (uintptr_t)map + bytes);
	(void)munmap(map, bytes);
	roots_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_were_written_to_are_resident_and_no_others),
		cmocka_unit_test(a_kernel_that_cannot_scan_gives_the_same),
		cmocka_unit_test(guards_are_no_memory_and_shown_to_who_wants_them),
		cmocka_unit_test(memory_that_was_only_read_is_none_where_the_kernel_tells),
		cmocka_unit_test(a_process_that_is_gone_is_told),
		cmocka_unit_test(a_region_says_what_an_address_is),
		cmocka_unit_test(lists_are_cut_short_when_the_time_is_over),
		cmocka_unit_test(a_large_map_that_was_hardly_touched_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
