/* sourcefile_test.c -- source files that a profile names, read with care. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../model/sample.h"
#include "serve/sourcefile.h"

static char directory[] = "/tmp/midden-sourcefile-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void make_file(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void expect_missing(const char *path)
{
	char *text = NULL;
	size_t bytes = 0;

	if (sourcefile_read(path, &text, &bytes) != SOURCEFILE_MISSING)
		fail_msg("%s was read", path);
}

static void a_source_file_is_read_whole(void **state)
{
	static const char *const names[] = {"a.c", "b.CPP", "c.f90", "d.py", "e.rs"};
	char *text = NULL;
	size_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		make_file(names[i], "one\ntwo\n");
		assert_int_equal(sourcefile_read(path_of(names[i]), &text, &bytes),
				 SOURCEFILE_READ);
		assert_int_equal(bytes, 8);
		assert_string_equal(text, "one\ntwo\n");
		free(text);
		(void)unlink(path_of(names[i]));
	}
}

static void what_has_no_name_of_a_source_is_missing(void **state)
{
	static const char *const names[] = {"secret",	 "id_rsa", "a.c.key", "x.txt",
					    ".c/passwd", "a.c~",   "a.",      "c"};

	(void)state;
	assert_int_equal(mkdir(path_of(".c"), 0700), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		make_file(names[i], "private");
		expect_missing(path_of(names[i]));
		(void)unlink(path_of(names[i]));
	}
	(void)rmdir(path_of(".c"));
	expect_missing("/etc/passwd");
	expect_missing("");
	expect_missing(path_of("not-there.c"));
}

static void a_relative_path_is_missing(void **state)
{
	(void)state;
	assert_int_equal(access("src/serve/guard.c", R_OK), 0); /* the tests run in the tree */
	expect_missing("src/serve/guard.c");
	expect_missing("./src/serve/guard.c");
	expect_missing("../../etc/x.c");
}

/* A pipe would make the server wait for whoever writes to it. */
static void what_is_no_regular_file_is_missing(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path_of("pipe.c"), 0600), 0);
	expect_missing(path_of("pipe.c"));
	(void)unlink(path_of("pipe.c"));
	assert_int_equal(mkdir(path_of("directory.c"), 0700), 0);
	expect_missing(path_of("directory.c"));
	(void)rmdir(path_of("directory.c"));
	assert_int_equal(symlink("/dev/zero", path_of("zero.c")), 0);
	expect_missing(path_of("zero.c"));
	(void)unlink(path_of("zero.c"));
}

static void a_file_that_is_too_large_for_a_source_is_missing(void **state)
{
	(void)state;
	make_file("large.c", "x");
	assert_int_equal(truncate(path_of("large.c"), (16 << 20) + 1), 0);
	expect_missing(path_of("large.c"));
	(void)unlink(path_of("large.c"));
}

static void a_file_of_others_is_refused(void **state)
{
	char *text = NULL;
	size_t bytes = 0;

	(void)state;
	if (geteuid() == 0)
		skip(); /* root may read everything */
	make_file("closed.c", "private");
	assert_int_equal(chmod(path_of("closed.c"), 0), 0);
	assert_int_equal(sourcefile_read(path_of("closed.c"), &text, &bytes), SOURCEFILE_REFUSED);
	(void)unlink(path_of("closed.c"));
}

static char *gather(struct profile *p, unsigned around)
{
	struct model *m = model_new(p, &(struct model_options){0});
	char *json = sourcefile_gather(m, around);

	model_free(m);
	profile_free(p);
	assert_non_null(json);
	return json;
}

/* A profile with a site at each of these lines of a file. */
static struct profile *make_lines(const char *file, const uint32_t *lines, size_t count)
{
	struct profile *p = sample_new();

	for (size_t i = 0; i < count; i++)
		sample_site(p, sample_node_in(p, 0, 1, sample_frame(p, "f", file, lines[i], 0)), 1,
			    1);
	return p;
}

static void lines_are_gathered_in_runs(void **state)
{
	static const uint32_t lines[] = {2, 3, 8};

	(void)state;
	make_file("run.c", "1\n2\n3\n\"4\"\n5\n6\n7\n8");
	char *json = gather(make_lines(path_of("run.c"), lines, 3), 1);
	assert_non_null(strstr(json, "[1,\"1\",\"2\",\"3\",\"\\\"4\\\"\"]"));
	assert_non_null(strstr(json, "[7,\"7\",\"8\"]"));
	assert_null(strstr(json, "\"5\""));
	free(json);
	(void)unlink(path_of("run.c"));
}

static void lines_beyond_the_end_of_a_file_give_none(void **state)
{
	static const uint32_t lines[] = {4000000000u, UINT32_MAX};

	(void)state;
	make_file("short.c", "only\n");
	char *json = gather(make_lines(path_of("short.c"), lines, 2), 5);
	assert_null(strstr(json, "only"));
	free(json);
	(void)unlink(path_of("short.c"));
}

static void files_that_must_not_be_read_are_not_in_it(void **state)
{
	static const uint32_t line = 1;

	(void)state;
	char *json = gather(make_lines("/etc/passwd", &line, 1), 100);
	assert_null(strstr(json, "root:"));
	free(json);
	json = gather(sample_new(), 3);
	assert_non_null(strstr(json, "\"files\""));
	free(json);
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_file_is_read_whole),
		cmocka_unit_test(what_has_no_name_of_a_source_is_missing),
		cmocka_unit_test(a_relative_path_is_missing),
		cmocka_unit_test(what_is_no_regular_file_is_missing),
		cmocka_unit_test(a_file_that_is_too_large_for_a_source_is_missing),
		cmocka_unit_test(a_file_of_others_is_refused),
		cmocka_unit_test(lines_are_gathered_in_runs),
		cmocka_unit_test(lines_beyond_the_end_of_a_file_give_none),
		cmocka_unit_test(files_that_must_not_be_read_are_not_in_it),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
