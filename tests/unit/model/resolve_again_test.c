/* resolve_again_test.c -- names looked up again, by many threads, from perf's map; the outcome.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "addresses.h"
#include "model/resolve.h"

#define SECOND_NS UINT64_C(1000000000)

__attribute__((noinline)) static int some_function(volatile int *x)
{
	for (int i = 0; i < 10; i++)
		*x += i * *x;
	return *x;
}

/* ---- again ----------------------------------------------------------------------------------- */

/* One node in some_function that is known as `function` in `file` already. */
static struct profile *make_known(const char *function, const char *file, uint32_t line)
{
	struct profile *p = profile_new();
	uint32_t module = addresses_add_module(p, addresses_own_path(), addresses_own_bias());
	struct profile_frame frame = {.line = line};

	frame.function = profile_add_string(p, function);
	frame.file = profile_add_string(p, file);
	*vec_push(&p->frames) = frame;
	addresses_add_node(p, module, addresses_address_of(some_function) + 4, false);
	p->nodes.at[1].frames = 1;
	p->resolved = true;
	return p;
}

static void resolve_again(struct profile *p, enum resolve_scope scope)
{
	const struct resolve_options options = {.scope = scope};
	struct error e = {0};

	assert_int_equal(resolve_profile(p, &options, NULL), 0);
	assert_int_equal(profile_check(p, &e), 0);
}

static void a_line_takes_the_place_of_a_bare_name(void **state)
{
	struct profile *p = make_known("exported", "", 0);

	(void)state;
	resolve_again(p, RESOLVE_BETTER);
	assert_string_equal(addresses_function_at(p, 1), "some_function");
	assert_true(p->frames.at[p->nodes.at[1].frames].line > 0);
	assert_int_equal(p->frames.count, 2); /* what was replaced is gone */
	profile_free(p);
}

static void what_is_known_already_is_left_alone_unless_asked(void **state)
{
	struct profile *p = make_known("exported", "", 0);

	(void)state;
	resolve_again(p, RESOLVE_MISSING);
	assert_string_equal(addresses_function_at(p, 1), "exported");
	profile_free(p);
}

/* A module at another place: no line and no name is found there. */
static void nothing_does_not_take_the_place_of_something(void **state)
{
	struct profile *p = make_known("kept", "kept.c", 7);

	(void)state;
	p->modules.at[1].bias += 0x10000000;
	resolve_again(p, RESOLVE_BETTER);
	assert_string_equal(addresses_function_at(p, 1), "kept");
	resolve_again(p, RESOLVE_ALL);
	assert_string_equal(addresses_function_at(p, 1), "kept");
	assert_int_equal(p->frames.count, 2);
	profile_free(p);
}

/* The vdso has names and never lines. */
static void a_bare_name_takes_the_place_of_a_line_only_by_force(void **state)
{
	struct profile *p = make_known("kept", "kept.c", 7);
	struct symbol_module *vdso = symbol_open_vdso(NULL, 0, NULL);
	const struct symbol_frame *frames;
	uint64_t at = 0;

	(void)state;
	while (vdso && at < 0x4000 && symbol_find(vdso, at, &frames) == 0)
		at += 16;
	symbol_close(vdso);
	if (at >= 0x4000 || !vdso)
		skip();
	p->modules.at[1] = (struct profile_module){.path = profile_add_string(p, "[vdso]")};
	p->nodes.at[1].pc = at + 1;
	resolve_again(p, RESOLVE_BETTER);
	assert_string_equal(addresses_function_at(p, 1), "kept");
	resolve_again(p, RESOLVE_ALL);
	assert_string_not_equal(addresses_function_at(p, 1), "kept");
	assert_string_not_equal(addresses_function_at(p, 1), "");
	profile_free(p);
}

/* ---- threads --------------------------------------------------------------------------------- */

static int add_code(struct dl_phdr_info *info, size_t size, void *profile)
{
	struct profile *p = profile;
	const char *path = *info->dlpi_name ? info->dlpi_name : addresses_own_path();
	uint32_t module = addresses_add_module(p, path, info->dlpi_addr);

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		for (uint64_t at = 0;
		     h->p_type == PT_LOAD && (h->p_flags & PF_X) && at < h->p_memsz && at < 0x80000;
		     at += 48)
			addresses_add_node(p, module, info->dlpi_addr + h->p_vaddr + at, true);
	}
	return 0;
}

/* Addresses all over this program and its libraries. */
static struct profile *make_large(void)
{
	struct profile *p = profile_new();

	dl_iterate_phdr(add_code, p);
	return p;
}

static void the_result_does_not_depend_on_the_number_of_threads(void **state)
{
	const struct resolve_options one = {.threads = 1}, many = {.threads = 9};
	struct profile *a = make_large(), *b = make_large();

	(void)state;
	assert_int_equal(resolve_profile(a, &one, NULL), resolve_profile(b, &many, NULL));
	assert_true(a->frames.count > 1000);
	assert_int_equal(a->frames.count, b->frames.count);
	assert_memory_equal(a->frames.at, b->frames.at, a->frames.count * sizeof(*a->frames.at));
	assert_int_equal(a->strings.count, b->strings.count);
	assert_memory_equal(a->strings.at, b->strings.at, a->strings.count);
	for (size_t i = 0; i < a->nodes.count; i++)
		assert_int_equal(a->nodes.at[i].frames, b->nodes.at[i].frames);
	profile_free(a);
	profile_free(b);
}

struct seen {
	size_t calls, done, total;
};

static void note_progress(void *context, size_t done, size_t total)
{
	struct seen *seen = context;

	assert_true(done >= seen->done && done <= total);
	*seen = (struct seen){seen->calls + 1, done, total};
}

