/* symbol_test.c -- addresses of freshly built programs to names and lines.
 * Runs: as a unit test of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

/* Line numbers below count from the first line of this text. `mark` is an address inside three
 * functions at once. */
static const char nested_c[] =
	"#define INLINE static inline __attribute__((always_inline))\n" /* 1 */
	"INLINE int inner(int x)\n"
	"{\n"
	"	__asm__ volatile(\".globl mark\\nmark:\\n\\tnop\" ::: \"memory\");\n" /* 4 */
	"	return x + 1;\n"
	"}\n"
	"INLINE int middle(int x)\n"
	"{\n"
	"	x *= 3;\n"
	"	return inner(x);\n" /* 10 */
	"}\n"
	"__attribute__((noinline)) int outer(int x)\n"
	"{\n"
	"	int y = x ^ 5;\n"
	"	return middle(y) * 7;\n" /* 15 */
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argv;\n"
	"	return outer(argc);\n"
	"}\n";

static void expect_frame(const struct symbol_frame *frame, const char *function, const char *file,
			 uint32_t line, bool inlined)
{
	assert_non_null(frame->function);
	assert_string_equal(frame->function, function);
	if (file) {
		assert_non_null(frame->file);
		assert_string_equal(frame->file, fixture_path(file));
	} else {
		assert_null(frame->file);
	}
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->inlined, inlined);
}

static void expect_nested_frames(struct symbol_module *m, uint64_t mark)
{
	const struct symbol_frame *frames;

	assert_int_equal(symbol_find(m, mark, &frames), 3);
	expect_frame(&frames[0], "inner", "nested.c", 4, true);
	expect_frame(&frames[1], "middle", "nested.c", 10, true);
	expect_frame(&frames[2], "outer", "nested.c", 15, false);
}

static void build_nested(const char *flags)
{
	fixture_write_text("nested.c", nested_c);
	fixture_must_run("cc -O2 %s nested.c -o nested", flags);
}

static void check_nested(const char *flags)
{
	build_nested(flags);
	struct symbol_module *m = fixture_open("nested");
	expect_nested_frames(m, fixture_address("nested", "mark"));
	symbol_close(m);
}

/* ---- DWARF ----------------------------------------------------------------------------------- */

/* The same with another compiler, where it is installed. */
static void check_nested_by_clang(const char *flags)
{
	fixture_write_text("nested.c", nested_c);
	fixture_must_run("clang -O2 %s nested.c -o nested", flags);
	struct symbol_module *m = fixture_open("nested");
	expect_nested_frames(m, fixture_address("nested", "mark"));
	symbol_close(m);
}

static void the_debug_information_of_clang_is_read_too(void **state)
{
	(void)state;
	if (fixture_run("clang --version") != 0)
		skip();
	check_nested_by_clang("-gdwarf-4");
	check_nested_by_clang("-gdwarf-5");
	check_nested_by_clang("-gdwarf-5 -gsplit-dwarf");
	check_nested_by_clang("-g -gz");
}

static void dwarf_4_gives_each_inlined_frame_its_line(void **state)
{
	(void)state;
	check_nested("-gdwarf-4");
}

static void dwarf_5_gives_each_inlined_frame_its_line(void **state)
{
	(void)state;
	check_nested("-gdwarf-5");
}

static void compressed_sections_are_unpacked(void **state)
{
	(void)state;
	check_nested("-g -gz=zlib");
	check_nested("-g -gz=zlib-gnu");
}

/* A stage of reading that elfutils may be too old for must cost lines, not the name. */
static void expect_outer_at_least(void)
{
	const struct symbol_frame *frames;
	struct symbol_module *m = fixture_open("nested");
	size_t count = symbol_find(m, fixture_address("nested", "mark"), &frames);

	assert_true(count == 1 || count == 3);
	assert_string_equal(frames[count - 1].function, "outer");
	if (count == 3)
		expect_frame(&frames[0], "inner", "nested.c", 4, true);
	symbol_close(m);
}

static void sections_that_zstd_compressed_are_unpacked_whatever_elfutils_can(void **state)
{
	(void)state;
	build_nested("-g");
	if (fixture_run("objcopy --compress-debug-sections=zstd nested") != 0)
		skip();
	struct symbol_module *m = fixture_open("nested");
	expect_nested_frames(m, fixture_address("nested", "mark"));
	symbol_close(m);
}

