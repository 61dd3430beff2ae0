/* pool_test.c -- modules that stay open between look-ups.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "base/rescue.h"

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

static void what_is_emptied_is_opened_anew(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(4);
	struct symbol_options options = {.pool = pool};
	struct symbol_files files;
	struct error e = {0};

	(void)state;
	build("-Wl,--build-id=sha1");
	struct symbol_module *used = open_app(pool), *idle = open_app(pool);
	symbol_close(idle);
	symbol_pool_empty(pool);
	work_expect_lines(used, mark);
	symbol_close(used);
	struct symbol_module *m = open_app(pool);
	symbol_get_files(m, &files);
	assert_true(files.was_open);
	symbol_close(m);
	symbol_pool_empty(pool);
	fixture_must_run("rm -f gone && mv app gone");
	assert_null(symbol_open(fixture_path("app"), id, id_bytes, &options, &e));
	symbol_pool_free(pool);
}

/* One that was opened without its debug file would find less. */
static void one_without_its_debug_file_is_another(void **state)
{
	struct symbol_pool *pool = symbol_pool_new(4);
	struct symbol_options bare = {.pool = pool, .object_only = true};
	const struct symbol_frame *frames;
	struct error e = {0};

	(void)state;
	build("-Wl,--build-id=sha1");
	fixture_must_run("objcopy --only-keep-debug app app.debug && "
			 "objcopy --strip-debug --add-gnu-debuglink=app.debug app");
	struct symbol_module *m = symbol_open(fixture_path("app"), id, id_bytes, &bare, &e);
	assert_non_null(m);
	assert_int_equal(symbol_find(m, mark, &frames), 1);
	symbol_close(m);
	m = open_app(pool);
	work_expect_lines(m, mark);
	symbol_close(m);
	m = symbol_open(fixture_path("app"), id, id_bytes, &bare, &e);
	assert_int_equal(symbol_find(m, mark, &frames), 1);
	symbol_close(m);
	symbol_pool_free(pool);
}

static void find_mark(void *module)
{
	const struct symbol_frame *frames;

	(void)symbol_find(module, mark, &frames);
}

static void a_file_that_is_cut_short_while_it_is_read_does_not_end_the_process(void **state)
{
	static struct symbol_module *lost;
	struct symbol_options modest = {.modest = true};
	struct error e = {0};

	(void)state;
	build("-Wl,--build-id=sha1");
	lost = symbol_open(fixture_path("app"), id, id_bytes, &modest, &e);
	assert_non_null(lost);
	fixture_must_run(": >app");
	assert_false(rescue_run(find_mark, lost));
}

/* A section that says it holds 65 MiB of zeros. */
static void given_much_to_unpack_then_it_is_neither_opened_nor_kept_modestly(void **state)
{
	struct symbol_options modest = {.modest = true};
	struct error e = {0};

	(void)state;
	build("-Wl,--build-id=sha1");
	struct symbol_module *m = symbol_open(fixture_path("app"), id, id_bytes, &modest, &e);
	assert_non_null(m);
	work_expect_lines(m, mark);
	symbol_close(m);
	fixture_must_run("head -c 65M /dev/zero >zeros && objcopy --add-section .debug_more=zeros "
			 "app && objcopy --compress-debug-sections=zlib app && rm zeros");
	assert_null(symbol_open(fixture_path("app"), id, id_bytes, &modest, &e));
	struct symbol_pool *pool = symbol_pool_new(4);
	for (int i = 0; i < 2; i++) {
		struct symbol_files files;

		m = open_app(pool);
		work_expect_lines(m, mark);
		symbol_get_files(m, &files);
		assert_int_equal(files.was_open, i);
		symbol_close(m);
	}
	symbol_pool_free(pool);
	pool = symbol_pool_new(4);
	symbol_pool_keep_modest(pool);
	for (int i = 0; i < 2; i++) {
		struct symbol_files files;

		m = open_app(pool);
		symbol_get_files(m, &files);
		assert_false(files.was_open);
		symbol_close(m);
	}
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
		cmocka_unit_test(what_is_emptied_is_opened_anew),
		cmocka_unit_test(one_without_its_debug_file_is_another),
		cmocka_unit_test(
			a_file_that_is_cut_short_while_it_is_read_does_not_end_the_process),
		cmocka_unit_test(given_much_to_unpack_then_it_is_neither_opened_nor_kept_modestly),
		cmocka_unit_test(the_one_that_was_used_longest_ago_goes),
	};

	return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
