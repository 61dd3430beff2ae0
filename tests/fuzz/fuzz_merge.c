/* fuzz_merge.c -- merges of absurd profiles: whatever passes profile_check can be merged.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input fills the numbers of two small profiles; its first byte chooses how they are merged.
 * In a maximum or mean the shares of threads must add up to their stack, whatever went in. */
#include <stdint.h>
#include <stdlib.h>

#include "model/merge.h"
#include "model/shares.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct input {
	const uint8_t *at;
	size_t left;
};

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

static void take_numbers(struct input *in, uint64_t *numbers, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		numbers[i] = take_number(in);
}

static void add_stacks(struct profile *p, struct input *in)
{
	*vec_push(&p->modules) =
		(struct profile_module){.build_id_bytes = take_byte(in) % 2 ? 20 : 0};
	for (unsigned i = take_byte(in) % 8; i-- > 0;) {
		uint32_t count = (uint32_t)p->nodes.count;
		*vec_push(&p->nodes) = (struct profile_node){
			.pc = take_byte(in) % 4, .parent = take_byte(in) % count, .module = 1};
	}
	for (unsigned i = take_byte(in) % 6; i-- > 0;) {
		struct profile_site site = {.node = take_byte(in) % (uint32_t)p->nodes.count,
					    .thread = take_byte(in) % 4};
		take_numbers(in, &site.allocations, 17);
		*vec_push(&p->sites) = site;
	}
}

static void add_threads(struct profile *p, struct input *in)
{
	for (unsigned i = take_byte(in) % 4; i-- > 0;) {
		struct profile_thread thread = {.tid = take_byte(in), .serial = take_byte(in) % 4};
		thread.name = profile_add_string(p, take_byte(in) % 2 ? "a" : "b");
		take_numbers(in, &thread.start_ns, 21);
		*vec_push(&p->threads) = thread;
	}
	for (uint32_t site = 0; site < p->sites.count; site++) {
		for (uint32_t thread = 0; thread < 4; thread++) {
			struct profile_part part = {.site = site, .thread = thread};
			if (take_byte(in) % 2)
				continue;
			take_numbers(in, &part.allocations, 9);
			*vec_push(&p->parts) = part;
		}
	}
}

static void add_snapshot(struct profile *p, struct input *in, uint32_t point)
{
	struct profile_snapshot s = {.point = point, .thread = take_byte(in) % 4};

	s.name = profile_add_string(p, take_byte(in) % 2 ? "now" : "");
	s.time_ns = take_number(in);
	*vec_push(&p->snapshots) = s;
}

static void add_times(struct profile *p, struct input *in)
{
	uint64_t time = 0;

	for (uint32_t i = 0, count = take_byte(in) % 16; i < count; i++) {
		struct profile_point point = {0};
		uint64_t step = take_number(in);
		time = time + step < time ? time : time + step;
		take_numbers(in, &point.time_ns, 9);
		point.time_ns = time;
		*vec_push(&p->points) = point;
		if (take_byte(in) % 2)
			add_snapshot(p, in, i);
		if (p->sites.count)
			*vec_push(&p->changes) =
				(struct profile_change){i, take_byte(in) % (uint32_t)p->sites.count,
							take_number(in), take_number(in)};
	}
}

static struct profile *make_profile(struct input *in)
{
	struct profile *p = profile_new();

	p->run.start_unix_ns = take_number(in);
	p->run.duration_ns = take_number(in);
	take_numbers(in, &p->totals.allocations, 21);
	add_stacks(p, in);
	add_threads(p, in);
	add_times(p, in);
	return p;
}

static void check_shares(const struct profile *p)
{
	for (size_t i = 0; shares_are_known(p) && i < p->sites.count; i++) {
		uint64_t bytes = 0, frees = 0;
		for (size_t k = 0; k < shares_get_count(p, i); k++) {
			bytes += shares_get(p, i, k).at_peak_bytes;
			frees += shares_get(p, i, k).frees;
		}
		if (bytes != p->sites.at[i].at_peak_bytes || frees != p->sites.at[i].frees)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input in = {data, bytes};
	struct error e = {0};
	uint8_t choice = take_byte(&in);
	const struct merge_options options = {
		.mode = (enum profile_merge)(PROFILE_MERGE_SUM + choice % 3),
		.align_starts = choice & 0x80,
	};
	struct merge *m = merge_new(&options);

	for (unsigned i = 0; i < 2; i++) {
		struct profile *p = make_profile(&in);
		if (profile_check(p, &e) == 0)
			merge_add(m, p, "x");
		profile_free(p);
	}
	struct profile *merged = merge_finish(m, &e);
	if (merged && options.mode != PROFILE_MERGE_SUM)
		check_shares(merged);
	if (!merged && !e.set)
		abort(); /* two good profiles, and no reason */
	profile_free(merged);
	return 0;
}