static void progress_goes_up_to_the_whole(void **state)
{
	struct seen seen = {0};
	const struct resolve_options options = {
		.threads = 3, .progress = note_progress, .context = &seen};
	struct profile *p = make_large();

	(void)state;
	addresses_add_node(p, addresses_add_module(p, "/nowhere/libgone.so", 0), 0x1000, false);
	(void)resolve_profile(p, &options, NULL);
	assert_true(seen.calls > 3);
	assert_true(seen.total > 1000);
	assert_int_equal(seen.done, seen.total);
	profile_free(p);
}

/* ---- what is said about it ------------------------------------------------------------------- */

static void the_outcome_tells_of_each_module(void **state)
{
	struct profile *p = profile_new();
	const struct resolve_options usual = {0};
	struct resolve_outcome outcome = {0};
	uint32_t gone = addresses_add_module(p, "/nowhere/libgone.so", 0);
	uint32_t here = addresses_add_module(p, addresses_own_path(), addresses_own_bias());

	(void)state;
	addresses_add_node(p, gone, 0x1000, false);
	addresses_add_node(p, gone, 0x2000, false);
	addresses_add_node(p, here, addresses_address_of(some_function) + 4, false);
	addresses_add_node(p, here, addresses_address_of(some_function) + 4, false);
	assert_int_equal(resolve_profile(p, &usual, &outcome), 1);
	assert_int_equal(outcome.missing, 1);
	assert_int_equal(outcome.modules.count, 2);
	const struct resolve_module *m = outcome.modules.at;
	const struct resolve_module *missing = strstr(m[0].path, "libgone") ? &m[0] : &m[1];
	const struct resolve_module *found = missing == &m[0] ? &m[1] : &m[0];
	assert_string_equal(missing->path, "/nowhere/libgone.so");
	assert_non_null(strstr(missing->error, "No such file"));
	assert_int_equal(missing->addresses, 2);
	assert_int_equal(missing->named, 0);
	assert_string_equal(found->path, addresses_own_path());
	assert_string_equal(found->object, addresses_own_path());
	assert_null(found->error);
	assert_true(found->has_dwarf);
	assert_int_equal(found->addresses, 1);
	assert_int_equal(found->named, 1);
	assert_int_equal(found->lined, 1);
	resolve_outcome_free(&outcome);
	profile_free(p);
}

/* ---- generated code -------------------------------------------------------------------------- */

static char directory[] = "/tmp/midden-perfmap-XXXXXX";
static uint64_t made_ns; /* when the map was made: tests under sanitizers take their time */

static int make_map(void **state)
{
	char path[256];

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/perf-4711.map", directory);
	FILE *file = fopen(path, "we");
	if (!file)
		return -1;
	made_ns = (uint64_t)time(NULL) * SECOND_NS;
	(void)fputs("7f0000 100 LazyCompile:*sum /app/main.js:12\n", file);
	return fclose(file);
}

static int remove_map(void **state)
{
	char path[256];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/perf-4711.map", directory);
	return unlink(path) == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static struct profile *make_generated(const char *host)
{
	struct profile *p = profile_new();

	p->run.pid = 4711;
	p->run.host = profile_add_string(p, host);
	p->run.start_unix_ns = made_ns - 10 * SECOND_NS;
	p->run.duration_ns = 20 * SECOND_NS;
	addresses_add_node(p, 0, 0x7f0040, false);
	addresses_add_node(p, 0, 0x7f0100, false); /* a return address: the call is inside */
	addresses_add_node(p, 0, 0x7f0100, true);
	return p;
}

static const char *own_host(void)
{
	static char host[256];

	(void)gethostname(host, sizeof(host) - 1);
	return host;
}

static void generated_code_gets_the_names_left_for_perf(void **state)
{
	const struct resolve_options options = {.perfmap_dir = directory};
	struct resolve_outcome outcome = {0};
	struct profile *p = make_generated(own_host());

	(void)state;
	assert_int_equal(resolve_profile(p, &options, &outcome), 0);
	assert_string_equal(addresses_function_at(p, 1), "LazyCompile:*sum /app/main.js:12");
	assert_string_equal(addresses_function_at(p, 2), "LazyCompile:*sum /app/main.js:12");
	assert_int_equal(p->nodes.at[3].frames, 0);
	assert_int_equal(outcome.modules.count, 1);
	assert_string_equal(outcome.modules.at[0].path, "");
	assert_int_equal(outcome.modules.at[0].addresses, 3);
	assert_int_equal(outcome.modules.at[0].named, 2);
	resolve_outcome_free(&outcome);
	profile_free(p);
}

static void the_map_of_another_host_is_not_read(void **state)
{
	const struct resolve_options options = {.perfmap_dir = directory};
	struct profile *p = make_generated("elsewhere.example");

	(void)state;
	assert_int_equal(resolve_profile(p, &options, NULL), 0);
	assert_int_equal(p->nodes.at[1].frames, 0);
	profile_free(p);
}

int main(void)
{
	volatile int x = 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_takes_the_place_of_a_bare_name),
		cmocka_unit_test(what_is_known_already_is_left_alone_unless_asked),
		cmocka_unit_test(nothing_does_not_take_the_place_of_something),
		cmocka_unit_test(a_bare_name_takes_the_place_of_a_line_only_by_force),
		cmocka_unit_test(the_result_does_not_depend_on_the_number_of_threads),
		cmocka_unit_test(progress_goes_up_to_the_whole),
		cmocka_unit_test(the_outcome_tells_of_each_module),
		cmocka_unit_test(generated_code_gets_the_names_left_for_perf),
		cmocka_unit_test(the_map_of_another_host_is_not_read),
	};

	(void)some_function(&x);
	return cmocka_run_group_tests(tests, make_map, remove_map);
}
