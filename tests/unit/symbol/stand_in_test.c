/* stand_in_test.c -- names for programs that are stripped, moved, replaced or gone.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

static uint64_t mark;
static char hex[65];
static uint8_t id[32];
static size_t id_bytes;

/* Leaves `place/app`, stripped without a link, and an empty directory `dir`; `app.whole` and
 * `app.debug` are for the tests to put somewhere. */
static void build(const char *flags)
{
	work_write();
	fixture_must_run("rm -rf app* place dir && mkdir place dir");
	fixture_must_run("cc -O2 -g %s work.c -o app.whole", flags);
	fixture_must_run("objcopy --only-keep-debug app.whole app.debug");
	fixture_must_run("strip app.whole -o place/app");
	mark = fixture_address("app.whole", "mark");
	id_bytes = strstr(flags, "none") ? 0 : fixture_build_id("app.whole", hex, id);
}

static struct symbol_module *open_app(struct error *e)
{
	const char *const dirs[] = {fixture_path("dir"), NULL};
	struct symbol_options options = {.debug_dirs = dirs};

	return symbol_open(fixture_path("place/app"), id_bytes ? id : NULL, id_bytes, &options, e);
}

static void expect_lines(void)
{
	struct error e = {0};
	struct symbol_module *m = open_app(&e);

	if (!m)
		fail_msg("%s", e.text);
	assert_false(e.set);
	work_expect_lines(m, mark);
	symbol_close(m);
}

static void expect_nothing_but_an_error(const char *words)
{
	struct error e = {0};

	assert_null(open_app(&e));
	assert_non_null(strstr(e.text, words));
}

static void given_a_stripped_program_its_debug_file_is_found_by_name(void **state)
{
	(void)state;
	build("-Wl,--build-id=sha1");
	fixture_must_run("cp app.debug dir/app.debug");
	expect_lines();
	fixture_must_run("mv dir/app.debug dir/app");
	expect_lines();
	fixture_must_run("mkdir -p dir/$PWD/place && mv dir/app dir/$PWD/place/app.debug");
	expect_lines();
}

static void given_a_stripped_program_and_nothing_else_then_no_name_is_made_up(void **state)
{
	const struct symbol_frame *frames;
	struct symbol_files files;

	(void)state;
	build("-Wl,--build-id=sha1");
	struct symbol_module *m = open_app(NULL);
	assert_int_equal(symbol_find(m, mark, &frames), 0);
	symbol_get_files(m, &files);
	assert_string_equal(files.object, fixture_path("place/app"));
	assert_null(files.debug);
	assert_false(files.has_dwarf);
	symbol_close(m);
}

static void a_module_tells_where_its_names_come_from(void **state)
{
	struct symbol_files files;

	(void)state;
	build("-Wl,--build-id=sha1");
	fixture_must_run("cp app.debug dir/app.debug");
	struct symbol_module *m = open_app(NULL);
	symbol_get_files(m, &files);
	assert_string_equal(files.object, fixture_path("place/app"));
	assert_string_equal(files.debug, fixture_path("dir/app.debug"));
	assert_true(files.has_dwarf);
	symbol_close(m);
}

static void given_a_program_that_is_gone_its_debug_file_stands_in(void **state)
{
	(void)state;
	build("-Wl,--build-id=sha1");
	fixture_must_run("rm place/app");
	expect_nothing_but_an_error("place/app: No such file");
	fixture_must_run("cp app.debug dir/app.debug");
	expect_lines();
	fixture_must_run(
		"mkdir -p dir/.build-id/%.2s && mv dir/app.debug dir/.build-id/%.2s/%s.debug", hex,
		hex, hex + 2);
	expect_lines();
}

static void given_a_program_that_is_gone_a_copy_of_it_stands_in(void **state)
{
	(void)state;
	build("-Wl,--build-id=sha1");
	fixture_must_run("rm place/app && cp app.whole dir/app");
	expect_lines();
	fixture_must_run("mkdir -p dir/.build-id/%.2s && mv dir/app dir/.build-id/%.2s/%s", hex,
			 hex, hex + 2);
	expect_lines();
}

static void given_a_program_that_was_replaced_its_debug_file_stands_in(void **state)
{
	(void)state;
	build("-Wl,--build-id=sha1");
	fixture_must_run("cp /bin/true place/app");
	expect_nothing_but_an_error("build-id differs");
	fixture_must_run("cp app.debug dir/app.debug");
	expect_lines();
}

static void a_stand_in_of_another_build_is_not_used(void **state)
{
	(void)state;
	build("-Wl,--build-id=sha1");
	fixture_must_run("rm place/app && cc -O1 -g -Wl,--build-id=sha1 work.c -o dir/app");
	expect_nothing_but_an_error("No such file");
}

static void without_a_build_id_the_name_is_enough_if_the_other_has_none_either(void **state)
{
	(void)state;
	build("-Wl,--build-id=none");
	fixture_must_run("rm place/app && cp app.whole dir/app");
	expect_lines();
	fixture_must_run("cc -O2 -g -Wl,--build-id=sha1 work.c -o dir/app");
	expect_nothing_but_an_error("No such file");
}

/* libdw looks at the variable when the process starts, so this program is started again: see main.
 */
static void given_a_program_that_is_gone_a_server_is_asked(void **state)
{
	char self[4096] = {0};

	(void)state;
	if (fixture_run("ldconfig -p | grep libdebuginfod.so.1") != 0)
		skip();
	build("-Wl,--build-id=sha1");
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	fixture_must_run("mkdir -p server/buildid/%s && mv app.debug server/buildid/%s/debuginfo",
			 hex, hex);
	fixture_must_run("DEBUGINFOD_CACHE_PATH=$PWD/cache DEBUGINFOD_URLS=file://$PWD/server/ "
			 "%s %s %llx | grep -x inner",
			 self, hex, (unsigned long long)mark);
	fixture_must_run("! DEBUGINFOD_URLS= DEBUGINFOD_CACHE_PATH=$PWD/cache %s %s %llx", self,
			 hex, (unsigned long long)mark);
}

/* What the child of the test above does: the innermost function of a program that is not there. */
static int print_innermost(const char *build_id, const char *address)
{
	size_t bytes = 0;

	for (; bytes < sizeof(id) && build_id[2 * bytes]; bytes++)
		(void)sscanf(build_id + 2 * bytes, "%2hhx", &id[bytes]);
	struct symbol_module *m = symbol_open("/nowhere/app", id, bytes, NULL, NULL);
	return work_print_innermost(m, address);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_stripped_program_its_debug_file_is_found_by_name),
		cmocka_unit_test(given_a_stripped_program_and_nothing_else_then_no_name_is_made_up),
		cmocka_unit_test(a_module_tells_where_its_names_come_from),
		cmocka_unit_test(given_a_program_that_is_gone_its_debug_file_stands_in),
		cmocka_unit_test(given_a_program_that_is_gone_a_copy_of_it_stands_in),
		cmocka_unit_test(given_a_program_that_was_replaced_its_debug_file_stands_in),
		cmocka_unit_test(a_stand_in_of_another_build_is_not_used),
		cmocka_unit_test(
			without_a_build_id_the_name_is_enough_if_the_other_has_none_either),
		cmocka_unit_test(given_a_program_that_is_gone_a_server_is_asked),
	};

	if (argc == 3)
		return print_innermost(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
