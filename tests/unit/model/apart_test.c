/* apart_test.c -- functions that read the same are told apart by their modules. Runs: as a unit
 * test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/apart.h"
#include "model/merge.h"
#include "sample.h"

static void assert_apart(const struct model_frame *f, const char *expected)
{
	if (!expected) {
		assert_null(f->apart);
		return;
	}
	assert_non_null(f->apart);
	assert_string_equal(f->apart, expected);
}

static void what_reads_the_same_gets_the_name_of_its_module(void **state)
{
	struct model_frame frames[] = {
		{.function = "load", .module = "/bin/old", .file = "app.c", .line = 1},
		{.function = "load", .module = "/bin/old", .file = "app.c", .line = 2},
		{.function = "load", .module = "/bin/new", .file = "app.c", .line = 1},
		{.function = "load", .module = "/bin/new", .file = "other.c", .line = 1},
		{.function = "save", .module = "/bin/new", .file = "app.c", .line = 1},
	};

	(void)state;
	apart_mark(frames, 5);
	assert_apart(&frames[0], "old");
	assert_apart(&frames[1], "old");
	assert_apart(&frames[2], "new");
	assert_apart(&frames[3], NULL);
	assert_apart(&frames[4], NULL);
}

static void modules_of_one_name_are_told_apart_by_their_paths(void **state)
{
	struct model_frame frames[] = {
		{.function = "main", .module = "/old/app", .file = ""},
		{.function = "main", .module = "/new/app", .file = ""},
		{.function = "main", .module = "/new/tool", .file = ""}, /* shown as tool */
		{.function = "", .module = "/new/app", .file = ""},
		{.function = "", .module = "/old/app", .file = ""}, /* shown with its address */
	};

	(void)state;
	apart_mark(frames, 5);
	assert_apart(&frames[0], "/old/app");
	assert_apart(&frames[1], "/new/app");
	assert_apart(&frames[2], NULL);
	assert_apart(&frames[3], NULL);
	assert_apart(&frames[4], NULL);
}

static void a_merge_of_two_builds_says_which_is_which(void **state)
{
	static const struct model_options usual = {0};
	struct profile *a = sample_tables(), *b = sample_tables();
	struct merge *m = merge_new(&(struct merge_options){.mode = PROFILE_MERGE_SUM});
	struct error e = {0};
	size_t marked = 0;

	(void)state;
	b->modules.at[1].path = profile_add_string(b, "/src/app2");
	merge_add(m, a, "a.mdn");
	merge_add(m, b, "b.mdn");
	struct profile *both = merge_finish(m, &e);
	assert_non_null(both);
	struct model *model = model_new(both, &usual);
	for (uint32_t i = 0; i < model_get_frame_count(model); i++)
		marked += model_get_frame(model, i)->apart != NULL;
	assert_int_equal(marked, 2 * 6); /* main, load at two lines each, save, table_new */
	model_free(model);
	model = model_new(a, &usual);
	for (uint32_t i = 0; i < model_get_frame_count(model); i++)
		assert_null(model_get_frame(model, i)->apart);
	model_free(model);
	profile_free(both);
	profile_free(a);
	profile_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_reads_the_same_gets_the_name_of_its_module),
		cmocka_unit_test(modules_of_one_name_are_told_apart_by_their_paths),
		cmocka_unit_test(a_merge_of_two_builds_says_which_is_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
