/* pool_test.c -- modules that stay open between look-ups.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

static uint64_t mark;
static uint8_t id[32];
static size_t id_bytes;

static void build(const char *flags)
{
	char hex[65];

	work_write();
	fixture_must_run("cc -O2 -g %s work.c -o app", flags);
	mark = fixture_address("app", "mark");
	id_bytes = strstr(flags, "none") ? 0 : fixture_build_id("app", hex, id);
}

static struct symbol_module *open_app(struct symbol_pool *pool)
{
	struct symbol_options options = {.pool = pool};
	struct error e = {0};
	struct symbol_module *m =
		symbol_open(fixture_path("app"), id_bytes ? id : NULL, id_bytes, &options, &e);

	if (!m)
		fail_msg("%s", e.text);
	return m;
}

static void a_module_is_opened_once_and_tells_the_same_again(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(4);

	(void)state;
	build("-Wl,--build-id=sha1");
	struct symbol_module *m = open_app(pool);
	work_expect_lines(m, mark);
	symbol_close(m);
	fixture_must_run("mv app gone"); /* nothing is read again */
	assert_ptr_equal(open_app(pool), m);
	work_expect_lines(m, mark);
	symbol_close(m);
	symbol_pool_free(pool);
}

static void two_who_use_it_at_once_have_one_each(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(4);

	(void)state;
	build("-Wl,--build-id=sha1");
	struct symbol_module *a = open_app(pool), *b = open_app(pool);
	assert_ptr_not_equal(a, b);
	work_expect_lines(a, mark);
	work_expect_lines(b, mark);
	symbol_close(a);
	symbol_close(b);
	symbol_pool_free(pool);
}

static void given_a_program_of_another_build_then_that_one_is_opened(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(4);

	(void)state;
	build("-Wl,--build-id=sha1");
	struct symbol_module *old = open_app(pool);
	symbol_close(old);
	fixture_must_run("rm app");
	build("-Wl,--build-id=sha1 -O1");
	struct symbol_module *m = open_app(pool);
	assert_ptr_not_equal(m, old);
	work_expect_lines(m, mark);
	symbol_close(m);
	symbol_pool_free(pool);
}

static void given_a_file_that_was_written_over_then_it_is_opened_again(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(4);
	struct symbol_options options = {.pool = pool};
	struct error e = {0};

	(void)state;
	build("-Wl,--build-id=sha1 -O1");
	fixture_must_run("mv app other");
	build("-Wl,--build-id=sha1");
	symbol_close(open_app(pool));
	fixture_must_run("cat other > app");
	assert_null(symbol_open(fixture_path("app"), id, id_bytes, &options, &e));
	symbol_pool_free(pool);
}

static void given_no_build_id_then_the_file_is_read_anew(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(4);
	struct symbol_options options = {.pool = pool};
	struct error e = {0};

	(void)state;
	build("-Wl,--build-id=none");
	symbol_close(open_app(pool));
	fixture_must_run("rm -f gone && mv app gone");
	assert_null(symbol_open(fixture_path("app"), NULL, 0, &options, &e));
	symbol_pool_free(pool);
}

static void the_one_that_was_used_longest_ago_goes(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(1);

	(void)state;
	build("-Wl,--build-id=sha1");
	struct symbol_module *a = open_app(pool), *b = open_app(pool);
	symbol_close(a);
	symbol_close(b); /* and a is freed */
	assert_ptr_equal(open_app(pool), b);
	symbol_close(b);
	symbol_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_is_opened_once_and_tells_the_same_again),
		cmocka_unit_test(two_who_use_it_at_once_have_one_each),
		cmocka_unit_test(given_a_program_of_another_build_then_that_one_is_opened),
		cmocka_unit_test(given_a_file_that_was_written_over_then_it_is_opened_again),
		cmocka_unit_test(given_no_build_id_then_the_file_is_read_anew),
		cmocka_unit_test(the_one_that_was_used_longest_ago_goes),
	};

	return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
