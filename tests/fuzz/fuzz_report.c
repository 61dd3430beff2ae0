/* fuzz_report.c -- reports on absurd profiles: whatever passes profile_check can be printed.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input fills the numbers of a small profile, so that the fuzzer gets at the figures without
 * having to invent a file; its first byte chooses figure, times and filter. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/sheet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define ROWS_MOST 12u

struct input {
	const uint8_t *at;
	size_t left;
};

static FILE *nowhere;

static uint8_t take_byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* Small numbers, huge ones and what lies between: a byte chooses the shift. */
static uint64_t take_number(struct input *in)
{
	uint64_t low = take_byte(in), shift = take_byte(in);

	return shift == 0xff ? UINT64_MAX : low << shift % 64;
}

static void add_names(struct profile *p, struct input *in)
{
	static const char *const names[] = {"main",
					    "fib",
					    "operator new(unsigned long)",
					    "xmalloc",
					    "a::b<c>::d(e) const",
					    "\033[0m\xff",
					    "std::vector<int>::_M_realloc_append(int&&)",
					    ""};
	static const char *const modules[] = {"/lib/libc.so.6", "/app", "/lib/libstdc++.so.6"};

	for (unsigned i = 0; i < 3; i++) {
		struct string_id path = profile_add_string(p, modules[i]);
		*vec_push(&p->modules) = (struct profile_module){.path = path};
	}
	for (unsigned i = 0; i < 8; i++) {
		struct profile_frame frame = {
			.function = profile_add_string(p, names[i]),
			.file = profile_add_string(p, i % 2 ? "/src/a.c" : ""),
			.line = take_byte(in)};
		*vec_push(&p->frames) = frame;
	}
}

static void add_stacks(struct profile *p, struct input *in)
{
	for (unsigned i = take_byte(in) % 64; i-- > 0;) {
		uint32_t count = (uint32_t)p->nodes.count;
		uint32_t parent = take_byte(in) % 2 ? count - 1 : take_byte(in) % count;
		*vec_push(&p->nodes) = (struct profile_node){.pc = count,
							     .parent = parent,
							     .module = take_byte(in) % 4,
							     .frames = take_byte(in) % 9,
							     .cut = take_byte(in) == 7};
	}
	for (unsigned i = take_byte(in) % ROWS_MOST; i-- > 0;) {
		struct profile_site site = {.node = take_byte(in) % (uint32_t)p->nodes.count};
		uint64_t *numbers = &site.allocations;
		for (unsigned k = 0; k < 17; k++)
			numbers[k] = take_number(in);
		*vec_push(&p->sites) = site;
	}
}

static void add_times(struct profile *p, struct input *in)
{
	uint64_t time = 0;

	for (unsigned i = take_byte(in) % 64; i-- > 0;) {
		struct profile_point point = {0};
		uint64_t step = take_number(in);
		time = time + step < time ? time : time + step;
		point.time_ns = time;
		point.live_bytes = take_number(in);
		point.live_blocks = take_number(in);
		point.peak_bytes = take_number(in);
		*vec_push(&p->points) = point;
	}
	for (uint32_t i = 0; i < p->points.count && p->sites.count; i++) {
		struct profile_change change = {i, take_byte(in) % (uint32_t)p->sites.count,
						take_number(in), take_number(in)};
		if (take_byte(in) % 4)
			*vec_push(&p->changes) = change;
	}
}

static struct profile *make_profile(struct input *in)
{
	struct profile *p = profile_new();

	p->run.duration_ns = take_number(in);
	uint64_t *totals = &p->totals.allocations;
	for (unsigned i = 0; i < 21; i++)
		totals[i] = take_number(in);
	add_names(p, in);
	add_stacks(p, in);
	add_times(p, in);
	for (unsigned i = take_byte(in) % 4; i-- > 0;) {
		struct profile_thread thread = {.tid = take_byte(in)};
		uint64_t *numbers = &thread.start_ns;
		for (unsigned k = 0; k < 21; k++)
			numbers[k] = take_number(in);
		*vec_push(&p->threads) = thread;
	}
	p->sizes[take_byte(in) % 65].count = take_number(in);
	p->size_by_life[3][take_byte(in) % 65] = take_number(in);
	return p;
}

static void choose_times(struct view *v, const struct profile *p, unsigned choice)
{
	static const struct moment_name names[] = {{MOMENT_AT_PERCENT, 50, NULL, 0},
						   {MOMENT_AT_PEAK, 0, NULL, 0},
						   {MOMENT_AT_END, 0, NULL, 0},
						   {MOMENT_AT_NS, 1e6, NULL, 0}};
	struct error e = {0};

	v->figure = (enum figure)(choice % FIGURE_ALL);
	if (v->figure == FIGURE_KINDS || moment_find(p, &names[choice % 4], &v->at, &e) != 0)
		v->figure = FIGURE_PEAK;
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
	for (unsigned shape = SHEET_TREE; shape <= SHEET_FINDINGS; shape++) {
		s.shape = (enum sheet_shape)shape;
		sheet_print(nowhere, m, &s, &style);
		sheet_print_json(nowhere, m, &s);
	}
	suppress_free(&rules);
	model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input in = {data, bytes};
	struct error e = {0};

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	uint8_t choice = take_byte(&in);
	struct profile *p = make_profile(&in);
	if (nowhere && profile_check(p, &e) == 0)
		print_all(p, choice);
	profile_free(p);
	return 0;
}
