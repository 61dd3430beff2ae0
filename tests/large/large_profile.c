/* large_profile.c -- writes a profile of a large C++ program that never was: large_profile OUT
 * SITES [POINTS]. Runs: by the end-to-end tests that measure reports.
 * SPDX-License-Identifier: Apache-2.0
 *
 * SITES stacks, each of its own, over five times as many nodes, about 40 frames deep; 20,000
 * functions with the long names of C++ library templates, every fifth node with an inlined frame.
 * Resolved, so that nothing has to be looked up. With POINTS, a time line along which every stack
 * grows to what it has at the end in about four steps. The same arguments give the same profile. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "profile/profile.h"

#define FUNCTIONS 20000u
#define FILES	  2000u
#define FRAMES	  60000u
#define DEPTH	  80u
#define NEAR	  64u /* nodes back: where a parent is, so that stacks are deep */

#define STRING	  "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static uint64_t state = 1;

/* Knuth's MMIX generator; the high bits are the good ones. */
static uint32_t draw(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % below);
}

static struct string_id add_function(struct profile *p, uint32_t i)
{
	char *name = mem_format("app::part%u::Table<int, std::vector<" STRING
				", std::allocator<" STRING " > > >::step%u(std::map<" STRING
				", long, std::less<" STRING " >, std::allocator<std::pair<" STRING
				" const, long> > > const&, unsigned long)",
				i % 50, i);
	struct string_id id = profile_add_string(p, name);

	free(name);
	return id;
}

static struct string_id add_file(struct profile *p, uint32_t i)
{
	char *name = mem_format("/home/me/src/app/part%u/table%u.cpp", i % 50, i);
	struct string_id id = profile_add_string(p, name);

	free(name);
	return id;
}

static void add_frames(struct profile *p)
{
	struct string_id *functions = mem_new(FUNCTIONS, sizeof(*functions));
	struct string_id *files = mem_new(FILES, sizeof(*files));

	for (uint32_t i = 0; i < FUNCTIONS; i++)
		functions[i] = add_function(p, i);
	for (uint32_t i = 0; i < FILES; i++)
		files[i] = add_file(p, i);
	for (uint32_t i = 1; i < FRAMES; i++) {
		uint32_t f = draw(FUNCTIONS);

		*vec_push(&p->frames) = (struct profile_frame){
			.function = functions[f],
			.file = files[f % FILES],
			.line = 1 + draw(5000),
			.next = draw(5) == 0 ? draw(i) : 0,
		};
	}
	free(functions);
	free(files);
}

/* A chain of `next` must not be longer than what compilers make. */
static void cut_chains(struct profile *p)
{
	uint8_t *length = mem_new(p->frames.count, 1);

	for (size_t i = 1; i < p->frames.count; i++) {
		struct profile_frame *f = &p->frames.at[i];

		if (length[f->next] == 3)
			f->next = 0;
		length[i] = (uint8_t)(length[f->next] + 1);
	}
	free(length);
}

static void add_nodes(struct profile *p, uint32_t count)
{
	uint8_t *depth = mem_new(count + 1, 1);

	for (uint32_t i = 1; i <= count; i++) {
		uint32_t parent = i > NEAR ? i - 1 - draw(NEAR) : i - 1;

		if (depth[parent] == DEPTH)
			parent = 0;
		depth[i] = (uint8_t)(depth[parent] + 1);
		*vec_push(&p->nodes) = (struct profile_node){
			.pc = UINT64_C(0x400000) + 16 * (uint64_t)draw(1u << 20),
			.parent = parent,
			.module = 1,
			.frames = 1 + draw(FRAMES - 1),
		};
	}
	free(depth);
}

static void add_sites(struct profile *p, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t blocks = 1 + draw(100), bytes = blocks * (16 + draw(5000));

		*vec_push(&p->sites) = (struct profile_site){
			.node = 1 + 5 * i + draw(5),
			.allocations = blocks,
			.allocated_bytes = bytes,
			.size_min = bytes / blocks,
			.size_max = bytes / blocks,
			.live_blocks = blocks,
			.live_bytes = bytes,
			.at_peak_blocks = blocks,
			.at_peak_bytes = bytes,
			.own_peak_bytes = bytes,
			.lifetime_min_ns = UINT64_MAX,
		};
		p->totals.allocations += blocks;
		p->totals.allocated_bytes += bytes;
	}
	p->totals.stacks = count;
	p->totals.peak_bytes = p->totals.leaked_bytes = p->totals.allocated_bytes;
	p->totals.peak_blocks = p->totals.leaked_blocks = p->totals.allocations;
}

/* Stacks take turns: at each point every TURNS-th has grown. */
static void add_points(struct profile *p, uint32_t count)
{
	enum { TURNS = 125 };
	struct profile_point now = {0};
	uint64_t *live = mem_new(p->sites.count, sizeof(*live));

	for (uint32_t k = 0; k < count; k++) {
		for (uint32_t i = k % TURNS; i < p->sites.count; i += TURNS) {
			const struct profile_site *s = &p->sites.at[i];
			uint64_t bytes = s->live_bytes / count * (k + 1);

			if (k + TURNS >= count)
				bytes = s->live_bytes;
			now.live_bytes += bytes - live[i];
			live[i] = bytes;
			*vec_push(&p->changes) = (struct profile_change){
				.point = k,
				.site = i,
				.live_bytes = bytes,
				.live_blocks = s->live_blocks,
			};
		}
		now.time_ns = UINT64_C(1000000) * k;
		now.peak_bytes = now.allocated_bytes = now.live_bytes;
		*vec_push(&p->points) = now;
	}
	free(live);
}

int main(int argc, char **argv)
{
	uint32_t sites = argc >= 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	uint32_t points = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	struct profile *p = profile_new();
	struct error e = {0};

	if (!sites || sites > 10000000 || points > 10000) {
		(void)fprintf(stderr, "usage: large_profile OUT SITES [POINTS]\n");
		return 2;
	}
	p->run.program = profile_add_string(p, "app");
	p->run.executable = profile_add_string(p, "/home/me/bin/app");
	p->run.command = profile_add_string(p, "app");
	p->run.mode = profile_add_string(p, "exact");
	p->run.end = PROFILE_END_EXITED;
	p->resolved = true;
	*vec_push(&p->modules) = (struct profile_module){.path = p->run.executable};
	add_frames(p);
	cut_chains(p);
	add_nodes(p, 5 * sites);
	add_sites(p, sites);
	add_points(p, points);
	int result = profile_check(p, &e) == 0 ? profile_write(p, argv[1], &e) : -1;
	if (result != 0)
		(void)fprintf(stderr, "large_profile: %s\n", e.text);
	profile_free(p);
	return result == 0 ? 0 : 1;
}
