/* suppress_test.c -- rules for known leaks: their syntax, and what they name. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "model/answer.h"
#include "sample.h"

static const struct model_options usual = {0};

static void patterns_are_searched_with_stars_and_anchors(void **state)
{
	(void)state;
	assert_true(suppress_has("oad", "load"));
	assert_true(suppress_has("^lo", "load"));
	assert_false(suppress_has("^oad", "load"));
	assert_true(suppress_has("ad$", "load"));
	assert_false(suppress_has("oa$", "load"));
	assert_true(suppress_has("^load$", "load"));
	assert_false(suppress_has("^load$", "loadload"));
	assert_true(suppress_has("^l*d$", "load"));
	assert_true(suppress_has("l*a", "load"));
	assert_false(suppress_has("a*l", "load"));
	assert_true(suppress_has("*", ""));
	assert_true(suppress_has("a$b", "xa$by"));
	assert_false(suppress_has("a$b", "xa$yb"));
	assert_true(suppress_has("a$*b$", "a$yb"));
	assert_true(suppress_has("ab$", "abab"));
	assert_false(suppress_has("ab*ab$", "ab"));
}

static void a_list_has_comments_and_blank_lines(void **state)
{
	struct suppress_list l = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(suppress_parse(&l, "# known\n\n  leak:load  \r\nleak:^save$", "x", &e), 0);
	assert_int_equal(l.rules.count, 2);
	assert_string_equal(l.rules.at[0].text, "load");
	assert_string_equal(l.rules.at[1].text, "^save$");
	suppress_free(&l);
}

static void a_wrong_line_is_named(void **state)
{
	struct suppress_list l = {0};
	struct error e = {0}, other = {0};

	(void)state;
	assert_int_equal(suppress_parse(&l, "leak:a\nrace:b\n", "my.supp", &e), -1);
	assert_string_equal(e.text, "my.supp: line 2: a rule is leak:PATTERN, not race:b");
	assert_int_equal(suppress_parse(&l, "leak:\n", "my.supp", &other), -1);
	assert_string_equal(other.text, "my.supp: line 1: a rule without a pattern");
	suppress_free(&l);
}

static void given_no_such_file_then_it_is_named(void **state)
{
	struct suppress_list l = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(suppress_read(&l, "/nowhere/x.supp", &e), -1);
	assert_non_null(strstr(e.text, "/nowhere/x.supp"));
}

/* Asks for leaks under a list; returns what is suppressed. */
static struct answer_part suppress(struct profile *p, const struct suppress_list *l, uint64_t *kept)
{
	struct model *m = model_new(p, &usual);
	struct view view = {.figure = FIGURE_LEAKED, .suppress = l};
	struct answer *a = answer_new(m, &view);
	struct answer_part part = a->parts[FILTER_SUPPRESSED];

	*kept = a->parts[FILTER_KEPT].amount.bytes;
	assert_int_equal(*kept + part.amount.bytes, a->whole.bytes);
	answer_free(a);
	model_free(m);
	profile_free(p);
	return part;
}

