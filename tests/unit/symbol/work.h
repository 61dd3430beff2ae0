/* work.h -- a small program with an inlined function, and what its debug information says.
 * Runs: in the unit tests of the symbol room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_SYMBOL_WORK_H
#define MIDDEN_TESTS_SYMBOL_WORK_H

#include "fixture.h"

static const char work_c[] =
	"static inline __attribute__((always_inline)) int inner(int x)\n"
	"{\n"
	"	__asm__ volatile(\".globl mark\\nmark:\\n\\tnop\" ::: \"memory\");\n" /* 3 */
	"	return x + 1;\n"
	"}\n"
	"__attribute__((noinline)) int outer(int x)\n"
	"{\n"
	"	return inner(x ^ 5) * 7;\n" /* 8 */
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	(void)argv;\n"
	"	return outer(argc);\n"
	"}\n";

static inline void work_write(void)
{
	fixture_write_text("work.c", work_c);
}

/* At `mark` there is line 3 of inner, inlined into line 8 of outer. */
static inline void work_expect_lines(struct symbol_module *m, uint64_t mark)
{
	const struct symbol_frame *frames;

	assert_int_equal(symbol_find(m, mark, &frames), 2);
	assert_non_null(frames[0].function);
	assert_string_equal(frames[0].function, "inner");
	assert_non_null(frames[0].file);
	assert_string_equal(frames[0].file, fixture_path("work.c"));
	assert_int_equal(frames[0].line, 3);
	assert_true(frames[0].inlined);
	assert_non_null(frames[1].function);
	assert_string_equal(frames[1].function, "outer");
	assert_int_equal(frames[1].line, 8);
	assert_false(frames[1].inlined);
}

/* The child of a test prints the innermost function at an address, given in hexadecimal; its exit
 * status. */
static inline int work_print_innermost(struct symbol_module *m, const char *address)
{
	const struct symbol_frame *frames;

	if (!m || !symbol_find(m, strtoull(address, NULL, 16), &frames))
		return 1;
	puts(frames[0].function);
	symbol_close(m);
	return 0;
}

#endif