/* Each byte of the section's data changed: whatever it unpacks to, names are those of symbols. */
static void given_a_compressed_section_that_is_broken_the_name_is_left(void **state)
{
	const struct symbol_frame *frames;
	unsigned offset = 0, bytes = 0;

	(void)state;
	build_nested("-g -gz=zlib");
	fixture_must_run("readelf -SW nested | sed -n 's/.*\\.debug_info *PROGBITS *[0-9a-f]* //p' "
			 "| { read -r a b c; printf '%%s %%s' $a $b; } >place.out");
	char *text = fixture_read("place.out", NULL);
	assert_int_equal(sscanf(text, "%x %x", &offset, &bytes), 2);
	free(text);
	size_t size;
	char *file = fixture_read("nested", &size);
	assert_in_range(offset + bytes, 100, size);
	for (unsigned i = 24 + 2; i < bytes; i++)
		file[offset + i] ^= 0x55;
	uint64_t mark = fixture_address("nested", "mark");
	fixture_write("broken", file, size);
	free(file);
	struct symbol_module *m = fixture_open("broken");
	assert_int_equal(symbol_find(m, mark, &frames), 1);
	expect_frame(&frames[0], "outer", NULL, 0, false);
	symbol_close(m);
}

static void expect_other(struct symbol_module *m, uint64_t address)
{
	const struct symbol_frame *frames;

	assert_int_equal(symbol_find(m, address, &frames), 1);
	expect_frame(&frames[0], "other", "other.c", 1, false);
}

static void units_that_the_table_of_addresses_leaves_out_are_found(void **state)
{
	static const char *const dropped[] = {"other.o", "nested.o", "nested.o other.o"};

	(void)state;
	fixture_write_text("nested.c", nested_c);
	fixture_write_text("other.c", "int other(int x) { return x / 3; }\n");
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
		fixture_must_run(
			"cc -O2 -g -c nested.c other.c && for o in %s; do "
			"objcopy -R .debug_aranges -R .rela.debug_aranges $o || exit; done; "
			"cc nested.o other.o -o nested",
			dropped[i]);
		uint64_t mark = fixture_address("nested", "mark");
		uint64_t other = fixture_address("nested", "other");
		for (unsigned order = 0; order < 2; order++) {
			struct symbol_module *m = fixture_open("nested");

			if (order)
				expect_other(m, other);
			expect_nested_frames(m, mark);
			expect_other(m, other);
			expect_nested_frames(m, mark);
			symbol_close(m);
		}
	}
}

/* The table says that other.c's unit has all of the code. */
static void given_a_table_of_addresses_that_misleads_the_unit_is_found(void **state)
{
	(void)state;
	fixture_write_text("nested.c", nested_c);
	fixture_write_text("other.c", "int other(int x) { return x / 3; }\n");
	fixture_must_run("cc -O2 -g -S other.c && sed -i '/debug_aranges/,/\\.quad[ \t]*0$/"
			 "s/\\.quad\\([ \t]*\\)\\.Letext0-\\.Ltext0/.quad\\10x10000/' other.s && "
			 "grep -q 0x10000 other.s && cc -c other.s && cc -O2 -g -c nested.c && "
			 "objcopy -R .debug_aranges -R .rela.debug_aranges nested.o && "
			 "cc other.o nested.o -o nested");
	struct symbol_module *m = fixture_open("nested");
	expect_other(m, fixture_address("nested", "other"));
	expect_nested_frames(m, fixture_address("nested", "mark"));
	symbol_close(m);
}

static void given_a_dwarf_package_the_name_is_left_at_least(void **state)
{
	(void)state;
	build_nested("-gdwarf-5 -gsplit-dwarf");
	if (fixture_run("dwp -e nested -o nested.dwp && rm *.dwo") != 0)
		skip();
	expect_outer_at_least();
}

static void split_dwarf_is_found_beside_the_object(void **state)
{
	(void)state;
	check_nested("-gdwarf-4 -gsplit-dwarf");
	check_nested("-gdwarf-5 -gsplit-dwarf");
}

static void link_time_optimisation_refers_across_units(void **state)
{
	(void)state;
	check_nested("-g -flto");
}

