/* absurd.h -- profiles whose numbers make no sense, for the fuzzers of what reads profiles.
 * Runs: in fuzz targets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_FUZZ_ABSURD_H
#define MIDDEN_TESTS_FUZZ_ABSURD_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

#define ABSURD_ROWS 12u

struct absurd_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t absurd_take_byte(struct absurd_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* Small numbers, huge ones and what lies between: a byte chooses the shift. */
static inline uint64_t absurd_take_number(struct absurd_input *in)
{
	uint64_t low = absurd_take_byte(in), shift = absurd_take_byte(in);

	return shift == 0xff ? UINT64_MAX : low << shift % 64;
}

static inline void absurd_add_names(struct profile *p, struct absurd_input *in)
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
			.line = absurd_take_byte(in)};
		*vec_push(&p->frames) = frame;
	}
}

static inline void absurd_add_stacks(struct profile *p, struct absurd_input *in)
{
	for (unsigned i = absurd_take_byte(in) % 64; i-- > 0;) {
		uint32_t count = (uint32_t)p->nodes.count;
		uint32_t parent =
			absurd_take_byte(in) % 2 ? count - 1 : absurd_take_byte(in) % count;
		*vec_push(&p->nodes) = (struct profile_node){.pc = count,
							     .parent = parent,
							     .module = absurd_take_byte(in) % 4,
							     .frames = absurd_take_byte(in) % 9,
							     .cut = absurd_take_byte(in) == 7};
	}
	for (unsigned i = absurd_take_byte(in) % ABSURD_ROWS; i-- > 0;) {
		struct profile_site site = {.node = absurd_take_byte(in) %
						    (uint32_t)p->nodes.count};
		uint64_t *numbers = &site.allocations;
		for (unsigned k = 0; k < 17; k++)
			numbers[k] = absurd_take_number(in);
		*vec_push(&p->sites) = site;
	}
}

static inline void absurd_add_times(struct profile *p, struct absurd_input *in)
{
	uint64_t time = 0;

	for (unsigned i = absurd_take_byte(in) % 64; i-- > 0;) {
		struct profile_point point = {0};
		uint64_t step = absurd_take_number(in);
		time = time + step < time ? time : time + step;
		point.time_ns = time;
		point.live_bytes = absurd_take_number(in);
		point.live_blocks = absurd_take_number(in);
		point.peak_bytes = absurd_take_number(in);
		*vec_push(&p->points) = point;
	}
	for (uint32_t i = 0; i < p->points.count && p->sites.count; i++) {
		struct profile_change change = {i, absurd_take_byte(in) % (uint32_t)p->sites.count,
						absurd_take_number(in), absurd_take_number(in)};
		if (absurd_take_byte(in) % 4)
			*vec_push(&p->changes) = change;
	}
}

/* Stacks with frames that the program has named, and estimates, which are the rest of a site. */
static inline void absurd_add_names_and_doubts(struct profile *p, struct absurd_input *in)
{
	p->run.sample_period = absurd_take_number(in);
	for (unsigned i = absurd_take_byte(in) % 8; i-- > 0;) {
		struct profile_node *node = vec_push(&p->nodes);

		*node = (struct profile_node){.parent = absurd_take_byte(in) %
							((uint32_t)p->nodes.count - 1),
					      .frames = absurd_take_byte(in) % 9,
					      .named = absurd_take_byte(in) % 5};
		if (p->sites.count)
			p->sites.at[absurd_take_byte(in) % p->sites.count].node =
				(uint32_t)p->nodes.count - 1;
	}
	for (size_t i = 0; i < p->sites.count; i++) {
		uint64_t *numbers = &p->sites.at[i].allocated_doubt.bytes;
		for (unsigned k = 0; k < 7; k++)
			numbers[k] = absurd_take_number(in);
	}
}

static inline void absurd_add_snapshots(struct profile *p, struct absurd_input *in)
{
	for (uint32_t i = 0; i < p->points.count && absurd_take_byte(in) % 4; i++)
		*vec_push(&p->snapshots) =
			(struct profile_snapshot){.name = p->frames.at[i % 8].function,
						  .point = i,
						  .thread = absurd_take_byte(in) % 4,
						  .time_ns = p->points.at[i].time_ns,
						  .live_bytes = absurd_take_number(in),
						  .live_blocks = absurd_take_number(in)};
}

static inline void absurd_add_tags(struct profile *p, struct absurd_input *in)
{
	uint32_t snapshot = 0;

	for (uint32_t i = 0, count = absurd_take_byte(in) % 32; i < count; i++) {
		uint8_t how = absurd_take_byte(in);
		struct profile_tag tag = {.thread = absurd_take_byte(in) % 4,
					  .parent = absurd_take_byte(in) % (i + 1),
					  .open = absurd_take_byte(in)};
		uint64_t *numbers = &tag.entered;

		if (how % 8 == 7 && snapshot < p->snapshots.count)
			snapshot++;
		tag.snapshot = snapshot;
		if (tag.parent)
			tag.name = p->frames.at[how % 9].function;
		for (unsigned k = 0; k < 6 + PROFILE_APIS; k++)
			numbers[k] = absurd_take_number(in);
		*vec_push(&p->tags) = tag;
	}
}

