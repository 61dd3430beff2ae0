/* debugfile_test.c -- separate debug files, symbol tables, the vdso and broken files.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <sys/stat.h>

/* Leaves `whole`, `whole.debug` (only debug information), `bare` (stripped, with a link to it); the
 * address. */
static uint64_t build_stripped(const char *flags)
{
	work_write();
	fixture_must_run("rm -rf .build-id .debug whole* bare* other*");
	fixture_must_run("cc -O2 -g %s work.c -o whole", flags);
	fixture_must_run("objcopy --only-keep-debug whole whole.debug");
	fixture_must_run("objcopy --strip-debug --add-gnu-debuglink=whole.debug whole bare");
	return fixture_address("whole", "mark");
}

static void expect_name_only(struct symbol_module *m, uint64_t address, const char *name)
{
	const struct symbol_frame *frames;

	assert_int_equal(symbol_find(m, address, &frames), 1);
	assert_string_equal(frames[0].function, name);
	assert_null(frames[0].file);
	assert_int_equal(frames[0].line, 0);
}

static struct symbol_module *open_with_dir(const char *name, const char *dir)
{
	const char *const dirs[] = {dir, NULL};
	struct symbol_options options = {.debug_dirs = dirs};
	struct error e = {0};
	struct symbol_module *m = symbol_open(fixture_path(name), NULL, 0, &options, &e);

	if (!m)
		fail_msg("%s", e.text);
	return m;
}

/* ---- separate debug files -------------------------------------------------------------------- */

static void given_a_debuglink_the_file_beside_is_used(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=sha1");
	struct symbol_module *m = fixture_open("bare");

	(void)state;
	work_expect_lines(m, mark);
	symbol_close(m);
}

static void given_a_debuglink_the_file_in_dot_debug_is_used(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=sha1");

	(void)state;
	fixture_must_run("mkdir .debug && mv whole.debug .debug/");
	struct symbol_module *m = fixture_open("bare");
	work_expect_lines(m, mark);
	symbol_close(m);
}

static void given_a_debuglink_the_file_below_a_debug_directory_is_used(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=sha1");
	char home[4096];

	(void)state;
	assert_non_null(realpath(fixture_dir, home));
	fixture_must_run("mkdir -p other/%s && mv whole.debug other/%s/", home, home);
	struct symbol_module *m = open_with_dir("bare", fixture_path("other"));
	work_expect_lines(m, mark);
	symbol_close(m);
}

static void without_a_build_id_the_checksum_must_match(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=none");
	struct symbol_module *m = fixture_open("bare");

	(void)state;
	work_expect_lines(m, mark);
	symbol_close(m);
	fixture_must_run("printf x >>whole.debug");
	m = fixture_open("bare");
	expect_name_only(m, mark, "outer");
	symbol_close(m);
}

static void a_debuglink_to_another_build_is_not_followed(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=0x11111111");

	(void)state;
	fixture_must_run("cc -O2 -g -Wl,--build-id=0x22222222 work.c -o other");
	fixture_must_run("objcopy --only-keep-debug other whole.debug");
	struct symbol_module *m = fixture_open("bare");
	expect_name_only(m, mark, "outer");
	symbol_close(m);
}

static void the_build_id_finds_the_file_below_a_debug_directory(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=sha1");
	char hex[65];
	uint8_t id[32];

	(void)state;
	(void)fixture_build_id("bare", hex, id);
	fixture_must_run("mkdir -p store/.build-id/%.2s", hex);
	fixture_must_run("mv whole.debug store/.build-id/%.2s/%s.debug", hex, hex + 2);
	struct symbol_module *m = fixture_open("bare");
	expect_name_only(m, mark, "outer");
	symbol_close(m);
	m = open_with_dir("bare", fixture_path("store"));
	work_expect_lines(m, mark);
	symbol_close(m);
}

static void a_file_under_the_wrong_build_id_is_not_used(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=0x1234567890abcdef");

	(void)state;
	fixture_must_run(
		"cc -O2 -g -Wl,--build-id=0x9999999999999999 work.c -o other && rm whole.debug");
	fixture_must_run(
		"mkdir -p wrong/.build-id/12 && mv other wrong/.build-id/12/34567890abcdef.debug");
	struct symbol_module *m = open_with_dir("bare", fixture_path("wrong"));
	expect_name_only(m, mark, "outer");
	symbol_close(m);
}