static void a_relative_path_is_joined_to_its_directory(void **state)
{
	const struct symbol_frame *frames;

	(void)state;
	fixture_must_run("mkdir -p sub");
	fixture_write_text("sub/nested.c", nested_c);
	fixture_must_run("cc -O2 -gdwarf-4 sub/nested.c -o nested");
	struct symbol_module *m = fixture_open("nested");
	assert_int_equal(symbol_find(m, fixture_address("nested", "mark"), &frames), 3);
	expect_frame(&frames[0], "inner", "sub/nested.c", 4, true);
	expect_frame(&frames[2], "outer", "sub/nested.c", 15, false);
	symbol_close(m);
}

static void a_program_with_fixed_addresses_is_understood(void **state)
{
	(void)state;
	check_nested("-g -no-pie");
}

/* GNU C nested functions are inside another function's entry, where only a thorough search looks.
 */
static void a_nested_function_is_found_inside_its_parent(void **state)
{
	const struct symbol_frame *frames;

	(void)state;
	if (fixture_run("command -v gcc") != 0)
		skip();
	fixture_write_text("contain.c",
			   "int main(int argc, char **argv)\n"
			   "{\n"
			   "	(void)argv;\n"
			   "	__attribute__((noinline)) int within(int x)\n"
			   "	{\n"
			   "		__asm__ volatile(\".globl mark\\nmark:\\n\\tnop\");\n"
			   "		return x + argc;\n"
			   "	}\n"
			   "	return within(2);\n"
			   "}\n");
	fixture_must_run("gcc -g -O1 contain.c -o contain");
	struct symbol_module *m = fixture_open("contain");
	assert_int_equal(symbol_find(m, fixture_address("contain", "mark"), &frames), 1);
	expect_frame(&frames[0], "within", "contain.c", 6, false);
	symbol_close(m);
}

static void strings_stay_when_the_next_address_is_looked_up(void **state)
{
	const struct symbol_frame *frames;

	(void)state;
	build_nested("-g");
	struct symbol_module *m = fixture_open("nested");
	assert_int_equal(symbol_find(m, fixture_address("nested", "mark"), &frames), 3);
	struct symbol_frame kept = frames[1];
	assert_int_equal(symbol_find(m, fixture_address("nested", "main"), &frames), 1);
	expect_frame(&kept, "middle", "nested.c", 10, true);
	symbol_close(m);
}

static void an_address_outside_the_code_has_no_frames(void **state)
{
	const struct symbol_frame *frames;

	(void)state;
	build_nested("-g");
	struct symbol_module *m = fixture_open("nested");
	assert_int_equal(symbol_find(m, 0, &frames), 0);
	assert_int_equal(symbol_find(m, 1, &frames), 0);
	assert_int_equal(symbol_find(m, UINT64_MAX, &frames), 0);
	symbol_close(m);
}

/* ---- other languages ------------------------------------------------------------------------- */

static const char names_cc[] =
	"namespace heap {\n"
	"template <class T> struct Arena {\n"
	"	__attribute__((noinline)) T grow(T n)\n"
	"	{\n"
	"		__asm__ volatile(\".globl mark\\nmark:\\n\\tnop\");\n" /* 5 */
	"		return n * 2;\n"
	"	}\n"
	"};\n"
	"} // namespace heap\n"
	"namespace {\n"
	"struct Hidden {\n"
	"	__attribute__((always_inline)) int add(int x)\n"
	"	{\n"
	"		__asm__ volatile(\".globl mark2\\nmark2:\\n\\tnop\");\n" /* 14 */
	"		return x + 1;\n"
	"	}\n"
	"};\n"
	"__attribute__((noinline)) int secret(int x)\n"
	"{\n"
	"	Hidden h;\n"
	"	return h.add(x) * 3;\n" /* 21 */
	"}\n"
	"} // namespace\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	heap::Arena<int> a;\n"
	"	return a.grow(argc) + secret(argc);\n"
	"}\n";

