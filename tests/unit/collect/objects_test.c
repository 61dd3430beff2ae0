/* objects_test.c -- which objects a process has loaded, and which of their pages are in memory.
 * Runs: as a test program, on itself.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Wants the headers above. */
#include <cmocka.h>

#include "collect/objects.h"

#define PAGE  65536u
#define PAGES 16u

static char zeros[PAGES * PAGE] __attribute__((aligned(PAGE)));

/* What is there, without the object that holds `left_out`. */
static struct profile *look(uint64_t left_out, uint32_t threads)
{
	struct profile *p = profile_new();
	struct regions regions = {0};
	struct objects o = {0};
	struct pagemap pages;
	struct error e = {0};

	assert_int_equal(regions_read(&regions, getpid(), &e), 0);
	assert_int_equal(pagemap_open(&pages, getpid(), &e), 0);
	assert_int_equal(objects_look(&o, &regions, &pages, left_out, &e), 0);
	o.ticks = 1;
	o.threads = threads;
	objects_build(&o, p, 7);
	objects_fini(&o);
	pagemap_close(&pages);
	regions_fini(&regions);
	return p;
}

static uint64_t count_resident(const struct profile *p, const char *at, size_t bytes)
{
	uint64_t start = (uintptr_t)at, end = start + bytes, sum = 0;

	for (size_t i = 0; i < p->extents.count; i++) {
		const struct profile_extent *x = &p->extents.at[i];
		uint64_t from = start > x->start ? start : x->start;
		uint64_t to = end < x->start + x->bytes ? end : x->start + x->bytes;

		sum += from < to ? to - from : 0;
	}
	return sum;
}

static bool has_module(const struct profile *p, const char *path)
{
	for (size_t i = 1; i < p->modules.count; i++)
		if (strcmp(profile_string(p, p->modules.at[i].path), path) == 0)
			return true;
	return false;
}

static void pages_that_were_touched_are_resident_and_others_are_not(void **state)
{
	struct error e = {0};

	(void)state;
	(void)madvise(zeros, sizeof(zeros), MADV_NOHUGEPAGE);
	for (size_t i = 0; i < 3 * PAGE; i += 1024)
		((volatile char *)zeros)[i] = 1;
	struct profile *p = look(0, 3);
	assert_int_equal(profile_check(p, &e), 0);
	assert_int_equal(count_resident(p, zeros, sizeof(zeros)), 3 * PAGE);
	assert_int_equal(p->run.globals_time_ns, 7);
	assert_int_equal(p->run.globals_threads, 3);
	profile_free(p);
}

static void an_object_that_is_not_wanted_is_left_out(void **state)
{
	char *path = realpath("/proc/self/exe", NULL);
	struct profile *all = look(0, 0);
	struct profile *others = look((uintptr_t)zeros, 0);

	(void)state;
	assert_true(has_module(all, path));
	assert_false(has_module(others, path));
	assert_true(others->modules.count > 1);
	profile_free(all);
	profile_free(others);
	free(path);
}

/* Its file's map, two for its zeros, and what is behind them, from `zeros` on. */
static uint64_t find_end(const struct region *behind)
{
	static const char names[] = "\0/a file";
	struct regions regions = {0};
	struct objects o = {0};
	struct pagemap pages;
	struct error e = {0};
	uint64_t at = (uintptr_t)zeros;

	for (size_t i = 0; i < sizeof(names); i++)
		*vec_push(&regions.names) = names[i];
	*vec_push(&regions.list) = (struct region){
		.start = at, .end = at + PAGE, .inode = 1, .name = 1, .is_executable = true};
	for (size_t i = 1; i < 3; i++)
		*vec_push(&regions.list) = (struct region){
			.start = at + i * PAGE, .end = at + (i + 1) * PAGE, .is_readable = true};
	*vec_push(&regions.list) = *behind;
	assert_int_equal(pagemap_open(&pages, getpid(), &e), 0);
	assert_int_equal(objects_look(&o, &regions, &pages, 0, &e), 0);
	assert_int_equal(o.list.count, 1);
	uint64_t end = o.list.at[0].end - at;
	objects_fini(&o);
	pagemap_close(&pages);
	regions_fini(&regions);
	return end;
}

static void an_object_ends_with_its_zeros(void **state)
{
	struct region behind = {
		.start = (uintptr_t)zeros + 3 * PAGE,
		.end = (uintptr_t)zeros + 5 * PAGE,
		.is_readable = true,
	};

	(void)state;
	assert_int_equal(find_end(&behind), 5 * PAGE); /* nothing tells it apart */
	behind.is_readable = false;
	assert_int_equal(find_end(&behind), 3 * PAGE); /* the guard of a stack */
	behind.is_readable = behind.is_executable = true;
	assert_int_equal(find_end(&behind), 3 * PAGE);
	behind.is_executable = false;
	behind.start += PAGE;
	assert_int_equal(find_end(&behind), 3 * PAGE); /* not at once */
}

static void threads_are_counted_that_lived_at_the_same_time(void **state)
{
	static const uint64_t lives[][2] = {{0, UINT64_MAX}, {1, 5}, {5, 9}, {6, 7}, {20, 30}};
	struct profile *p = profile_new();

	(void)state;
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++)
		*vec_push(&p->threads) =
			(struct profile_thread){.start_ns = lives[i][0], .end_ns = lives[i][1]};
	objects_build(&(struct objects){0}, p, 0);
	assert_int_equal(p->run.globals_threads, 3);
	assert_int_equal(p->run.globals_time_ns, 0);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_were_touched_are_resident_and_others_are_not),
		cmocka_unit_test(an_object_that_is_not_wanted_is_left_out),
		cmocka_unit_test(an_object_ends_with_its_zeros),
		cmocka_unit_test(threads_are_counted_that_lived_at_the_same_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
