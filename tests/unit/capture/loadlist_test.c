/* loadlist_test.c -- loaded objects are found by the loader's list, whenever they came.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <dlfcn.h>
#include <link.h>

#include "capture/loadlist.h"

static uint32_t generation = 1;

static struct loaded find(uint64_t address)
{
	struct loaded found = {0};

	return loadlist_find(address, generation, &found) ? found : (struct loaded){0};
}

static void the_program_and_libc_are_known(void **state)
{
	struct loaded program = find((uint64_t)(uintptr_t)find);
	struct loaded libc = find((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"));
	int local;

	(void)state;
	assert_int_not_equal(program.map, 0);
	assert_int_not_equal(libc.map, 0);
	assert_int_not_equal(program.map, libc.map);
	assert_int_not_equal(libc.eh_frame_hdr, 0);
	assert_int_equal(find((uint64_t)(uintptr_t)&local).map, 0);
	assert_int_equal(find(4096).map, 0);
}

/* Some library that is not loaded yet. */
static void *open_one(void)
{
	static const char *const names[] = {"libanl.so.1",	    "librt.so.1",
					    "libutil.so.1",	    "libz.so.1",
					    "libBrokenLocale.so.1", "libthread_db.so.1",
					    "libnss_compat.so.2",   "libpthread.so.0"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *there = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
		void *fresh = there ? NULL : dlopen(names[i], RTLD_NOW);

		if (there)
			(void)dlclose(there);
		if (fresh)
			return fresh;
	}
	return NULL;
}

static void a_library_that_comes_later_is_found_at_once_and_one_that_went_is_not(void **state)
{
	(void)state;
	the_program_and_libc_are_known(state);
	for (unsigned i = 0; i < 20; i++) {
		struct link_map *map = open_one();

		if (!map)
			skip();
		uint64_t address = (uint64_t)(uintptr_t)map->l_ld;
		assert_int_equal(find(address).map, (uint64_t)(uintptr_t)map);
		(void)dlclose(map);
		generation++; /* as the wrapper of dlclose has it */
		assert_int_equal(find(address).map, 0);
		assert_int_not_equal(find((uint64_t)(uintptr_t)find).map, 0);
	}
}

static void *ask_all_the_time(void *context)
{
	_Atomic bool *ends = context;
	uintptr_t wrong = 0;

	while (!atomic_load(ends)) {
		struct loaded found = {0};
		bool is_found = loadlist_find((uint64_t)(uintptr_t)find, 7, &found);

		wrong += is_found && found.map_start > (uint64_t)(uintptr_t)find;
	}
	return (void *)wrong; /* NOLINT */
}

static void threads_may_ask_while_the_tables_change(void **state)
{
	_Atomic bool ends = false;
	pthread_t threads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_all_the_time, &ends), 0);
	for (int i = 0; i < 2000; i++) {
		struct loaded found;

		(void)loadlist_find((uint64_t)(uintptr_t)find, 8 + (uint32_t)i, &found);
	}
	atomic_store(&ends, true);
	for (int i = 0; i < 2; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

static int begin(void **state)
{
	(void)state;
	return loadlist_init() ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_and_libc_are_known),
		cmocka_unit_test(
			a_library_that_comes_later_is_found_at_once_and_one_that_went_is_not),
		cmocka_unit_test(threads_may_ask_while_the_tables_change),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
