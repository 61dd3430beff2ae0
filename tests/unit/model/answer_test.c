/* answer_test.c -- questions with filters: what is kept, what is left out and why. Runs: as a unit
 * test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "model/answer.h"
#include "sample.h"

static const struct model_options usual = {0};

struct case_of {
	struct profile *profile;
	struct model *model;
	struct filter filter;
	struct answer *answer;
};

static void ask(struct case_of *c, struct profile *p, struct view view)
{
	c->profile = p;
	c->model = model_new(p, &usual);
	view.filter = &c->filter;
	c->answer = answer_new(c->model, &view);
}

static void end(struct case_of *c)
{
	answer_free(c->answer);
	model_free(c->model);
	filter_free(&c->filter);
	profile_free(c->profile);
}

static void add(struct pattern_list *list, const char *text)
{
	struct error e = {0};

	assert_int_equal(pattern_add(list, text, &e), 0);
}

static void assert_part(const struct case_of *c, enum filter_verdict v, uint64_t bytes,
			uint64_t blocks)
{
	assert_int_equal(c->answer->parts[v].amount.bytes, bytes);
	assert_int_equal(c->answer->parts[v].amount.blocks, blocks);
}

/* Whatever is asked: kept and left out are all. */
static void assert_adds_up(const struct case_of *c)
{
	struct amount sum = {0};

	for (unsigned i = 0; i < FILTER_VERDICTS; i++)
		sum = amount_plus(sum, c->answer->parts[i].amount);
	assert_int_equal(sum.bytes, c->answer->whole.bytes);
	assert_int_equal(sum.blocks, c->answer->whole.blocks);
}

static void without_a_filter_everything_is_kept(void **state)
{
	struct case_of c = {0};

	(void)state;
	ask(&c, sample_tables(), (struct view){.figure = FIGURE_PEAK});
	assert_part(&c, FILTER_KEPT, 1000, 10);
	assert_int_equal(c.answer->counted.bytes, 1000);
	assert_adds_up(&c);
	end(&c);
}

static void a_function_anywhere_on_the_stack_is_enough(void **state)
{
	struct case_of c = {0};

	(void)state;
	add(&c.filter.include, "load");
	ask(&c, sample_tables(), (struct view){.figure = FIGURE_PEAK});
	assert_part(&c, FILTER_KEPT, 700, 7);
	assert_part(&c, FILTER_FUNCTION, 300, 3);
	assert_adds_up(&c);
	end(&c);
}

static void an_excluded_function_wins_over_an_included_one(void **state)
{
	struct case_of c = {0};

	(void)state;
	add(&c.filter.include, "main");
	add(&c.filter.exclude, "table_*");
	ask(&c, sample_tables(), (struct view){.figure = FIGURE_PEAK});
	assert_part(&c, FILTER_KEPT, 50, 1);
	assert_part(&c, FILTER_FUNCTION, 950, 9);
	end(&c);
}

/* main calls a library, which calls back; all is started by the C library. */
static struct profile *sample_modules(void)
{
	struct profile *p = sample_new();
	uint32_t libc = sample_module(p, "/lib/libc.so.6");
	uint32_t lib = sample_module(p, "/lib/libjson.so.2");
	uint32_t start = sample_node_in(
		p, 0, libc, sample_frame(p, "__libc_start_main", "/libc/start.c", 1, 0));
	uint32_t root = sample_node(p, start, "main", 1);
	uint32_t parse =
		sample_node_in(p, root, lib, sample_frame(p, "json_parse", "/json.c", 2, 0));
	uint32_t getline_node =
		sample_node_in(p, root, libc, sample_frame(p, "getline", "/libc/getline.c", 3, 0));

	sample_site(p, root, 100, 1);
	sample_site(p, parse, 20, 2);
	sample_site(p, getline_node, 3, 3);
	return p;
}

