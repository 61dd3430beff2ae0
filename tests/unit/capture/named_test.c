/* named_test.c -- a text and a named frame have one number, whoever asks and however many ask at
 * once. Runs: as a unit test, also under ThreadSanitizer.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include "capture/named.h"
#include "capture/texts.h"

/* ---- tables without a process ---------------------------------------------------------------- */

#define STRING_BYTES (1u << 18)
#define NAMED_COUNT  (1u << 14)

static _Atomic uint32_t text_roots[SEGMENT_TEXT_ROOTS];
static char strings[STRING_BYTES];
static _Atomic uint32_t strings_used, texts_used;
static _Atomic uint32_t named_roots[SEGMENT_NAMED_ROOTS];
static struct segment_named named_table[NAMED_COUNT];
static _Atomic uint32_t named_used;

static struct texts make_texts(uint32_t room)
{
	memset(text_roots, 0, sizeof(text_roots));
	memset(strings, 0, sizeof(strings));
	atomic_store(&strings_used, 0);
	atomic_store(&texts_used, 0);
	return (struct texts){.roots = text_roots,
			      .strings = strings,
			      .used = &strings_used,
			      .count = &texts_used,
			      .room = room};
}

static struct named make_named(uint32_t count)
{
	memset(named_roots, 0, sizeof(named_roots));
	memset(named_table, 0, sizeof(named_table));
	atomic_store(&named_used, 0);
	return (struct named){
		.roots = named_roots, .at = named_table, .used = &named_used, .count = count};
}

static uint32_t add_text(const struct texts *s, const char *text)
{
	return texts_add(s, text, strlen(text));
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void equal_texts_are_one(void **state)
{
	const struct texts s = make_texts(STRING_BYTES);
	uint32_t spam = add_text(&s, "spam");
	uint32_t spa = texts_add(&s, "spam", 3);

	(void)state;
	assert_int_not_equal(spam, 0);
	assert_int_not_equal(spa, spam);
	assert_string_equal(strings + spam, "spam");
	assert_string_equal(strings + spa, "spa");
	assert_int_equal(add_text(&s, "spam"), spam);
	assert_int_equal(add_text(&s, "spa"), spa);
	assert_int_equal(add_text(&s, ""), 0);
	assert_int_equal(atomic_load(&texts_used), 2);
}

static void a_text_for_which_there_is_no_room_is_empty(void **state)
{
	const struct texts s = make_texts(64);
	uint32_t last = 0, known = add_text(&s, "the first one");
	char text[16];

	(void)state;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "text %d", i);
		last = add_text(&s, text);
		assert_true(!last || last + strlen(text) + 1 <= 64);
	}
	assert_int_equal(last, 0);
	assert_true(atomic_load(&strings_used) <= 64);
	assert_int_equal(add_text(&s, "the first one"), known);
	for (size_t i = 64; i < 256; i++)
		assert_int_equal(strings[i], 0);
}

static void a_long_text_is_cut_between_characters(void **state)
{
	const struct texts s = make_texts(STRING_BYTES);
	static char text[3 * SEGMENT_TEXT_MAX + 1];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(strlen(strings + add_text(&s, text)), SEGMENT_TEXT_MAX);
	memcpy(text + SEGMENT_TEXT_MAX - 2, "\xe2\x82\xac", 3); /* one character */
	assert_int_equal(strlen(strings + add_text(&s, text)), SEGMENT_TEXT_MAX - 2);
}

/* ---- named frames ---------------------------------------------------------------------------- */

static void equal_frames_are_one_and_others_are_not(void **state)
{
	const struct named n = make_named(100);
	struct segment_named wanted[] = {{.kind = 1, .function = 5, .file = 9, .line = 3},
					 {.kind = 2, .function = 5, .file = 9, .line = 3},
					 {.kind = 1, .function = 6, .file = 9, .line = 3},
					 {.kind = 1, .function = 5, .file = 0, .line = 3},
					 {.kind = 1, .function = 5, .file = 9, .line = 4}};
	uint32_t found[5];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		found[i] = named_add(&n, &wanted[i]);
		assert_int_equal(found[i] & ~SEGMENT_NODE_PLACE_MASK, SEGMENT_NODE_NAMED);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(found[i], found[j]);
	}
	for (unsigned i = 0; i < 5; i++) {
		const struct segment_named *f = &named_table[found[i] & SEGMENT_NODE_PLACE_MASK];

		assert_int_equal(named_add(&n, &wanted[i]), found[i]);
		assert_int_equal(f->kind, wanted[i].kind);
		assert_int_equal(f->line, wanted[i].line);
	}
	assert_int_equal(atomic_load(&named_used), 5);
}

static void a_full_table_gives_none_and_still_knows_its_frames(void **state)
{
	const struct named n = make_named(11); /* ten, as index 0 is none */
	uint32_t found[10];

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		const struct segment_named wanted = {.kind = 1, .function = 1, .line = i};
		uint32_t place = named_add(&n, &wanted);

		assert_int_equal(place != 0, i < 10);
		if (i < 10)
			found[i] = place;
	}
	for (uint32_t i = 0; i < 10; i++) {
		const struct segment_named wanted = {.kind = 1, .function = 1, .line = i};

		assert_int_equal(named_add(&n, &wanted), found[i]);
	}
}

/* ---- all at once ----------------------------------------------------------------------------- */

#define THREADS 4
#define FRAMES	2000

struct adder {
	pthread_t thread;
	uint32_t found[FRAMES];
};

static struct texts shared_texts;
static struct named shared_named;
static pthread_barrier_t together;

static void *add_many(void *argument)
{
	struct adder *a = argument;

	for (uint32_t i = 0; i < FRAMES; i++) {
		char function[32];

		if (i % 100 == 0)
			(void)pthread_barrier_wait(&together);
		(void)snprintf(function, sizeof(function), "function %u", i / 4);
		const struct segment_named wanted = {.kind = SEGMENT_NAMED_TAG,
						     .function = add_text(&shared_texts, function),
						     .line = i % 4};
		a->found[i] = named_add(&shared_named, &wanted);
	}
	return NULL;
}

static void threads_that_add_the_same_at_once_agree(void **state)
{
	static struct adder adders[THREADS];

	(void)state;
	shared_texts = make_texts(STRING_BYTES);
	shared_named = make_named(NAMED_COUNT);
	assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&adders[i].thread, NULL, add_many, &adders[i]), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(adders[i].thread, NULL), 0);
	assert_int_equal(atomic_load(&texts_used), FRAMES / 4);
	for (uint32_t i = 0; i < FRAMES; i++) {
		const struct segment_named *f =
			&named_table[adders[0].found[i] & SEGMENT_NODE_PLACE_MASK];
		char function[32];

		for (int j = 1; j < THREADS; j++)
			assert_int_equal(adders[j].found[i], adders[0].found[i]);
		(void)snprintf(function, sizeof(function), "function %u", i / 4);
		assert_string_equal(strings + f->function, function);
		assert_int_equal(f->line, i % 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_are_one),
		cmocka_unit_test(a_text_for_which_there_is_no_room_is_empty),
		cmocka_unit_test(a_long_text_is_cut_between_characters),
		cmocka_unit_test(equal_frames_are_one_and_others_are_not),
		cmocka_unit_test(a_full_table_gives_none_and_still_knows_its_frames),
		cmocka_unit_test(threads_that_add_the_same_at_once_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
