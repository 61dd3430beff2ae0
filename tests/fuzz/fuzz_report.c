/* fuzz_report.c -- reports on absurd profiles: whatever passes profile_check can be printed.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input fills the numbers of a small profile, so that the fuzzer gets at the figures without
 * having to invent a file; its first byte chooses figure, times and filter. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "absurd.h"
#include "model/leaks.h"
#include "model/map_view.h"
#include "report/leaks_json.h"
#include "report/leaks_report.h"
#include "report/map_text.h"
#include "report/sheet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static FILE *nowhere;

static void choose_times(struct view *v, const struct profile *p, unsigned choice)
{
	static const struct moment_name names[] = {{.kind = MOMENT_AT_PERCENT, .value = 50},
						   {.kind = MOMENT_AT_PEAK},
						   {.kind = MOMENT_AT_END},
						   {.kind = MOMENT_AT_NS, .value = 1e6}};
	struct error e = {0};

	v->figure = (enum figure)(choice % FIGURE_ALL);
	if (v->figure == FIGURE_KINDS || moment_find(p, &names[choice % 4], &v->at, &e) != 0)
		v->figure = FIGURE_PEAK;
}

static void print_lost(const struct model *m, const struct style *style)
{
	struct leaks l;

	leaks_build(&l, m, NULL, (1u << PROFILE_LOST_CLASSES) - 1);
	leaks_report_print(nowhere, &l, 3, style);
	leaks_json_print(nowhere, &l);
	leaks_free(&l);
}

/* Each look at the pages, by what the choice says. */
static void print_pages(const struct model *m, struct sheet *s, const struct style *style)
{
	for (unsigned shape = SHEET_RSS; shape <= SHEET_TYPES; shape++) {
		s->shape = (enum sheet_shape)shape;
		for (s->survey = 0; s->survey < model_get_profile(m)->surveys.count; s->survey++) {
			sheet_print(nowhere, m, s, style);
			sheet_print_json(nowhere, m, s);
		}
	}
}

static void print_all(const struct profile *p, unsigned choice)
{
	static const struct model_options usual = {0};
	struct filter filter = {.size_min = choice & 0x40 ? 16 : 0};
	struct suppress_list rules = {0};
	struct model *m = model_new(p, &usual);
	const struct style style = {.utf8 = choice & 4, .width = choice & 8 ? 60 : 0};
	struct sheet s = {
		.view = {.filter = &filter, .suppress = &rules},
		.tree = {.fold = choice & 1, .threshold = choice & 2 ? 1 : 0},
		.key = (enum flat_key)(choice % (FLAT_BY_MODULE + 1)),
		.findings = true,
	};

	suppress_add_known(&rules);
	choose_times(&s.view, p, choice);
	s.tree.figure = s.view.figure;
	for (unsigned shape = SHEET_TREE; shape <= SHEET_GLOBALS; shape++) {
		if ((shape == SHEET_RSS || shape == SHEET_TYPES) && !p->surveys.count)
			continue; /* the command refuses it */
		s.shape = (enum sheet_shape)shape;
		sheet_print(nowhere, m, &s, &style);
		sheet_print_json(nowhere, m, &s);
	}
	print_lost(m, &style);
	print_pages(m, &s, &style);
	map_text_print(nowhere, p, &style);
	suppress_free(&rules);
	model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct absurd_input in = {data, bytes};
	struct error e = {0};

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	uint8_t choice = absurd_take_byte(&in);
	struct profile *p = absurd_make(&in);
	if (nowhere && profile_check(p, &e) == 0)
		print_all(p, choice);
	if (nowhere && !e.set && map_view_choose(p, choice % (PROFILE_MAP_KINDS + 1), &e) == 0 &&
	    profile_check(p, &e) == 0)
		print_all(p, choice);
	profile_free(p);
	return 0;
}
