/* export_test.c -- the table of formats: each is complete, found by name and by ending. Runs: as a
 * unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

static void every_format_is_complete_in_order_and_found(void **state)
{
	const struct export_format *f, *before = NULL;

	(void)state;
	for (size_t i = 0; (f = export_get(i)); i++, before = f) {
		char path[64];
		if (before)
			assert_true(strcmp(before->name, f->name) < 0);
		assert_true(*f->summary);
		assert_int_equal(f->suffix[0], '.');
		assert_ptr_equal(export_find(f->name), f);
		snprintf(path, sizeof(path), "some/where/x%s", f->suffix);
		assert_ptr_equal(export_find_by_suffix(path), f);
		assert_false(export_is_compressed(f, path));
		snprintf(path, sizeof(path), "some/where/x%s.gz", f->suffix);
		assert_ptr_equal(export_find_by_suffix(path), f);
	}
	assert_non_null(before);
	assert_null(export_find("nonsense"));
	assert_null(export_find_by_suffix("x.nonsense"));
	assert_null(export_find_by_suffix("x.gz"));
	assert_true(export_is_compressed(export_find("csv"), "x.csv.gz"));
}

static void an_ending_alone_is_no_file_name(void **state)
{
	(void)state;
	assert_null(export_find_by_suffix(".folded"));
}

static void every_format_can_write_an_empty_profile(void **state)
{
	const struct export_format *f;

	(void)state;
	for (size_t i = 0; (f = export_get(i)); i++) {
		struct profile *p = profile_new();
		struct exported x;
		struct export_request how = {.figure = FIGURE_PEAK};
		assert_int_equal(exported_try(&x, f, p, &how), f->needs_trace ? -1 : 0);
		free(x.text);
		profile_free(p);
	}
}

static void every_format_survives_the_deepest_stack_and_the_longest_name(void **state)
{
	const struct export_format *f;
	char name[10001];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; (f = export_get(i)); i++) {
		struct profile *p = sample_new();
		p->run.clock_ticks = p->run.clock_ns = 1; /* a trace, without events */
		uint32_t frame = sample_frame(p, "deep", "/src/app.c", 1, 0);
		uint32_t node = 0;
		for (unsigned k = 0; k < 2 * MODEL_STACK_MAX; k++)
			node = sample_node_in(p, node, 1, frame);
		sample_site(p, sample_node(p, node, name, 1), 8, 1);
		struct exported x = exported_make(f->name, p, FIGURE_PEAK);
		assert_true(x.bytes > 0);
		free(x.text);
	}
}

static void a_program_without_a_name_is_called_by_the_hint(void **state)
{
	static const struct model_options usual = {0};
	struct profile *p = profile_new(), *named = sample_new();
	struct model *m = model_new(p, &usual), *n = model_new(named, &usual);
	struct export_request r = {.model = m};

	(void)state;
	assert_string_equal(export_get_program(&r), "program");
	r.program_hint = "x.mdn";
	assert_string_equal(export_get_program(&r), "x.mdn");
	r.model = n;
	assert_string_equal(export_get_program(&r), "app");
	model_free(m);
	model_free(n);
	profile_free(p);
	profile_free(named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_is_complete_in_order_and_found),
		cmocka_unit_test(an_ending_alone_is_no_file_name),
		cmocka_unit_test(every_format_can_write_an_empty_profile),
		cmocka_unit_test(every_format_survives_the_deepest_stack_and_the_longest_name),
		cmocka_unit_test(a_program_without_a_name_is_called_by_the_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
