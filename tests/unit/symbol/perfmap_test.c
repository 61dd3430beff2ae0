/* perfmap_test.c -- names of generated code, also from files that mean no good.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <sys/stat.h>
#include <time.h>

#include "symbol/perfmap.h"

#define PID	  4711
#define SECOND_NS UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	return (uint64_t)time(NULL) * SECOND_NS;
}

static struct perfmap *read_map(struct error *e)
{
	struct perfmap_owner owner = {.pid = PID, .start_unix_ns = now_ns() - 100 * SECOND_NS};

	return perfmap_read(fixture_path("."), &owner, e);
}

static struct perfmap *read_text(const char *text, size_t bytes)
{
	struct error e = {0};

	fixture_write("perf-4711.map", text, bytes);
	struct perfmap *m = read_map(&e);
	if (!m)
		fail_msg("%s", e.text);
	return m;
}

static void expect(const struct perfmap *m, uint64_t address, const char *wanted)
{
	const char *name = perfmap_find(m, address);

	assert_non_null(name);
	assert_string_equal(name, wanted);
}

static void an_address_gets_the_name_of_the_range_around_it(void **state)
{
	static const char text[] = "7f0010 20 LazyCompile:*sum /app/main.js:12\n"
				   "0x7f0030 0x10 py::load:/app/main.py\n"
				   "7f0050 8 last without end of line";
	struct perfmap *m = read_text(text, strlen(text));

	(void)state;
	expect(m, 0x7f0010, "LazyCompile:*sum /app/main.js:12");
	expect(m, 0x7f002f, "LazyCompile:*sum /app/main.js:12");
	expect(m, 0x7f0030, "py::load:/app/main.py");
	expect(m, 0x7f0057, "last without end of line");
	assert_null(perfmap_find(m, 0x7f000f));
	assert_null(perfmap_find(m, 0x7f0040));
	assert_null(perfmap_find(m, 0x7f0058));
	perfmap_free(m);
}

static void where_ranges_overlap_the_later_line_holds(void **state)
{
	static const char text[] = "1000 100 old\n"
				   "1080 10 inside\n"
				   "10f0 20 across\n"
				   "1000 20 start\n"
				   "1200 10 replaced\n"
				   "11f0 40 new\n";
	struct perfmap *m = read_text(text, strlen(text));

	(void)state;
	expect(m, 0x1000, "start");
	expect(m, 0x1020, "old");
	expect(m, 0x1085, "inside");
	expect(m, 0x1090, "old");
	expect(m, 0x10ef, "old");
	expect(m, 0x10f0, "across");
	expect(m, 0x110f, "across");
	expect(m, 0x1205, "new");
	perfmap_free(m);
}

static void lines_that_say_nothing_are_passed_over(void **state)
{
	static const char text[] = "\n\n  \nno number\n1000\n1000 10\n1000 10 \n-1 10 minus\n"
				   "1000 0 empty\nffffffffffffffff 10 beyond\n"
				   "10000000000000000000 10 too long\n1000 -5 negative\n"
				   "2000 10 good\n\0hidden\n3000 10 never\n";
	struct perfmap *m = read_text(text, sizeof(text) - 1);

	(void)state;
	expect(m, 0x2000, "good");
	assert_null(perfmap_find(m, 0x1000));
	assert_null(perfmap_find(m, UINT64_MAX));
	perfmap_free(m);
	m = read_text("", 0);
	assert_null(perfmap_find(m, 0));
	perfmap_free(m);
}

static void a_name_without_end_is_cut(void **state)
{
	char *text = mem_new(100001, 1);

	(void)state;
	memset(text, 'n', 100000);
	memcpy(text, "1000 10 ", 8);
	struct perfmap *m = read_text(text, 100000);
	assert_int_equal(strlen(perfmap_find(m, 0x1000)), 1024);
	perfmap_free(m);
	free(text);
}

/* Nested, crossing and equal ranges in great number: a map that was quadratic would not end. */
static void a_hundred_thousand_ranges_over_each_other_are_settled_quickly(void **state)
{
	FILE *file = fopen(fixture_path("perf-4711.map"), "we");

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		(void)fprintf(file, "%x %x f%u\n", 0x1000 + i, 0x100000, i);
	for (unsigned i = 0; i < 100000; i++)
		(void)fprintf(file, "%x %x g%u\n", 0x1000, 0x1000 + i % 7, i);
	assert_int_equal(fclose(file), 0);
	struct perfmap *m = read_map(NULL);
	assert_non_null(m);
	expect(m, 0x1000, "g99999");
	expect(m, 0x1000 + 0x1005 - 1, "g99994");
	expect(m, 0x1000 + 99999 + 0xfffff, "f99999");
	perfmap_free(m);
}

