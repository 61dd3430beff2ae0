/* returns_test.c -- return addresses are told from numbers, data and functions.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "walked.h"

#include <errno.h>
#include <signal.h>

#include "capture/codemaps.h"
#include "capture/returns.h"

static struct walk walk;

static bool has(uint64_t address)
{
	errno = 12345;
	bool answer = returns_has(&walk, address);

	assert_int_equal(returns_has(&walk, address), answer); /* once more, from what is kept */
	assert_int_equal(errno, 12345);
	return answer;
}

static bool has_pointer(const void *pointer)
{
	return has((uint64_t)(uintptr_t)pointer);
}

static NOINLINE void check_backtrace(void)
{
	void *found[64];
	int count = backtrace(found, 64);

	assert_true(count > 3);
	for (int i = 0; i < count; i++)
		assert_true(has_pointer(found[i]));
	walked_sink++;
}

static void what_calls_return_to_is_known(void **state)
{
	(void)state;
	check_backtrace();
	walked_recurse(20, check_backtrace);
	walked_recurse_realigned(3, check_backtrace);
}

static int compare(const void *a, const void *b)
{
	check_backtrace();
	return *(const int *)a - *(const int *)b;
}

static void so_is_what_the_c_library_calls_us_from(void **state)
{
	int numbers[] = {3, 1, 2};

	(void)state;
	qsort(numbers, 3, sizeof(*numbers), compare);
}

static void numbers_data_and_functions_are_none(void **state)
{
	static uint64_t variable = 1;
	static const char text[] =
		"\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8\xe8";
	char local[] = "on the stack";
	uint8_t *heap = malloc(64);

	(void)state;
	memset(heap, 0xe8, 64);
	assert_false(has(0));
	assert_false(has(4095));
	assert_false(has(0x1234567));
	assert_false(has(UINT64_MAX));
	assert_false(has(UINT64_C(1) << 48));
	assert_false(has_pointer(&variable));
	assert_false(has_pointer(text + 8));
	assert_false(has_pointer(local + 8));
	assert_false(has_pointer(heap + 32));
	assert_false(has_pointer((const void *)(uintptr_t)compare));
	assert_false(has_pointer((const void *)(uintptr_t)qsort));
	free(heap);
}

static void where_signal_handlers_return_to_is_one(void **state)
{
	void (*restorer)(void) = NULL;
	struct {
		void *handler;
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action;
	struct sigaction ignored = {.sa_handler = SIG_IGN};

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &ignored, NULL), 0);
	assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, 8), 0);
	restorer = action.restorer;
#ifdef __x86_64__
	assert_true(has_pointer((const void *)(uintptr_t)restorer));
#else
	(void)restorer; /* the kernel has its own */
#endif
}

/* ---- code of no object ----------------------------------------------------------------------- */