static void a_module_is_asked_for_anywhere_but_where_things_start(void **state)
{
	struct case_of json = {0}, libc = {0}, others = {0};

	(void)state;
	add(&json.filter.modules, "libjson");
	ask(&json, sample_modules(), (struct view){.figure = FIGURE_PEAK});
	assert_part(&json, FILTER_KEPT, 20, 2);
	assert_part(&json, FILTER_MODULE, 103, 4);
	end(&json);

	add(&libc.filter.modules, "libc.so.6");
	ask(&libc, sample_modules(), (struct view){.figure = FIGURE_PEAK});
	assert_part(&libc, FILTER_KEPT, 3, 3);
	end(&libc);

	add(&others.filter.no_modules, "libc*");
	ask(&others, sample_modules(), (struct view){.figure = FIGURE_PEAK});
	assert_part(&others, FILTER_KEPT, 120, 3);
	assert_part(&others, FILTER_MODULE, 3, 3);
	end(&others);
}

static void without_a_trace_stacks_of_mixed_sizes_count_whole(void **state)
{
	struct profile *p = sample_new();
	struct case_of c = {0};

	(void)state;
	sample_site(p, sample_node(p, 0, "small", 1), 80, 10);
	sample_site(p, sample_node(p, 0, "fitting", 2), 640, 10);
	struct profile_site *both = sample_site(p, sample_node(p, 0, "both", 3), 500, 10);
	both->size_min = 10;
	both->size_max = 100;
	sample_site(p, sample_node(p, 0, "large", 4), 4096, 1);
	c.filter.size_min = 64;
	c.filter.size_max = 128;
	c.filter.has_size_max = true;
	ask(&c, p, (struct view){.figure = FIGURE_PEAK});
	assert_part(&c, FILTER_KEPT, 640 + 500, 20);
	assert_part(&c, FILTER_SIZE, 80 + 4096, 11);
	assert_int_equal(c.answer->mixed.amount.bytes, 500);
	assert_int_equal(c.answer->mixed.amount.blocks, 10);
	assert_int_equal(c.answer->mixed.sites, 1);
	assert_false(c.answer->sizes_traced);
	assert_adds_up(&c);
	end(&c);
}

/* Adds a site whose blocks had all sizes from 16 to 4,096 at some time. */
static void add_mixed(struct profile *p, const char *name, uint64_t bytes, uint64_t blocks)
{
	struct profile_site *site = sample_site(p, sample_node(p, 0, name, 1), bytes, blocks);

	site->size_min = 16;
	site->size_max = 4096;
}

static void sums_tell_sizes_where_they_can(void **state)
{
	struct profile *p = sample_new();
	struct case_of c = {0};

	(void)state;
	add_mixed(p, "vector", 4096, 1); /* the one block left has all the bytes */
	add_mixed(p, "small", 900, 1);
	add_mixed(p, "all_large", 2 * 4096 - 10, 2);
	add_mixed(p, "no_large", 1000, 9);
	add_mixed(p, "unknown", 2000, 2);
	c.filter.size_min = 1000;
	ask(&c, p, (struct view){.figure = FIGURE_PEAK});
	assert_part(&c, FILTER_KEPT, 4096 + 2 * 4096 - 10 + 2000, 5);
	assert_part(&c, FILTER_SIZE, 900 + 1000, 10);
	assert_int_equal(c.answer->mixed.amount.bytes, 2000);
	assert_int_equal(c.answer->mixed.sites, 1);
	assert_adds_up(&c);
	end(&c);
}