/* What is lost, and chains of who holds it. */
static inline void absurd_add_lost(struct profile *p, struct absurd_input *in)
{
	for (uint32_t i = 0, count = absurd_take_byte(in) % ABSURD_ROWS; i < count; i++) {
		uint8_t how = absurd_take_byte(in);
		struct profile_link link = {.kind = how % PROFILE_LINK_KINDS,
					    .module = how / 8 % 3,
					    .thread = how,
					    .holder = absurd_take_byte(in) % (i + 1),
					    .name = p->frames.at[how % 9].function};
		uint64_t *numbers = &link.address;

		link.site = absurd_take_byte(in) % ((uint32_t)p->sites.count + 1);
		for (unsigned k = 0; k < 3; k++)
			numbers[k] = absurd_take_number(in);
		*vec_push(&p->links) = link;
	}
	for (unsigned i = absurd_take_byte(in) % ABSURD_ROWS; i-- > 0 && p->sites.count;) {
		struct profile_lost lost = {.site = absurd_take_byte(in) % (uint32_t)p->sites.count,
					    .class = absurd_take_byte(in) % PROFILE_LOST_CLASSES,
					    .chain = absurd_take_byte(in) %
						     ((uint32_t)p->links.count + 1)};
		uint64_t *numbers = &lost.blocks;

		for (unsigned k = 0; k < 4; k++)
			numbers[k] = absurd_take_number(in);
		*vec_push(&p->lost) = lost;
	}
}

/* Looks at pages: sites and starts of cells rise within each, as the file has them. */
static inline void absurd_add_look(struct profile *p, struct absurd_input *in, uint32_t survey)
{
	uint64_t start = 0;

	for (uint32_t site = 0; site < p->sites.count; site++) {
		struct profile_pin pin = {.survey = survey, .site = site};
		uint64_t *numbers = &pin.live_blocks;

		for (unsigned k = 0; k < 6; k++)
			numbers[k] = absurd_take_number(in);
		if (absurd_take_byte(in) % 4)
			*vec_push(&p->pins) = pin;
	}
	for (unsigned i = absurd_take_byte(in) % 4; i-- > 0;) {
		start += 1 + (absurd_take_number(in) >> 4);
		struct profile_cell cell = {.survey = survey,
					    .pages = (uint32_t)absurd_take_number(in),
					    .resident_pages = (uint32_t)absurd_take_number(in),
					    .held_pages = (uint32_t)absurd_take_number(in),
					    .start = start,
					    .live_bytes = absurd_take_number(in)};
		cell.site = absurd_take_byte(in) % ((uint32_t)p->sites.count + 1);
		*vec_push(&p->cells) = cell;
	}
	for (unsigned i = absurd_take_byte(in) % 4; i-- > 0;) {
		struct profile_type type = {.survey = survey,
					    .name = profile_add_string(p, i % 2 ? "list" : "")};
		uint64_t *numbers = &type.objects;

		for (unsigned k = 0; k < 4; k++)
			numbers[k] = absurd_take_number(in);
		*vec_push(&p->types) = type;
	}
}

static inline void absurd_add_pages(struct profile *p, struct absurd_input *in)
{
	for (uint32_t i = 0, count = absurd_take_byte(in) % 4; i < count; i++) {
		uint8_t how = absurd_take_byte(in);
		struct profile_survey survey = {.reason = how % PROFILE_REASONS};
		uint64_t *numbers = &survey.time_ns;

		survey.snapshot = how / 4 % ((uint32_t)p->snapshots.count + 1);
		if (how > 200)
			survey.fault = p->frames.at[how % 9].function;
		for (unsigned k = 0; k < 16; k++)
			numbers[k] = absurd_take_number(in);
		*vec_push(&p->surveys) = survey;
		absurd_add_look(p, in, i);
	}
}

static inline struct profile_site absurd_take_map(struct profile *p, struct absurd_input *in)
{
	struct profile_site map = {.node = absurd_take_byte(in) % (uint32_t)p->nodes.count,
				   .kind = absurd_take_byte(in) % PROFILE_MAP_KINDS};
	uint64_t *numbers = &map.allocations;

	for (unsigned k = 0; k < 17; k++)
		numbers[k] = absurd_take_number(in);
	return map;
}

static inline void absurd_add_maps(struct profile *p, struct absurd_input *in)
{
	uint64_t *totals = &p->map_totals.allocations;

	for (unsigned i = 0; i < 12; i++)
		totals[i] = absurd_take_number(in);
	for (unsigned i = absurd_take_byte(in) % 8; i-- > 0;)
		*vec_push(&p->map_kinds) = absurd_take_map(p, in);
	for (unsigned i = absurd_take_byte(in) % ABSURD_ROWS; i-- > 0;)
		*vec_push(&p->map_sites) = absurd_take_map(p, in);
}

/* May fail profile_check. */
static inline struct profile *absurd_make(struct absurd_input *in)
{
	struct profile *p = profile_new();

	p->run.duration_ns = absurd_take_number(in);
	uint64_t *totals = &p->totals.allocations;
	for (unsigned i = 0; i < 21; i++)
		totals[i] = absurd_take_number(in);
	absurd_add_names(p, in);
	absurd_add_stacks(p, in);
	absurd_add_times(p, in);
	for (unsigned i = absurd_take_byte(in) % 4; i-- > 0;) {
		struct profile_thread thread = {.tid = absurd_take_byte(in)};
		uint64_t *numbers = &thread.start_ns;
		for (unsigned k = 0; k < 21; k++)
			numbers[k] = absurd_take_number(in);
		*vec_push(&p->threads) = thread;
	}
	p->sizes[absurd_take_byte(in) % 65].count = absurd_take_number(in);
	p->size_by_life[3][absurd_take_byte(in) % 65] = absurd_take_number(in);
	if (in->left) {
		absurd_add_names_and_doubts(p, in);
		absurd_add_snapshots(p, in);
		absurd_add_tags(p, in);
	}
	if (in->left) {
		absurd_add_lost(p, in);
		absurd_add_pages(p, in);
		absurd_add_maps(p, in);
	}
	return p;
}

#endif