static void a_sysroot_goes_before_the_path(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=sha1");
	struct symbol_options options = {.sysroot = fixture_dir};
	struct error e = {0};
	char hex[65];
	uint8_t id[32];

	(void)state;
	(void)fixture_build_id("bare", hex, id);
	fixture_must_run("mkdir -p usr/lib/debug/.build-id/%.2s", hex);
	fixture_must_run("mv whole.debug usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	struct symbol_module *m = symbol_open("/bare", NULL, 0, &options, &e);
	assert_non_null(m);
	work_expect_lines(m, mark);
	symbol_close(m);
}

static void a_file_with_another_build_id_is_refused(void **state)
{
	struct error e = {0};
	char hex[65];
	uint8_t id[32];

	(void)state;
	(void)build_stripped("-Wl,--build-id=sha1");
	size_t bytes = fixture_build_id("whole", hex, id);
	assert_int_equal(bytes, 20);
	struct symbol_module *m = symbol_open(fixture_path("whole"), id, bytes, NULL, &e);
	assert_non_null(m);
	symbol_close(m);
	assert_null(symbol_open(fixture_path("whole"), id, bytes - 1, NULL, NULL));
	id[19] ^= 1;
	assert_null(symbol_open(fixture_path("whole"), id, bytes, NULL, &e));
	assert_non_null(strstr(e.text, "build-id"));
	fixture_must_run("cc -O2 -Wl,--build-id=none work.c -o other");
	assert_null(symbol_open(fixture_path("other"), id, bytes, NULL, NULL));
}

/* What dwz moves into a file of its own is found through the user's directories. DWARF 4, since dwz
 * does not know all of Clang's DWARF 5. */
static void names_shared_between_debug_files_are_followed(void **state)
{
	uint64_t mark = build_stripped("-gdwarf-4 -Wl,--build-id=sha1");
	char hex[65];
	uint8_t id[32];

	(void)state;
	if (fixture_run("dwz --version") != 0)
		skip();
	fixture_must_run(
		"cp whole other && dwz -m shared.debug -M /nowhere/shared.debug whole other");
	(void)fixture_build_id("shared.debug", hex, id);
	fixture_must_run("mkdir -p alt/.build-id/%.2s", hex);
	fixture_must_run("mv shared.debug alt/.build-id/%.2s/%s.debug", hex, hex + 2);
	struct symbol_module *m = open_with_dir("whole", fixture_path("alt"));
	work_expect_lines(m, mark);
	symbol_close(m);
}

/* libdw looks at the variable when the process starts, so this program is started again: see main.
 */
static void a_server_is_asked_only_if_the_user_names_one(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=sha1");
	char hex[65], self[4096] = {0};
	uint8_t id[32];

	(void)state;
	if (fixture_run("ldconfig -p | grep libdebuginfod.so.1") != 0)
		skip();
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	(void)fixture_build_id("bare", hex, id);
	fixture_must_run("mkdir -p server/buildid/%s && mv whole.debug server/buildid/%s/debuginfo",
			 hex, hex);
	fixture_must_run("DEBUGINFOD_CACHE_PATH=$PWD/cache DEBUGINFOD_URLS=file://$PWD/server/ "
			 "%s bare %llx | grep -x inner",
			 self, (unsigned long long)mark);
	fixture_must_run("env -u DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH=$PWD/cache "
			 "%s bare %llx | grep -x outer",
			 self, (unsigned long long)mark);
}

/* ---- symbol tables --------------------------------------------------------------------------- */

/* `label` is inside `bounded`; `loose` and `looser` have no size; $x is a mark, not a function. */
static const char table_s[] = "	.text\n"
			      "	.globl bounded\n"
			      "	.type bounded, %function\n"
			      "bounded:\n"
			      "	.zero 8\n"
			      "	.globl label\n"
			      "label:\n"
			      "	.zero 8\n"
			      "	.size bounded, . - bounded\n"
			      "	.zero 16\n"
			      "	.globl loose\n"
			      "loose:\n"
			      "	.zero 16\n"
			      "$x:\n"
			      "	.zero 16\n"
			      "	.globl looser\n"
			      "looser:\n"
			      "	.zero 16\n"
			      "	.section .text.other, \"ax\", %progbits\n"
			      "	.zero 16\n"
			      "	.section .note.GNU-stack, \"\", %progbits\n";

static void expect_nothing(struct symbol_module *m, uint64_t address)
{
	const struct symbol_frame *frames;

	assert_int_equal(symbol_find(m, address, &frames), 0);
}

static void build_table(void)
{
	fixture_write_text("table.s", table_s);
	fixture_must_run("cc -shared -nostdlib table.s -o table.so");
}

static void a_symbol_ends_where_its_size_says(void **state)
{
	(void)state;
	build_table();
	uint64_t bounded = fixture_address("table.so", "bounded");
	struct symbol_module *m = fixture_open("table.so");
	expect_name_only(m, bounded, "bounded");
	expect_name_only(m, bounded + 8, "bounded");
	expect_name_only(m, bounded + 15, "bounded");
	expect_nothing(m, bounded + 16);
	expect_nothing(m, bounded - 1);
	symbol_close(m);
}

static void a_symbol_without_a_size_reaches_to_the_next(void **state)
{
	(void)state;
	build_table();
	uint64_t loose = fixture_address("table.so", "loose");
	struct symbol_module *m = fixture_open("table.so");
	expect_name_only(m, loose, "loose");
	expect_name_only(m, loose + 31, "loose");
	expect_name_only(m, loose + 32, "looser");
	symbol_close(m);
}

static void a_stripped_library_still_has_its_dynamic_symbols(void **state)
{
	const struct symbol_frame *frames;

	(void)state;
	work_write();
	fixture_must_run("cc -O2 -g -shared -fPIC work.c -o work.so");
	uint64_t outer = fixture_address("work.so", "outer");
	uint64_t size = fixture_nm("work.so", "outer", 1);
	fixture_must_run("strip -s work.so");
	struct symbol_module *m = fixture_open("work.so");
	expect_name_only(m, outer + size - 1, "outer");
	assert_true(symbol_find(m, outer + size, &frames) == 0 ||
		    strcmp(frames[0].function, "outer") != 0);
	symbol_close(m);
}

static void of_two_names_the_exported_one_is_shown(void **state)
{
	(void)state;
	fixture_write_text("alias.c",
			   "__attribute__((noinline)) int __take_internal(int x)\n"
			   "{\n	return x * 3;\n}\n"
			   "int take(int x) __attribute__((alias(\"__take_internal\")));\n");
	fixture_must_run("cc -O2 -shared -fPIC alias.c -o alias.so");
	struct symbol_module *m = fixture_open("alias.so");
	expect_name_only(m, fixture_address("alias.so", "take"), "take");
	symbol_close(m);
}

static void mini_debug_info_names_what_is_not_exported(void **state)
{
	uint64_t mark = build_stripped("-Wl,--build-id=sha1");

	(void)state;
	if (fixture_run("command -v xz") != 0)
		skip();
	fixture_must_run("objcopy -S --keep-symbol=outer whole mini && xz -k mini");
	fixture_must_run("strip -s whole -o packed && rm whole.debug");
	fixture_must_run("objcopy --add-section .gnu_debugdata=mini.xz packed");
	struct symbol_module *m = fixture_open("packed");
	expect_name_only(m, mark, "outer");
	symbol_close(m);
	fixture_must_run("printf rubbish >mini.xz && strip -s whole -o spoilt");
	fixture_must_run("objcopy --add-section .gnu_debugdata=mini.xz spoilt");
	m = fixture_open("spoilt");
	expect_nothing(m, mark);
	symbol_close(m);
}

static bool has_frame_named(struct symbol_module *m, uint64_t address, const char *end)
{
	const struct symbol_frame *frames;
	size_t count = symbol_find(m, address, &frames);

	return count && frames[0].function && strstr(frames[0].function, end);
}

static void the_vdso_names_its_clock(void **state)
{
	struct error e = {0};
	struct symbol_module *m = symbol_open_vdso(NULL, 0, &e);
	bool found = false;

	(void)state;
	if (!m)
		skip();
	/* __vdso_clock_gettime on x86_64, __kernel_clock_gettime on aarch64. */
	for (uint64_t address = 0; address < 0x4000 && !found; address += 16)
		found = has_frame_named(m, address, "clock_gettime");
	assert_true(found);
	symbol_close(m);
}

/* ---- broken files ---------------------------------------------------------------------------- */

static void expect_error(const char *path, const char *words)
{
	struct error e = {0};

	assert_null(symbol_open(path, NULL, 0, NULL, &e));
	assert_true(e.set);
	assert_non_null(strstr(e.text, path));
	assert_non_null(strstr(e.text, words));
}

static void what_is_no_elf_file_is_an_error(void **state)
{
	(void)state;
	expect_error(fixture_path("missing"), "No such file");
	expect_error(fixture_dir, "not a regular file");
	assert_int_equal(mkfifo(fixture_path("fifo"), 0600), 0);
	expect_error(fixture_path("fifo"), "not a regular file");
	fixture_write_text("empty", "");
	expect_error(fixture_path("empty"), "");
	fixture_write_text("text",
			   "#!/bin/sh\necho no program, but longer than an ELF header is\n");
	expect_error(fixture_path("text"), "not an ELF file");
	fixture_write("head", "\177ELF\2\1\1\0", 8);
	expect_error(fixture_path("head"), "");
}

static void an_object_file_is_an_error(void **state)
{
	(void)state;
	work_write();
	fixture_must_run("cc -c -g work.c -o work.o");
	expect_error(fixture_path("work.o"), "neither a program nor a shared object");
}

/* Asks for addresses all over a file that may be anything; that it comes back is the point. */
static void exercise(const char *name, uint64_t mark)
{
	const struct symbol_frame *frames;
	struct symbol_module *m = symbol_open(fixture_path(name), NULL, 0, NULL, NULL);

	if (!m)
		return;
	for (uint64_t address = mark - 64; address < mark + 64; address += 4)
		for (size_t i = symbol_find(m, address, &frames); i-- > 0;)
			assert_true(!frames[i].function || strlen(frames[i].function) < 1000000);
	symbol_close(m);
}

static void a_cut_off_file_is_put_up_with(void **state)
{
	uint64_t mark = build_stripped("");
	size_t bytes;
	char *data = fixture_read("whole", &bytes);

	(void)state;
	for (size_t length = 0; length < bytes; length += bytes / 97 + 1) {
		fixture_write("cut", data, length);
		exercise("cut", mark);
	}
	free(data);
}

static void a_damaged_file_is_put_up_with(void **state)
{
	uint64_t mark = build_stripped("");
	uint32_t seed = 3;
	size_t bytes;
	char *data = fixture_read("whole", &bytes);
	char *copy = mem_new(bytes, 1);

	(void)state;
	for (int round = 0; round < 400; round++) {
		memcpy(copy, data, bytes);
		for (int hit = 0; hit < 40; hit++) {
			seed = seed * 1664525u + 1013904223u;
			/* Behind the header, so that most of these files are opened at all. */
			copy[64 + (seed >> 4) % (bytes - 64)] = (char)(seed >> 3);
		}
		fixture_write("damaged", copy, bytes);
		exercise("damaged", mark);
	}
	free(copy);
	free(data);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_a_debuglink_the_file_beside_is_used),
		cmocka_unit_test(given_a_debuglink_the_file_in_dot_debug_is_used),
		cmocka_unit_test(given_a_debuglink_the_file_below_a_debug_directory_is_used),
		cmocka_unit_test(without_a_build_id_the_checksum_must_match),
		cmocka_unit_test(a_debuglink_to_another_build_is_not_followed),
		cmocka_unit_test(the_build_id_finds_the_file_below_a_debug_directory),
		cmocka_unit_test(a_file_under_the_wrong_build_id_is_not_used),
		cmocka_unit_test(a_sysroot_goes_before_the_path),
		cmocka_unit_test(a_file_with_another_build_id_is_refused),
		cmocka_unit_test(names_shared_between_debug_files_are_followed),
		cmocka_unit_test(a_server_is_asked_only_if_the_user_names_one),
		cmocka_unit_test(a_symbol_ends_where_its_size_says),
		cmocka_unit_test(a_symbol_without_a_size_reaches_to_the_next),
		cmocka_unit_test(a_stripped_library_still_has_its_dynamic_symbols),
		cmocka_unit_test(of_two_names_the_exported_one_is_shown),
		cmocka_unit_test(mini_debug_info_names_what_is_not_exported),
		cmocka_unit_test(the_vdso_names_its_clock),
		cmocka_unit_test(what_is_no_elf_file_is_an_error),
		cmocka_unit_test(an_object_file_is_an_error),
		cmocka_unit_test(a_cut_off_file_is_put_up_with),
		cmocka_unit_test(a_damaged_file_is_put_up_with),
	};

	if (argc == 3)
		return work_print_innermost(symbol_open(argv[1], NULL, 0, NULL, NULL), argv[2]);
	return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
