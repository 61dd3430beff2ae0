/* stacks_json_test.c -- all figures of all stacks as JSON. Runs: as a unit test.
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

static void a_stack_has_its_figures_and_frames_by_number(void **state)
{
	struct profile *p = sample_new();
	uint32_t root = sample_node_in(p, 0, 1, 0);

	(void)state;
	p->totals.lost_events = 3;
	sample_site(p, sample_node(p, root, "a \"b\"", 2), UINT64_MAX - 1, 3);
	struct exported x = exported_make("json", p, FIGURE_PEAK);
	assert_has(&x, "  \"schema\": \"midden-stacks\",\n  \"schema_version\": 1,\n");
	assert_has(&x, "    \"program\": \"app\",\n");
	assert_has(&x, "    \"peak_bytes\": 18446744073709551614,\n");
	assert_has(&x, "    \"lost_events\": 3,\n");
	assert_has(&x, "  \"frames\": [\n"
		       "    {\"function\": null,\"file\": null,\"line\": null,"
		       "\"module\": \"/src/app\",\"offset\": 16,\"inlined\": false,"
		       "\"placeholder\": false},\n");
	assert_has(&x, "    {\"function\": \"a \\\"b\\\"\",\"file\": \"/src/app.c\",\"line\": 2,"
		       "\"module\": \"/src/app\",\"offset\": null,\"inlined\": false,"
		       "\"placeholder\": false}\n");
	assert_has(&x, "\"peak_bytes\": 18446744073709551614,\"own_peak_bytes\"");
	assert_has(&x, "\"lifetime_min_ns\": null,");
	assert_has(&x, "\"threads\": [],\"frames\": [3,0]}\n");
	free(x.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_its_figures_and_frames_by_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