/* Bytes that are nearly a map; that nothing breaks is the point, under sanitizers above all. */
static void damaged_maps_are_put_up_with(void **state)
{
	static const char letters[] = "0123456789abcdef  \n\n\t-xg\0\xff";
	char text[400];

	(void)state;
	srand(1);
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = letters[(size_t)rand() % (sizeof(letters) - 1)];
		struct perfmap *m = read_text(text, sizeof(text));
		for (uint64_t address = 0; address < 4096; address++)
			(void)perfmap_find(m, address);
		perfmap_free(m);
	}
}

/* ---- what is not read ------------------------------------------------------------------------ */

static void expect_refused(const char *words)
{
	struct error e = {0};

	assert_null(read_map(&e));
	if (!strstr(e.text, words))
		fail_msg("no \"%s\" in: %s", words, e.text);
}

static void links_directories_and_fifos_are_not_read(void **state)
{
	(void)state;
	fixture_must_run("rm -f perf-4711.map && echo 1000 10 f >real.map && ln -s real.map "
			 "perf-4711.map");
	expect_refused("perf-4711.map");
	fixture_must_run("rm perf-4711.map && mkfifo perf-4711.map");
	expect_refused("not a regular file");
	fixture_must_run("rm perf-4711.map && mkdir perf-4711.map");
	expect_refused("not a regular file");
	fixture_must_run("rmdir perf-4711.map");
	expect_refused("No such file");
}

static void a_file_of_another_user_is_not_read(void **state)
{
	(void)state;
	fixture_write_text("perf-4711.map", "1000 10 f\n");
	if (chown(fixture_path("perf-4711.map"), 12345, (gid_t)-1) != 0)
		skip(); /* only root can make one */
	expect_refused("another user");
	fixture_must_run("rm perf-4711.map");
}

static void a_file_of_an_earlier_or_later_process_is_not_read(void **state)
{
	struct error early = {0}, late = {0};
	uint64_t now = now_ns();
	struct perfmap_owner after = {PID, now + 100 * SECOND_NS, 0};
	struct perfmap_owner before = {PID, now - 100 * SECOND_NS, now - 90 * SECOND_NS};

	(void)state;
	fixture_write_text("perf-4711.map", "1000 10 f\n");
	assert_null(perfmap_read(fixture_path("."), &after, &early));
	assert_non_null(strstr(early.text, "another process"));
	assert_null(perfmap_read(fixture_path("."), &before, &late));
	assert_non_null(strstr(late.text, "another process"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_gets_the_name_of_the_range_around_it),
		cmocka_unit_test(where_ranges_overlap_the_later_line_holds),
		cmocka_unit_test(lines_that_say_nothing_are_passed_over),
		cmocka_unit_test(a_name_without_end_is_cut),
		cmocka_unit_test(a_hundred_thousand_ranges_over_each_other_are_settled_quickly),
		cmocka_unit_test(damaged_maps_are_put_up_with),
		cmocka_unit_test(links_directories_and_fifos_are_not_read),
		cmocka_unit_test(a_file_of_another_user_is_not_read),
		cmocka_unit_test(a_file_of_an_earlier_or_later_process_is_not_read),
	};

	return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