static void cplusplus_functions_are_shown_with_their_scope(void **state)
{
	const struct symbol_frame *frames;

	(void)state;
	if (fixture_run("command -v c++") != 0)
		skip();
	fixture_write_text("names.cc", names_cc);
	fixture_must_run("c++ -g -O2 names.cc -o names");
	struct symbol_module *m = fixture_open("names");
	assert_int_equal(symbol_find(m, fixture_address("names", "mark"), &frames), 1);
	expect_frame(&frames[0], "heap::Arena<int>::grow(int)", "names.cc", 5, false);
	assert_int_equal(symbol_find(m, fixture_address("names", "mark2"), &frames), 2);
	/* With a linkage name (Clang) the parameters are known too. */
	assert_memory_equal(frames[0].function, "(anonymous namespace)::Hidden::add", 34);
	assert_int_equal(frames[0].line, 14);
	assert_true(frames[0].inlined);
	expect_frame(&frames[1], "(anonymous namespace)::secret(int)", "names.cc", 21, false);
	symbol_close(m);
}

static void check_rust(const char *mangling)
{
	const struct symbol_frame *frames;

	fixture_must_run("rustc -g -C symbol-mangling-version=%s hello.rs -o hello", mangling);
	fixture_must_run("nm hello | awk '/heap.*grow/ { print $1 }' >nm.out");
	char *text = fixture_read("nm.out", NULL);
	uint64_t address = strtoull(text, NULL, 16);
	free(text);
	struct symbol_module *m = fixture_open("hello");
	assert_int_equal(symbol_find(m, address, &frames), 1);
	expect_frame(&frames[0], "hello::heap::grow", "hello.rs", 2, false);
	symbol_close(m);
}

static void rust_functions_are_shown_without_hashes(void **state)
{
	(void)state;
	fixture_write_text("hello.rs", "mod heap {\n"
				       "    #[inline(never)] pub fn grow(n: usize) -> Vec<u8> {\n"
				       "        vec![0; n]\n"
				       "    }\n"
				       "}\n"
				       "fn main() { println!(\"{}\", heap::grow(3).len()); }\n");
	if (fixture_run("rustc --version") != 0 || fixture_run("rustc hello.rs") != 0)
		skip();
	check_rust("v0");
	if (fixture_run("rustc -C symbol-mangling-version=legacy hello.rs") == 0)
		check_rust("legacy");
}

/* ---- the referee ----------------------------------------------------------------------------- */

/* Frames as `addr2line -afi` prints them, from the line after the address on. */
static char *print_frames(struct symbol_module *m, uint64_t address)
{
	const struct symbol_frame *frames;
	size_t count = symbol_find(m, address, &frames);
	char *text = mem_copy_string("");

	for (size_t i = 0; i < count; i++) {
		const char *function = frames[i].function ? frames[i].function : "??";
		const char *file = frames[i].file ? frames[i].file : "??";
		char *longer = mem_format("%s%s\n%s:%u\n", text, function, file, frames[i].line);

		free(text);
		text = longer;
	}
	return text;
}

static void find_text_section(const char *program, uint64_t *start, uint64_t *bytes)
{
	unsigned long long values[2];

	fixture_must_run("readelf -SW %s | sed -n 's/.* \\.text  *PROGBITS *//p' >text.out",
			 program);
	char *text = fixture_read("text.out", NULL);
	assert_int_equal(sscanf(text, "%llx %*x %llx", &values[0], &values[1]), 2);
	free(text);
	*start = values[0];
	*bytes = values[1];
}

/* Addresses in padding between functions are ours to leave out; addr2line takes them for the
 * function before. */
static size_t compare_with_referee(struct symbol_module *m, char *referee)
{
	size_t compared = 0;
	char *record = strstr(referee, "0x");

	while (record) {
		char *next = strstr(record + 2, "\n0x");
		uint64_t address = strtoull(record, NULL, 16);
		char *ours = print_frames(m, address);

		if (next)
			*next++ = '\0';
		else
			record[strlen(record) - 1] = '\0';
		if (ours[0] && strstr(ours, "??") == NULL) {
			ours[strlen(ours) - 1] = '\0';
			assert_string_equal(ours, strchr(record, '\n') + 1);
			compared++;
		}
		free(ours);
		record = next;
	}
	return compared;
}