static void growth_is_divided_into_what_grew_and_what_shrank(void **state)
{
	static const struct profile_change changes[] = {
		{0, 0, 100, 1}, {0, 1, 70, 7}, {1, 0, 300, 2}, {1, 1, 10, 9}, {1, 2, 0, 1}};
	struct profile *p = sample_new();
	struct case_of c = {0};
	struct view view = {
		.figure = FIGURE_GROWTH,
		.from = {.kind = MOMENT_POINT, .point = 0},
		.at = {.kind = MOMENT_POINT, .point = 1},
	};

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		sample_site(p, sample_node(p, 0, "f", i + 1), 1000, 10);
	*vec_push(&p->points) = (struct profile_point){.live_bytes = 170, .live_blocks = 8};
	*vec_push(&p->points) = (struct profile_point){.live_bytes = 310, .live_blocks = 12};
	for (unsigned i = 0; i < 5; i++)
		*vec_push(&p->changes) = changes[i];
	ask(&c, p, view);
	assert_int_equal(c.answer->amounts[0].bytes, 200);
	assert_int_equal(c.answer->amounts[1].bytes, 0);
	assert_int_equal(c.answer->shrunk[1].bytes, 60);
	assert_int_equal((int64_t)c.answer->shrunk[1].blocks, -2);
	assert_int_equal(c.answer->amounts[2].blocks, 1);
	assert_int_equal((int64_t)c.answer->whole.bytes, 140);
	assert_int_equal((int64_t)c.answer->whole.blocks, 4);
	assert_int_equal((int64_t)c.answer->counted.bytes, 140);
	assert_adds_up(&c);
	end(&c);
}

static void threads_are_found_by_name_or_number(void **state)
{
	struct profile *p = sample_new();
	struct filter name = {0}, number = {0}, all = {0};

	(void)state;
	*vec_push(&p->threads) = (struct profile_thread){
		.tid = 7, .serial = 1, .name = profile_add_string(p, "main")};
	*vec_push(&p->threads) = (struct profile_thread){
		.tid = 8, .serial = 2, .name = profile_add_string(p, "worker-1")};
	add(&name.threads, "worker-*");
	add(&number.threads, "7");
	assert_false(filter_has_thread(&name, p, &p->threads.at[0]));
	assert_true(filter_has_thread(&name, p, &p->threads.at[1]));
	assert_true(filter_has_thread(&number, p, &p->threads.at[0]));
	assert_false(answer_is_possible(p, &name, FIGURE_LIVE));
	assert_true(answer_is_possible(p, &all, FIGURE_PEAK));
	add(&name.threads, "main");
	assert_true(answer_is_possible(p, &name, FIGURE_PEAK));
	filter_free(&name);
	filter_free(&number);
	profile_free(p);
}

/* The first site is the first thread's alone, the second is shared, 100 and 150 of its bytes. */
static void threads_have_their_shares_of_sites(void **state)
{
	struct profile *p = sample_new();
	struct case_of c = {0};

	(void)state;
	for (uint32_t i = 1; i <= 2; i++)
		*vec_push(&p->threads) =
			(struct profile_thread){.tid = 6 + i,
						.serial = i,
						.name = profile_add_string(p, i == 1 ? "a" : "b")};
	sample_site(p, sample_node(p, 0, "alone", 1), 30, 3)->thread = 1;
	sample_site(p, sample_node(p, 0, "shared", 2), 250, 5);
	for (uint32_t i = 1; i <= 2; i++)
		*vec_push(&p->parts) = (struct profile_part){.site = 1,
							     .thread = i,
							     .at_peak_bytes = 50 + 50 * i,
							     .at_peak_blocks = i + 1};
	add(&c.filter.threads, "b");
	ask(&c, p, (struct view){.figure = FIGURE_PEAK});
	assert_part(&c, FILTER_KEPT, 150, 3);
	assert_part(&c, FILTER_THREAD, 130, 5);
	assert_int_equal(c.answer->parts[FILTER_THREAD].sites, 2);
	assert_int_equal(c.answer->whole.bytes, 280);
	assert_adds_up(&c);
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_filter_everything_is_kept),
		cmocka_unit_test(a_function_anywhere_on_the_stack_is_enough),
		cmocka_unit_test(an_excluded_function_wins_over_an_included_one),
		cmocka_unit_test(a_module_is_asked_for_anywhere_but_where_things_start),
		cmocka_unit_test(without_a_trace_stacks_of_mixed_sizes_count_whole),
		cmocka_unit_test(sums_tell_sizes_where_they_can),
		cmocka_unit_test(growth_is_divided_into_what_grew_and_what_shrank),
		cmocka_unit_test(threads_are_found_by_name_or_number),
		cmocka_unit_test(threads_have_their_shares_of_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
