/* protobuf_test.c -- the wire format of protocol buffers. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "export/protobuf.h"

#define ASSERT_BYTES(p, ...)                                                    \
	do {                                                                    \
		static const uint8_t expected[] = {__VA_ARGS__};                \
		assert_int_equal((p)->bytes.count, sizeof(expected));           \
		assert_memory_equal((p)->bytes.at, expected, sizeof(expected)); \
		(p)->bytes.count = 0;                                           \
	} while (0)

static void numbers_are_varints_after_their_key(void **state)
{
	struct protobuf p = {0};

	(void)state;
	protobuf_put_number(&p, 1, 150);
	ASSERT_BYTES(&p, 0x08, 0x96, 0x01);
	protobuf_put_number(&p, 16, 127);
	ASSERT_BYTES(&p, 0x80, 0x01, 0x7f);
	protobuf_put_number(&p, 1, UINT64_MAX);
	ASSERT_BYTES(&p, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	protobuf_put_number(&p, 1, 0);
	assert_int_equal(p.bytes.count, 0);
	protobuf_free(&p);
}

static void lists_of_numbers_are_packed_with_their_zeros(void **state)
{
	static const uint64_t values[] = {3, 0, 270};
	struct protobuf p = {0};

	(void)state;
	protobuf_put_numbers(&p, 4, values, 3);
	ASSERT_BYTES(&p, 0x22, 0x04, 0x03, 0x00, 0x8e, 0x02);
	protobuf_put_numbers(&p, 4, values, 0);
	assert_int_equal(p.bytes.count, 0);
	protobuf_free(&p);
}

static void strings_and_messages_carry_their_length(void **state)
{
	struct protobuf p = {0}, inner = {0};

	(void)state;
	protobuf_put_bytes(&p, 6, "", 0);
	protobuf_put_bytes(&p, 6, "ab", 2);
	ASSERT_BYTES(&p, 0x32, 0x00, 0x32, 0x02, 'a', 'b');
	protobuf_put_number(&inner, 1, 150);
	protobuf_put_message(&p, 3, &inner);
	assert_int_equal(inner.bytes.count, 0);
	ASSERT_BYTES(&p, 0x1a, 0x03, 0x08, 0x96, 0x01);
	protobuf_free(&p);
	protobuf_free(&inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_varints_after_their_key),
		cmocka_unit_test(lists_of_numbers_are_packed_with_their_zeros),
		cmocka_unit_test(strings_and_messages_carry_their_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