static void a_rule_names_a_function_file_or_module_anywhere_on_the_stack(void **state)
{
	static const struct {
		const char *rule;
		uint64_t bytes;
	} cases[] = {{"leak:^load$", 700},
		     {"leak:save", 300},
		     {"leak:app.c", 1000},
		     {"leak:/src/app$", 1000},
		     {"leak:nothing", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct suppress_list l = {0};
		struct error e = {0};
		uint64_t kept;
		assert_int_equal(suppress_parse(&l, cases[i].rule, "x", &e), 0);
		assert_int_equal(suppress(sample_tables(), &l, &kept).amount.bytes, cases[i].bytes);
		suppress_free(&l);
	}
}

/* The emergency pool without names, a buffer of stdio below the program's own code, and a leak of
 * the program's own in a constructor. */
static void what_libraries_keep_is_known(void **state)
{
	struct profile *p = sample_new();
	struct suppress_list l = {0};
	uint32_t loader = sample_module(p, "/lib64/ld-linux-x86-64.so.2");
	uint32_t libc = sample_module(p, "/lib/libc.so.6");
	uint32_t cxx = sample_module(p, "/lib/libstdc++.so.6");
	uint32_t init =
		sample_node_in(p, 0, loader, sample_frame(p, "call_init", "/elf/dl-init.c", 1, 0));
	uint32_t root = sample_node(p, 0, "main", 1);
	uint64_t kept;

	(void)state;
	sample_site(p, sample_node_in(p, init, cxx, 0), 72704, 1);
	sample_site(p,
		    sample_node_in(p, root, libc,
				   sample_frame(p, "__GI__IO_file_doallocate", "/f.c", 2, 0)),
		    4096, 1);
	sample_site(p, sample_node(p, init, "my_constructor", 9), 10, 1);
	sample_site(p, sample_node_in(p, root, cxx, 0), 5, 1);
	suppress_add_known(&l);
	struct answer_part part = suppress(p, &l, &kept);
	assert_int_equal(part.amount.bytes, 72704 + 4096);
	assert_int_equal(part.sites, 2);
	assert_int_equal(kept, 15);
	suppress_free(&l);
}

static void what_name_services_keep_is_known_with_and_without_inner_names(void **state)
{
	struct profile *p = sample_new();
	struct suppress_list l = {0};
	uint32_t libc = sample_module(p, "/lib/libc.so.6");
	uint32_t root = sample_node(p, 0, "main", 1);
	uint32_t ask = sample_node_in(p, root, libc, sample_frame(p, "getpwuid", "/p.c", 2, 0));
	uint32_t own = sample_node(p, root, "getpwuid", 3); /* the program's, not the library's */
	uint64_t kept;

	(void)state;
	sample_site(p, ask, 1024, 1);
	sample_site(p, sample_node_in(p, ask, libc, 0), 216, 1);
	sample_site(p, sample_node(p, ask, "called_back", 4), 7, 1);
	sample_site(p, own, 5, 1);
	suppress_add_known(&l);
	struct answer_part part = suppress(p, &l, &kept);
	assert_int_equal(part.amount.bytes, 1024 + 216);
	assert_int_equal(kept, 12);
	suppress_free(&l);
}

/* As dlopen leaves it: the loader points to the inside of what it keeps. */
static void what_the_loader_keeps_of_its_maps_is_known(void **state)
{
	struct profile *p = sample_new();
	struct suppress_list l = {0};
	uint32_t loader = sample_module(p, "/lib64/ld-linux-x86-64.so.2");
	uint32_t root = sample_node(p, 0, "main", 1);
	uint32_t frame = sample_frame(p, "_dlfo_mappings_segment_allocate", "/dl.c", 2, 0);
	uint64_t kept;

	(void)state;
	sample_site(p, sample_node_in(p, root, loader, frame), 320, 1);
	sample_site(p, root, 5, 1);
	suppress_add_known(&l);
	assert_int_equal(suppress(p, &l, &kept).amount.bytes, 320);
	assert_int_equal(kept, 5);
	suppress_free(&l);
}

static void only_leaks_are_suppressed(void **state)
{
	struct suppress_list l = {0};
	struct error e = {0};
	struct profile *p = sample_tables();
	struct model *m = model_new(p, &usual);
	struct view view = {.figure = FIGURE_PEAK, .suppress = &l};

	(void)state;
	assert_int_equal(suppress_parse(&l, "leak:main", "x", &e), 0);
	struct answer *a = answer_new(m, &view);
	assert_int_equal(a->parts[FILTER_KEPT].amount.bytes, 1000);
	answer_free(a);
	model_free(m);
	profile_free(p);
	suppress_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_searched_with_stars_and_anchors),
		cmocka_unit_test(a_list_has_comments_and_blank_lines),
		cmocka_unit_test(a_wrong_line_is_named),
		cmocka_unit_test(given_no_such_file_then_it_is_named),
		cmocka_unit_test(a_rule_names_a_function_file_or_module_anywhere_on_the_stack),
		cmocka_unit_test(what_libraries_keep_is_known),
		cmocka_unit_test(what_name_services_keep_is_known_with_and_without_inner_names),
		cmocka_unit_test(what_the_loader_keeps_of_its_maps_is_known),
		cmocka_unit_test(only_leaks_are_suppressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
