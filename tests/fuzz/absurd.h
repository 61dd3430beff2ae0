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
	return p;
}

#endif