static uint8_t *map_pages(size_t pages, int protection)
{
	void *at = mmap(NULL, pages * 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void memory_that_can_be_executed_is_code(void **state)
{
	uint8_t *first = map_pages(2, PROT_NONE); /* so that no object follows the code */
	uint8_t *other = map_pages(3, PROT_READ | PROT_WRITE);

	(void)state;
	assert_int_equal(mprotect(first, 4096, PROT_READ | PROT_EXEC), 0);
	for (unsigned i = 0; i < 300; i++) { /* whatever was asked before */
		assert_false(codemaps_has(1000));
		assert_false(codemaps_has(1001 + i));
	}
	assert_true(codemaps_has((uint64_t)(uintptr_t)first));
	assert_true(has_pointer(first + 4096));
	assert_false(has_pointer(first + 4097));
	assert_int_equal(mprotect(other + 4096, 4096, PROT_READ | PROT_EXEC), 0);
	assert_true(codemaps_has((uint64_t)(uintptr_t)other + 4096));
	assert_false(has_pointer(other + 100));
	assert_true(has_pointer(other + 4096 + 100));
	assert_false(has_pointer(other + 8192 + 100));
	(void)munmap(first, 2 * 4096);
	(void)munmap(other, 3 * 4096);
}

/* ---- instructions ---------------------------------------------------------------------------- */

struct code {
	uint8_t bytes[8];
	uint8_t count;
};

#ifdef __x86_64__
#define CODE(...)                                               \
	{                                                       \
		{__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}) \
	}
static const struct code calls[] = {
	CODE(0xe8, 1, 2, 3, 4),			  /* call to */
	CODE(0xff, 0xd0),			  /* call *%rax */
	CODE(0x41, 0xff, 0xd7),			  /* call *%r15 */
	CODE(0xff, 0x10),			  /* call *(%rax) */
	CODE(0xff, 0x14, 0x24),			  /* call *(%rsp) */
	CODE(0x41, 0xff, 0x14, 0x24),		  /* call *(%r12) */
	CODE(0xff, 0x14, 0xd0),			  /* call *(%rax,%rdx,8) */
	CODE(0xff, 0x14, 0xc5, 1, 2, 3, 4),	  /* call *0x4030201(,%rax,8) */
	CODE(0xff, 0x14, 0x25, 1, 2, 3, 4),	  /* call *0x4030201 */
	CODE(0xff, 0x15, 1, 2, 3, 4),		  /* call *0x4030201(%rip) */
	CODE(0xff, 0x50, 0x18),			  /* call *0x18(%rax) */
	CODE(0xff, 0x55, 0x18),			  /* call *0x18(%rbp) */
	CODE(0xff, 0x54, 0x24, 0x18),		  /* call *0x18(%rsp) */
	CODE(0xff, 0x90, 1, 2, 3, 4),		  /* call *0x4030201(%rax) */
	CODE(0xff, 0x94, 0x24, 1, 2, 3, 4),	  /* call *0x4030201(%rsp) */
	CODE(0x64, 0xff, 0x14, 0x25, 8, 0, 0, 0), /* call *%fs:8 */
};
static const struct code others[] = {
	CODE(0xe9, 1, 2, 3, 4),		    /* jmp to */
	CODE(0xff, 0xe0),		    /* jmp *%rax */
	CODE(0xff, 0x25, 1, 2, 3, 4),	    /* jmp *0x4030201(%rip) */
	CODE(0xff, 0x30),		    /* push (%rax) */
	CODE(0xff, 0xc0),		    /* inc %eax */
	CODE(0xc3),			    /* ret */
	CODE(0x90),			    /* nop */
	CODE(0x0f, 0x05),		    /* syscall */
	CODE(0xff, 0x14, 0x25, 1),	    /* cut off */
	CODE(0xff, 0x15, 1, 2),		    /* cut off */
	CODE(0xff, 0x10, 0x90, 0x90, 0x90), /* a call before three others */
};
#else
#define CODE(word)                                                                      \
	{                                                                               \
		{(word)&0xff, (word) >> 8 & 0xff, (word) >> 16 & 0xff, (word) >> 24}, 4 \
	}
static const struct code calls[] = {
	CODE(0x94000001u), /* bl to */
	CODE(0x97ffffffu), /* bl back */
	CODE(0xd63f0000u), /* blr x0 */
	CODE(0xd63f03c0u), /* blr x30 */
	CODE(0xd63f083fu), /* blraaz x1 */
	CODE(0xd63f0c3fu), /* blrabz x1 */
	CODE(0xd73f0822u), /* blraa x1, x2 */
	CODE(0xd73f0c22u), /* blrab x1, x2 */
};
static const struct code others[] = {
	CODE(0x14000001u), /* b to */
	CODE(0xd61f0000u), /* br x0 */
	CODE(0xd65f03c0u), /* ret */
	CODE(0xd503201fu), /* nop */
	CODE(0xd4000001u), /* svc #0 */
	CODE(0xd61f083fu), /* braaz x1 */
};
#endif

static bool ends_with_call(const struct code *code)
{
	uint8_t bytes[16] = {0};
	uint8_t *end = bytes + sizeof(bytes);

	memcpy(end - code->count, code->bytes, code->count);
	return arch_is_call(end - ARCH_CALL_BYTES);
}

static void calls_are_known_by_their_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		assert_true(ends_with_call(&calls[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(ends_with_call(&others[i]));
}

static int begin(void **state)
{
	struct walk_start start = WALK_START();

	(void)state;
	walked_begin();
	walk_begin(&walk, thread_self, &start);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_calls_return_to_is_known),
		cmocka_unit_test(so_is_what_the_c_library_calls_us_from),
		cmocka_unit_test(numbers_data_and_functions_are_none),
		cmocka_unit_test(where_signal_handlers_return_to_is_one),
		cmocka_unit_test(memory_that_can_be_executed_is_code),
		cmocka_unit_test(calls_are_known_by_their_bytes),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
