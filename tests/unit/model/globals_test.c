/* globals_test.c -- variables of an object, and how much of them is on resident pages. Runs: as a
 * unit test; the object is the test itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/globals.h"

#define PAGE 4096u

char globals_zeros[10 * PAGE] __attribute__((aligned(PAGE)));
char globals_filled[3 * PAGE] = {1};
__thread char globals_local[2000];

extern const char __ehdr_start[];

/* Of whose zeros the third page, and the first ten bytes of the fourth, are said to be resident. */
static struct profile *make(void)
{
	struct profile *p = profile_new();
	char *path = realpath("/proc/self/exe", NULL);
	uint64_t start = (uintptr_t)__ehdr_start, zeros = (uintptr_t)globals_zeros;

	*vec_push(&p->modules) = (struct profile_module){
		.path = profile_add_string(p, path),
		.bias = start,
		.map_start = start,
		.map_end = zeros + sizeof(globals_zeros),
	};
	free(path);
	p->run.page_bytes = PAGE;
	p->run.globals_time_ns = 1;
	p->run.globals_threads = 4;
	*vec_push(&p->extents) = (struct profile_extent){1, zeros + 2 * PAGE, PAGE + 10};
	globals_local[0] = globals_filled[0];
	return p;
}

static const struct profile_variable *find(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->variables.count; i++)
		if (strcmp(profile_string(p, p->variables.at[i].name), name) == 0)
			return &p->variables.at[i];
	return NULL;
}

static void a_variable_has_those_of_its_bytes_that_are_on_resident_pages(void **state)
{
	struct profile *p = make();
	struct error e = {0};

	(void)state;
	assert_int_equal(globals_resolve(p, GLOBALS_ALL, NULL), 0);
	assert_int_equal(profile_check(p, &e), 0);
	const struct profile_variable *zeros = find(p, "globals_zeros");
	assert_non_null(zeros);
	assert_int_equal(zeros->size_bytes, 10 * PAGE);
	assert_int_equal(zeros->resident_bytes, PAGE + 10);
	assert_string_equal(profile_string(p, zeros->section), ".bss");
	const struct profile_variable *filled = find(p, "globals_filled");
	assert_non_null(filled);
	assert_int_equal(filled->resident_bytes, 0);
	assert_string_equal(profile_string(p, filled->section), ".data");
	const struct profile_variable *local = find(p, "globals_local");
	assert_non_null(local);
	assert_true(local->is_thread_local);
	assert_int_equal(local->size_bytes, 2000);
	profile_free(p);
}

static void sums_are_the_same_whether_small_ones_are_folded_or_not(void **state)
{
	struct profile *all = make(), *brief = make();
	struct globals a = {0}, b = {0};

	(void)state;
	assert_int_equal(globals_resolve(all, GLOBALS_ALL, NULL), 0);
	assert_int_equal(globals_resolve(brief, GLOBALS_BRIEF, NULL), 0);
	globals_build(&a, all);
	globals_build(&b, brief);
	assert_true(all->variables.count >= brief->variables.count);
	assert_non_null(find(brief, "globals_zeros"));
	assert_int_equal(a.shared.bytes, b.shared.bytes);
	assert_int_equal(a.shared.variables, b.shared.variables);
	assert_int_equal(a.shared.resident_bytes, b.shared.resident_bytes);
	assert_int_equal(a.local.bytes, b.local.bytes);
	assert_int_equal(a.threads, 4);
	assert_int_equal(a.objects.count, 1);
	globals_fini(&a);
	globals_fini(&b);
	profile_free(all);
	profile_free(brief);
}

/* Takes no time if none is looked for among all: 10^10 steps otherwise. */
static void many_objects_sections_and_extents_are_no_trouble(void **state)
{
	const uint32_t count = 100000;
	struct profile *p = profile_new();
	struct globals g = {0};
	char name[16];

	(void)state;
	for (uint32_t i = 1; i <= count; i++) {
		struct string_id path = profile_add_string(p, "/nowhere");

		(void)snprintf(name, sizeof(name), "section %u", i);
		*vec_push(&p->modules) = (struct profile_module){.path = path, .map_end = 1};
		*vec_push(&p->extents) = (struct profile_extent){i, i, 1};
		for (uint32_t module = 1; module <= i; module += i > 1 ? i - 1 : 1)
			*vec_push(&p->variables) = (struct profile_variable){
				.module = module,
				.section = profile_add_string(p, name),
				.count = 1,
				.size_bytes = 1,
			};
	}
	p->run.globals_time_ns = 1;
	assert_int_equal(globals_resolve(p, GLOBALS_BRIEF, NULL), count);
	globals_build(&g, p);
	assert_int_equal(g.objects.count, count);
	assert_int_equal(g.objects.at[0].module, 1);
	assert_int_equal(g.objects.at[0].sections.count, count);
	assert_int_equal(g.shared.bytes, 2 * (uint64_t)count - 1);
	globals_fini(&g);
	profile_free(p);
}

static void what_is_known_of_a_file_that_is_gone_stays(void **state)
{
	struct profile *p = make();

	(void)state;
	assert_int_equal(globals_resolve(p, GLOBALS_BRIEF, NULL), 0);
	size_t known = p->variables.count;
	p->modules.at[1].path = profile_add_string(p, "/nowhere/at/all");
	assert_int_equal(globals_resolve(p, GLOBALS_ALL, NULL), 1);
	assert_int_equal(p->variables.count, known);
	assert_int_equal(find(p, "globals_zeros")->resident_bytes, PAGE + 10);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_has_those_of_its_bytes_that_are_on_resident_pages),
		cmocka_unit_test(sums_are_the_same_whether_small_ones_are_folded_or_not),
		cmocka_unit_test(many_objects_sections_and_extents_are_no_trouble),
		cmocka_unit_test(what_is_known_of_a_file_that_is_gone_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
