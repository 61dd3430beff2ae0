/* diff_many_test.c -- two profiles of 200,000 stacks each, compared in bounded memory. Runs: as a
 * unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "model/diff.h"
#include "sample.h"

#define STACKS	  200000u
#define FUNCTIONS 1000u
#define DEPTH	  24u
#define LEAK	  12345u

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Stacks of DEPTH functions that share some callers; `shift` moves lines and addresses. */
static struct profile *make_many(uint32_t shift)
{
	struct profile *p = sample_new();
	uint32_t frames[FUNCTIONS];
	char name[32];

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		(void)snprintf(name, sizeof(name), "function_%u", i);
		frames[i] = sample_frame(p, name, "many.c", 10 * i + shift + 1, 0);
	}
	for (uint32_t i = 0; i < shift; i++)
		sample_node(p, 0, "moves_addresses", 1);
	for (uint32_t i = 0; i < STACKS; i += 100) {
		uint32_t root = 0;
		for (uint32_t d = 0; d + 2 < DEPTH; d++)
			root = sample_node_in(p, root, 1,
					      frames[(i / 100 * 7 + d * d) % FUNCTIONS]);
		for (uint32_t k = 0; k < 100; k++) {
			uint32_t node = sample_node_in(p, root, 1, frames[(i + k) % FUNCTIONS]);
			node = sample_node_in(p, node, 1, frames[(i / 7 + 3 * k) % FUNCTIONS]);
			sample_site(p, node, 16 + i + k, 1);
		}
	}
	return p;
}

static void a_leak_is_found_among_200000_stacks(void **state)
{
	static const struct model_options usual = {0};
	struct profile *before = make_many(0), *now = make_many(3);
	struct rusage usage;

	(void)state;
	now->sites.at[STACKS / 2].at_peak_bytes += LEAK;
	struct model *of[2] = {model_new(before, &usual), model_new(now, &usual)};
	const struct model *models[2] = {of[0], of[1]};
	struct diff *d = diff_build(models, &(struct diff_request){.figure = FIGURE_PEAK});
	assert_int_equal(d->rows.count, 1);
	assert_int_equal(d->rows.at[0].status, DIFF_GROWN);
	assert_int_equal(diff_get_change(d, &d->rows.at[0]), LEAK);
	assert_int_equal(d->same.bytes + d->rows.at[0].amounts[1].bytes, d->whole[1].bytes);
	diff_free(d);
	model_free(of[0]);
	model_free(of[1]);
	profile_free(before);
	profile_free(now);
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	if (!SANITIZED) /* the two profiles themselves take half of it */
		assert_true(usage.ru_maxrss < 250 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leak_is_found_among_200000_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
