/* ahead_test.c -- modules are open before their names are wanted. Runs: as a unit test of the cli
 * room.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "../symbol/work.h"

#include <poll.h>

#include "../collect/producer.h"
#include "cli/ahead.h"

#define BIAS 0x10000000u

static uint8_t id[32];
static size_t id_bytes;
static uint64_t mark;
static char app[8192], other[8192]; /* their paths */

static struct collector *begin(void)
{
	char hex[65];

	work_write();
	fixture_must_run("cc -O2 -g -gz -Wl,--build-id=sha1 work.c -o app && cp app other");
	mark = fixture_address("app", "mark");
	id_bytes = fixture_build_id("app", hex, id);
	(void)snprintf(app, sizeof(app), "%s", fixture_path("app"));
	(void)snprintf(other, sizeof(other), "%s", fixture_path("other"));
	return producer_new_collector(0);
}

/* As the target does: all fields, then that they are there. */
static uint32_t add_module(struct collector *c, const char *path)
{
	uint32_t number = atomic_load(&c->map.header->modules_used) + 1;
	struct segment_module *m = &c->map.modules[number];

	m->path_offset = producer_put_text(c, 5000 * number, path);
	m->bias = BIAS;
	m->build_id_bytes = (uint32_t)id_bytes;
	memcpy(m->build_id, id, id_bytes);
	atomic_store(&m->ready, 1);
	atomic_store(&c->map.header->modules_used, number);
	return number;
}

static void add_place(struct collector *c, uint32_t module, uint64_t address)
{
	uint32_t place = atomic_load(&c->map.header->places_used) + 1;

	__atomic_store_n(&c->map.places[place].module, module, __ATOMIC_RELAXED);
	__atomic_store_n(&c->map.places[place].address, address, __ATOMIC_RELAXED);
	atomic_store(&c->map.header->places_used, place);
}

static bool has_mapped(const char *path)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool is_there = false;
	char line[8192];

	while (maps && !is_there && fgets(line, sizeof(line), maps))
		is_there = strstr(line, path) != NULL;
	if (maps)
		(void)fclose(maps);
	return is_there;
}

/* The thread may get little of a busy machine. */
static void wait_for(const char *path)
{
	for (int i = 0; i < 60000 && !has_mapped(path); i++)
		(void)poll(NULL, 0, 1);
	assert_true(has_mapped(path));
}

/* Whether it was open; it tells the same either way. */
static bool was_open(const struct ahead *a, const char *path)
{
	const struct symbol_options options = {.pool = ahead_get_pool(a)};
	struct symbol_files files;
	struct error e = {0};
	struct symbol_module *m = symbol_open(path, id, id_bytes, &options, &e);

	assert_non_null(m);
	work_expect_lines(m, mark);
	symbol_get_files(m, &files);
	symbol_close(m);
	return files.was_open;
}

static void end(struct ahead *a, struct collector *c)
{
	ahead_halt(a);
	ahead_wait(a);
	while (!ahead_free(a))
		(void)poll(NULL, 0, 1);
	collect_free(c);
}

static void what_stacks_have_been_in_is_open_in_the_end(void **state)
{
	struct collector *c = begin();
	struct ahead *a = ahead_new(c, app, true);

	(void)state;
	add_place(c, add_module(c, ""), BIAS + mark);
	wait_for(app);
	uint32_t second = add_module(c, other);
	for (uint64_t i = 0; i < 2000; i++)
		add_place(c, i % 7 ? second : 1, BIAS + mark + i);
	wait_for(other);
	ahead_halt(a);
	while (!ahead_wait(a))
		continue;
	assert_true(was_open(a, app));
	assert_true(was_open(a, other));
	end(a, c);
}

static void nothing_is_opened_before_a_moment_has_passed(void **state)
{
	struct collector *c = begin();

	(void)state;
	add_place(c, add_module(c, ""), BIAS + mark);
	struct ahead *a = ahead_new(c, app, true);
	ahead_halt(a);
	assert_false(was_open(a, app));
	end(a, c);
}

static void without_a_thread_the_pool_is_there_all_the_same(void **state)
{
	struct collector *c = begin();
	struct ahead *a = ahead_new(c, app, false);

	(void)state;
	add_place(c, add_module(c, ""), BIAS + mark);
	(void)poll(NULL, 0, 150);
	assert_false(was_open(a, app));
	assert_true(was_open(a, app));
	end(a, c);
}

static void places_that_make_no_sense_are_put_up_with(void **state)
{
	struct collector *c = begin();
	uint32_t module = add_module(c, ""), missing = add_module(c, "/nowhere/at/all");

	(void)state;
	c->map.modules[add_module(c, other)].build_id_bytes = UINT32_MAX;
	for (uint32_t i = 0; i < 5; i++) {
		add_place(c, i ? UINT32_MAX / i : 0, UINT64_MAX / (i + 1));
		add_place(c, module, UINT64_MAX - i);
		add_place(c, missing, i);
		add_place(c, missing + 1, BIAS + mark);
	}
	atomic_store(&c->map.header->places_used, UINT32_MAX);
	struct ahead *a = ahead_new(c, app, true);
	(void)poll(NULL, 0, 200);
	end(a, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stacks_have_been_in_is_open_in_the_end),
		cmocka_unit_test(nothing_is_opened_before_a_moment_has_passed),
		cmocka_unit_test(without_a_thread_the_pool_is_there_all_the_same),
		cmocka_unit_test(places_that_make_no_sense_are_put_up_with),
	};

	return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