/* A number of a section has 16 bits, and 65,280 of them; behind these it is kept elsewhere. */
static void functions_and_variables_behind_65280_sections_are_found(void **state)
{
	const struct symbol_variable *list;
	const struct symbol_frame *frames;
	const char *found = NULL;

	(void)state;
	if (fixture_run("command -v ld.gold") != 0)
		skip();
	fixture_must_run(
		"{ for n in $(seq 66000); do printf '.section s%%d,\"ax\"\\n.long 0\\n' $n; done;"
		" printf '.section rest,\"ax\"\\n.globl f\\n.type f,%%%%function\\n'; "
		" printf 'f: .long 0,0,0\\n.section values,\"aw\"\\n.globl v\\n'; "
		" printf '.type v,%%%%object\\n.size v,8\\nv: .quad 1\\n'; } >many.s && "
		"cc -c many.s -o many.o && ld.gold -shared many.o -o many.so");
	struct symbol_module *m = fixture_open("many.so");
	assert_int_equal(symbol_find(m, fixture_address("many.so", "f") + 5, &frames), 1);
	assert_string_equal(frames[0].function, "f");
	for (size_t i = symbol_list_variables(m, false, &list); i-- > 0;)
		if (strcmp(list[i].name ? list[i].name : "", "v") == 0)
			found = list[i].section;
	assert_non_null(found);
	assert_string_equal(found, "values");
	symbol_close(m);
}

static void random_addresses_of_a_real_library_agree_with_addr2line(void **state)
{
	enum { COUNT = 4000 };
	uint64_t start, bytes;
	uint32_t seed = 7;
	char root[4096];

	(void)state;
	if (!getcwd(root, sizeof(root)) || access("src/symbol/symbol.c", R_OK) < 0 ||
	    fixture_run("command -v addr2line") != 0)
		skip();
	/* DWARF 4, since addr2line before 2.41 does not understand the range lists of Clang's
	 * DWARF 5. */
	fixture_must_run(
		"cc -O2 -gdwarf-4 -shared -fPIC -I%s/src %s/src/symbol/*.c %s/src/base/*.c "
		"-o real.so",
		root, root, root);
	find_text_section("real.so", &start, &bytes);
	FILE *list = fopen(fixture_path("addresses"), "we");
	assert_non_null(list);
	for (int i = 0; i < COUNT; i++) {
		seed = seed * 1664525u + 1013904223u;
		(void)fprintf(list, "0x%llx\n", (unsigned long long)(start + (seed >> 4) % bytes));
	}
	assert_int_equal(fclose(list), 0);
	fixture_must_run(
		"addr2line -afi -e real.so <addresses | sed 's/ (discriminator [0-9]*)$//; "
		"s/:?$/:0/' >referee");
	char *referee = fixture_read("referee", NULL);
	struct symbol_module *m = fixture_open("real.so");
	assert_true(compare_with_referee(m, referee) > COUNT * 3 / 4);
	symbol_close(m);
	free(referee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dwarf_4_gives_each_inlined_frame_its_line),
		cmocka_unit_test(dwarf_5_gives_each_inlined_frame_its_line),
		cmocka_unit_test(the_debug_information_of_clang_is_read_too),
		cmocka_unit_test(compressed_sections_are_unpacked),
		cmocka_unit_test(sections_that_zstd_compressed_are_unpacked_whatever_elfutils_can),
		cmocka_unit_test(given_a_compressed_section_that_is_broken_the_name_is_left),
		cmocka_unit_test(units_that_the_table_of_addresses_leaves_out_are_found),
		cmocka_unit_test(given_a_table_of_addresses_that_misleads_the_unit_is_found),
		cmocka_unit_test(given_a_dwarf_package_the_name_is_left_at_least),
		cmocka_unit_test(split_dwarf_is_found_beside_the_object),
		cmocka_unit_test(link_time_optimisation_refers_across_units),
		cmocka_unit_test(a_relative_path_is_joined_to_its_directory),
		cmocka_unit_test(a_program_with_fixed_addresses_is_understood),
		cmocka_unit_test(a_nested_function_is_found_inside_its_parent),
		cmocka_unit_test(strings_stay_when_the_next_address_is_looked_up),
		cmocka_unit_test(an_address_outside_the_code_has_no_frames),
		cmocka_unit_test(cplusplus_functions_are_shown_with_their_scope),
		cmocka_unit_test(rust_functions_are_shown_without_hashes),
		cmocka_unit_test(functions_and_variables_behind_65280_sections_are_found),
		cmocka_unit_test(random_addresses_of_a_real_library_agree_with_addr2line),
	};

	return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
