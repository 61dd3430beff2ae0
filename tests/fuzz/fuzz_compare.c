/* fuzz_compare.c -- two absurd profiles merged, compared and checked against each other.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is {u8 choice, u16 bytes of the first profile, its numbers, those of the second}; see
 * absurd.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "absurd.h"
#include "model/check.h"
#include "model/diff_tree.h"
#include "model/merge.h"
#include "report/check_json.h"
#include "report/check_junit.h"
#include "report/check_text.h"
#include "report/diff_json.h"
#include "report/diff_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

_Static_assert(DIFF_BY_KINDS == 4, "two bits of the choice");

static FILE *nowhere;

/* What comes out must be sound. */
static void merge(const struct profile *const both[2], unsigned choice)
{
	const struct merge_options options = {
		.mode = (enum profile_merge)(PROFILE_MERGE_SUM + choice % 3),
		.align_starts = choice & 4};
	struct merge *m = merge_new(&options);
	struct error e = {0};

	for (unsigned i = 0; i < 2; i++)
		merge_add(m, both[i], i ? "second" : "first");
	struct profile *p = merge_finish(m, &e);
	if (p ? profile_check(p, &e) != 0 : !e.set)
		abort();
	profile_free(p);
}

static void compare(const struct model *const models[2], unsigned choice)
{
	const struct style style = {.utf8 = choice & 4, .width = choice & 8 ? 60 : 0};
	const struct tree_view view = {.figure = (enum figure)(choice % FIGURE_KINDS),
				       .direction = choice & 16 ? TREE_TOP_DOWN : TREE_INVERTED};

	const enum diff_by by = (enum diff_by)(choice >> 6);
	struct diff *d =
		diff_build(models, &(struct diff_request){.figure = view.figure, .by = by});

	diff_text_print_totals(nowhere, d, &style);
	diff_text_print(nowhere, d, choice & 1 ? 1 : 0, choice & 2 ? 3 : 0, &style);
	diff_json_print(nowhere, d, 0);
	if (by == DIFF_BY_STACK) {
		struct diff_tree *t = diff_tree_build(d, &view);

		diff_text_print_tree(nowhere, t, &style);
		diff_json_print_tree(nowhere, t);
		diff_tree_free(t);
	}
	diff_free(d);
}

static void check(const struct model *const models[2], unsigned choice)
{
	const struct style style = {.utf8 = choice & 4};
	struct check_request request = {.baseline = choice & 32 ? models[0] : NULL, .stacks = 3};

	for (unsigned i = 0; i < CHECK_KINDS; i++)
		request.limits[i] = (struct check_limit){
			.set = true, .relative = i >= CHECK_PEAK_GROWTH && choice & 1, .value = i};
	struct check *c = check_build(models[1], &request);
	check_text_print(nowhere, c, &style);
	check_json_print(nowhere, c);
	check_junit_print(nowhere, c);
	check_free(c);
}

static void use(const struct profile *const both[2], unsigned choice)
{
	static const struct model_options usual = {0};
	struct model *old = model_new(both[0], &usual), *new = model_new(both[1], &usual);
	const struct model *const models[2] = {old, new};

	compare(models, choice);
	check(models, choice);
	model_free(old);
	model_free(new);
	merge(both, choice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct error e = {0};

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	if (bytes < 3 || !nowhere)
		return 0;
	size_t first = (size_t)(data[1] | data[2] << 8);
	if (first > bytes - 3)
		first = bytes - 3;
	struct absurd_input in[2] = {{data + 3, first}, {data + 3 + first, bytes - 3 - first}};
	struct profile *old = absurd_make(&in[0]), *new = absurd_make(&in[1]);
	const struct profile *const both[2] = {old, new};
	if (profile_check(old, &e) == 0 && profile_check(new, &e) == 0)
		use(both, data[0]);
	profile_free(old);
	profile_free(new);
	return 0;
}
