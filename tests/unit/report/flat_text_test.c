/* flat_text_test.c -- functions as a table. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "report/flat_text.h"

#include "../model/sample.h"
#include "page.h"

static const struct style ascii = {0};

static void print(struct page *page, struct profile *p, enum figure figure, double threshold)
{
	static const struct model_options usual = {0};
	struct model *m = model_new(p, &usual);
	struct flat *f = flat_build(m, figure);

	page_open(page);
	flat_text_print(page->out, f, threshold, &ascii);
	flat_free(f);
	model_free(m);
	profile_free(p);
}

static void functions_are_listed_with_self_and_total(void **state)
{
	struct page page;

	(void)state;
	print(&page, sample_tables(), FIGURE_PEAK, 0);
	page_assert(&page,
		    "Held at the peak: 1000 B in 10 blocks\n"
		    "   self     bytes  blocks    total     bytes  blocks  function\n"
		    " 95.00%     950 B       9   95.00%     950 B       9  table_new (app.c)\n"
		    "  5.00%      50 B       1   30.00%     300 B       3  save (app.c)\n"
		    "  0.00%       0 B       0  100.00%    1000 B      10  main (app.c)\n"
		    "  0.00%       0 B       0   70.00%     700 B       7  load (app.c)\n");
}

static void given_a_threshold_then_the_self_amounts_still_add_up(void **state)
{
	struct page page;

	(void)state;
	print(&page, sample_tables(), FIGURE_PEAK, 50);
	page_assert(&page,
		    "Held at the peak: 1000 B in 10 blocks\n"
		    "   self     bytes  blocks    total     bytes  blocks  function\n"
		    " 95.00%     950 B       9   95.00%     950 B       9  table_new (app.c)\n"
		    "  0.00%       0 B       0  100.00%    1000 B      10  main (app.c)\n"
		    "  0.00%       0 B       0   70.00%     700 B       7  load (app.c)\n"
		    "  5.00%      50 B       1                             ... 1 more function\n");
}

static void given_nothing_to_show_then_one_sentence_says_so(void **state)
{
	struct page page;

	(void)state;
	print(&page, profile_new(), FIGURE_TEMPORARY, 1);
	page_assert(&page, "There were no temporary allocations.\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_listed_with_self_and_total),
		cmocka_unit_test(given_a_threshold_then_the_self_amounts_still_add_up),
		cmocka_unit_test(given_nothing_to_show_then_one_sentence_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
