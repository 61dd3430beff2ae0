/* speedscope_test.c -- speedscope's JSON. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "exported.h"

static void assert_has(const struct exported *x, const char *text)
{
	if (!strstr(x->text, text))
		fail_msg("no \"%s\" in: %s", text, x->text);
}

static void there_is_a_profile_per_figure_over_shared_frames(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node(p, 0, "main", 1);

	(void)state;
	sample_site(p, sample_node(p, root, "f", 2), 30, 3)->live_bytes = 0;
	sample_site(p, root, 8, 1);
	struct exported x = exported_make("speedscope", p, FIGURE_LEAKED);
	/* Frames in the order of names: two placeholders, f, main. */
	assert_has(&x, "\"activeProfileIndex\": 1,\n");
	assert_has(&x, "      {\"name\": \"f\",\"file\": \"/src/app.c\",\"line\": 2},\n"
		       "      {\"name\": \"main\",\"file\": \"/src/app.c\",\"line\": 1}\n");
	assert_has(&x, "      \"name\": \"peak\",\n"
		       "      \"unit\": \"bytes\",\n"
		       "      \"startValue\": 0,\n"
		       "      \"samples\": [\n"
		       "        [3,2],\n"
		       "        [3]\n"
		       "      ],\n"
		       "      \"weights\": [30,8],\n"
		       "      \"endValue\": 38\n");
	assert_has(&x, "        [3]\n"
		       "      ],\n"
		       "      \"weights\": [8],\n");
	assert_has(&x, "      \"name\": \"calls\",\n"
		       "      \"unit\": \"none\",\n");
	assert_has(&x, "      \"weights\": [3,1],\n"
		       "      \"endValue\": 4\n");
	assert_has(&x, "      \"samples\": [],\n"
		       "      \"weights\": [],\n"
		       "      \"endValue\": 0\n");
	free(x.text);
}

static void weights_of_64_bits_stay_exact(void **state)
{
	struct profile *p = sample_new();

	(void)state;
	sample_site(p, sample_node(p, 0, "big", 1), UINT64_C(9007199254740993), 1);
	struct exported x = exported_make("speedscope", p, FIGURE_PEAK);
	assert_has(&x, "\"weights\": [9007199254740993],");
	assert_has(&x, "\"endValue\": 9007199254740993\n");
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_a_profile_per_figure_over_shared_frames),
		cmocka_unit_test(weights_of_64_bits_stay_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
