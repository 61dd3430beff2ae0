/* rich_profile.c -- writes a profile as large programs give them: rich_profile OUT SITES POINTS
 * [PERIOD]. Runs: by tools/viewer_speed.py.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Unlike large_profile, where all is alike: few stacks have most of the bytes, a few functions do
 * the allocating, nine modules and eight threads share the work, most blocks are freed, and there
 * was a look at the pages of the heap and at what is lost, which names every stack. With PERIOD, in
 * bytes, blocks were sampled. The same arguments give the same profile. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "profile/profile.h"

#define FUNCTIONS  20000u
#define ALLOCATING 60u /* of them: what stacks end in */
#define FRAMES	   60000u
#define MODULES	   9u
#define THREADS	   8u
#define HUBS	   120u /* nodes near the root that all others are below */
#define DEPTH	   60u
#define NEAR	   48u /* nodes back: where a parent is, so that stacks are deep */
#define CELLS	   4000u
#define PAGE	   4096u

static uint64_t state = 1;

/* Knuth's MMIX generator; the high bits are the good ones. */
static uint32_t draw(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % below);
}

/* Small numbers far more often than large ones. */
static uint32_t draw_small(uint32_t below)
{
	return (uint32_t)((uint64_t)draw(below) * draw(below) / below * draw(below) / below);
}

static struct string_id add_text(struct profile *p, char *text)
{
	struct string_id id = profile_add_string(p, text);

	free(text);
	return id;
}

static struct string_id add_function(struct profile *p, uint32_t i)
{
	static const char *const ways[] = {
		"operator new",		  "xmalloc", "std::vector<int>::reserve", "Arena::grow",
		"std::string::_M_create", "g_malloc"};

	if (i < ALLOCATING)
		return add_text(p, mem_format("%s_%u(unsigned long)", ways[i % 6], i));
	return add_text(p, mem_format("app::part%u::Table<int, std::vector<std::string> >::step%u("
				      "std::map<std::string, long> const&, unsigned long)",
				      i % 50, i));
}

static void add_frames(struct profile *p)
{
	for (uint32_t i = 1; i < FRAMES; i++) {
		uint32_t f = i < ALLOCATING * 4 ? i % ALLOCATING : draw(FUNCTIONS);

		*vec_push(&p->frames) = (struct profile_frame){
			.function = add_function(p, f),
			.file = add_text(p, mem_format("/home/me/src/app/table%u.cpp", f % 2000)),
			.line = 1 + draw(5000),
		};
	}
}

static void add_modules(struct profile *p)
{
	for (uint32_t i = 1; i < MODULES; i++)
		*vec_push(&p->modules) = (struct profile_module){
			.path = add_text(p, mem_format("/usr/lib/libapp_part%u.so.1", i)),
		};
}

static void add_node(struct profile *p, uint32_t parent, uint32_t frame)
{
	*vec_push(&p->nodes) = (struct profile_node){
		.pc = UINT64_C(0x400000) + 16 * (uint64_t)draw(1u << 20),
		.parent = parent,
		.module = 1 + frame % MODULES,
		.frames = frame,
	};
}

/* What stacks have in common: each begins below one of the hubs, the first of which have most. */
static void add_inner(struct profile *p, uint32_t count)
{
	uint8_t *depth = mem_new(count + 1, 1);

	for (uint32_t i = 1; i <= count; i++) {
		uint32_t parent = i <= HUBS ? i / 2 : i - 1 - draw(NEAR);

		if (i > HUBS && (depth[parent] == DEPTH || parent < HUBS))
			parent = 1 + draw_small(HUBS - 1);
		depth[i] = (uint8_t)(depth[parent] + 1);
		add_node(p, parent, ALLOCATING * 4 + draw(FRAMES - ALLOCATING * 4));
	}
	free(depth);
}

static uint32_t bucket_of(uint64_t n)
{
	return n ? 64 - (uint32_t)__builtin_clzll(n) : 0;
}

static struct profile_site make_site(uint32_t node)
{
	uint64_t size = UINT64_C(1) << (4 + draw_small(14)), calls = 1 + draw_small(20000);
	uint64_t left = draw(3) ? 0 : 1 + calls / (1 + draw(40));
	uint64_t life = UINT64_C(100) << draw(20);

	if (left > calls)
		left = calls;
	size += draw((uint32_t)size);
	return (struct profile_site){
		.node = node,
		.thread = draw(4) ? 1 + draw_small(THREADS) : 0,
		.allocations = calls,
		.allocated_bytes = calls * size,
		.frees = calls - left,
		.freed_bytes = (calls - left) * size,
		.size_min = size,
		.size_max = size,
		.live_blocks = left,
		.live_bytes = left * size,
		.at_peak_blocks = left + (calls - left) / 2,
		.at_peak_bytes = (left + (calls - left) / 2) * size,
		.own_peak_bytes = (left + (calls - left) / 2) * size,
		.lifetime_min_ns = left < calls ? life : UINT64_MAX,
		.lifetime_max_ns = left < calls ? life * 4 : 0,
		.lifetime_sum_ns = (calls - left) * life * 2,
		.temporary = (calls - left) / (1 + draw(6)),
	};
}

/* Half of a site that several threads share for one, half for the next. */
static void share(struct profile *p, uint32_t i)
{
	const struct profile_site *s = &p->sites.at[i];
	uint32_t first = 1 + draw(THREADS - 1);

	for (uint32_t k = 0; k < 2; k++)
		*vec_push(&p->parts) = (struct profile_part){
			.site = i,
			.thread = first + k,
			.allocations = s->allocations / 2 + (k ? s->allocations % 2 : 0),
			.allocated_bytes =
				s->allocated_bytes / 2 + (k ? s->allocated_bytes % 2 : 0),
			.frees = s->frees / 2 + (k ? s->frees % 2 : 0),
			.freed_bytes = s->freed_bytes / 2 + (k ? s->freed_bytes % 2 : 0),
			.live_blocks = s->live_blocks / 2 + (k ? s->live_blocks % 2 : 0),
			.live_bytes = s->live_bytes / 2 + (k ? s->live_bytes % 2 : 0),
			.at_peak_blocks = s->at_peak_blocks / 2 + (k ? s->at_peak_blocks % 2 : 0),
			.at_peak_bytes = s->at_peak_bytes / 2 + (k ? s->at_peak_bytes % 2 : 0),
			.temporary = s->temporary / 2 + (k ? s->temporary % 2 : 0),
		};
}

static void count_site(struct profile *p, const struct profile_site *s)
{
	struct profile_bucket *b = &p->sizes[bucket_of(s->size_min)];

	b->count += s->allocations;
	b->bytes += s->allocated_bytes;
	b->live_count += s->live_blocks;
	b->live_bytes += s->live_bytes;
	if (s->frees)
		p->size_by_life[bucket_of(s->size_min)][bucket_of(s->lifetime_min_ns)] += s->frees;
	p->totals.allocations += s->allocations;
	p->totals.allocated_bytes += s->allocated_bytes;
	p->totals.frees += s->frees;
	p->totals.freed_bytes += s->freed_bytes;
	p->totals.leaked_blocks += s->live_blocks;
	p->totals.leaked_bytes += s->live_bytes;
	p->totals.peak_blocks += s->at_peak_blocks;
	p->totals.peak_bytes += s->at_peak_bytes;
	p->totals.temporary_allocations += s->temporary;
}

static void add_sites(struct profile *p, uint32_t count, uint32_t inner)
{
	for (uint32_t i = 0; i < count; i++) {
		add_node(p, 1 + draw(inner), 1 + draw_small(ALLOCATING * 4 - 1));
		*vec_push(&p->sites) = make_site((uint32_t)p->nodes.count - 1);
		if (!p->sites.at[i].thread)
			share(p, i);
		count_site(p, &p->sites.at[i]);
	}
	p->totals.stacks = count;
	p->totals.threads = THREADS;
}

static void add_threads(struct profile *p)
{
	for (uint32_t i = 1; i <= THREADS; i++)
		*vec_push(&p->threads) = (struct profile_thread){
			.tid = 1000 + i,
			.serial = i,
			.name = add_text(p, mem_format("worker %u", i)),
			.end_ns = UINT64_MAX,
			.lifetime_min_ns = UINT64_MAX,
			.size_min = UINT64_MAX,
		};
	for (size_t i = 0; i < p->sites.count; i++) {
		const struct profile_site *s = &p->sites.at[i];
		struct profile_thread *t = &p->threads.at[s->thread ? s->thread - 1 : 0];

		t->allocations += s->allocations;
		t->allocated_bytes += s->allocated_bytes;
		t->live_bytes += s->live_bytes;
		t->own_peak_bytes += s->at_peak_bytes;
	}
}

/* Stacks take turns: at each point every TURNS-th has changed. The highest is in the middle. */
static void add_points(struct profile *p, uint32_t count)
{
	enum { TURNS = 125 };
	struct profile_point now = {0};
	uint64_t *live = mem_new(p->sites.count, sizeof(*live));

	for (uint32_t k = 0; k < count; k++) {
		for (uint32_t i = k % TURNS; i < p->sites.count; i += TURNS) {
			const struct profile_site *s = &p->sites.at[i];
			uint64_t bytes = k * 2 < count ? s->at_peak_bytes / count * 2 * k
						       : s->at_peak_bytes / 2;

			if (k + TURNS >= count)
				bytes = s->live_bytes;
			now.live_bytes += bytes - live[i];
			now.allocated_bytes += bytes > live[i] ? bytes - live[i] : 0;
			live[i] = bytes;
			*vec_push(&p->changes) =
				(struct profile_change){.point = k,
							.site = i,
							.live_bytes = bytes,
							.live_blocks = s->live_blocks};
		}
		now.time_ns = UINT64_C(10000000) * (k + 1);
		now.peak_bytes = now.live_bytes;
		now.rss_bytes = now.live_bytes + (UINT64_C(20) << 20);
		now.allocations += 1000 + draw(100);
		now.frees += 900 + draw(100);
		*vec_push(&p->points) = now;
	}
	free(live);
}

/* What a site had live at a look. */
static void add_pin(struct profile *p, struct profile_survey *survey, struct profile_pin pin)
{
	uint64_t pages = (pin.live_bytes + pin.live_bytes / (1 + draw(8))) / PAGE * PAGE + PAGE;

	if (!pin.live_blocks)
		return;
	pin.survey = (uint32_t)p->surveys.count;
	pin.resident_bytes = pages;
	pin.pinned_bytes = pages - pin.live_bytes;
	*vec_push(&p->pins) = pin;
	survey->live_blocks += pin.live_blocks;
	survey->live_bytes += pin.live_bytes;
	survey->resident_bytes += pages;
}

static void add_survey(struct profile *p, struct profile_survey survey)
{
	for (uint32_t i = 0; i < CELLS; i++) {
		uint32_t resident = draw(9), held = draw(resident + 1);

		*vec_push(&p->cells) = (struct profile_cell){
			.survey = (uint32_t)p->surveys.count,
			.pages = 8,
			.resident_pages = resident,
			.held_pages = held,
			.live_bytes = (uint64_t)held * (1 + draw(PAGE)),
			.site = held ? 1 + draw((uint32_t)p->sites.count) : 0,
			.start = UINT64_C(0x10000000) + (uint64_t)i * 8 * PAGE,
		};
	}
	survey.touched_bytes = survey.live_bytes;
	survey.held_bytes = survey.resident_bytes;
	survey.pinned_bytes = survey.resident_bytes - survey.live_bytes;
	survey.rss_bytes = survey.resident_bytes;
	*vec_push(&p->surveys) = survey;
}

/* A look when half of the time is over, and one at the end: all that is left is on pages, and lost
 * or held. */
static void add_looks(struct profile *p)
{
	struct profile_survey peak = {.reason = PROFILE_REASON_PEAK,
				      .time_ns = p->points.at[p->points.count / 2].time_ns};
	struct profile_survey end = {.reason = PROFILE_REASON_END,
				     .time_ns = p->points.at[p->points.count - 1].time_ns};
	const struct profile_site *sites = p->sites.at;

	for (uint32_t i = 0; i < p->sites.count; i++)
		add_pin(p, &peak,
			(struct profile_pin){.site = i,
					     .live_blocks = sites[i].at_peak_blocks,
					     .live_bytes = sites[i].at_peak_bytes});
	add_survey(p, peak);
	for (uint32_t i = 0; i < p->sites.count; i++) {
		add_pin(p, &end,
			(struct profile_pin){.site = i,
					     .live_blocks = sites[i].live_blocks,
					     .live_bytes = sites[i].live_bytes});
		if (sites[i].live_blocks)
			*vec_push(&p->lost) =
				(struct profile_lost){.site = i,
						      .class = draw(PROFILE_LOST_CLASSES),
						      .blocks = sites[i].live_blocks,
						      .bytes = sites[i].live_bytes};
	}
	add_survey(p, end);
	p->run.lost_flags = PROFILE_LOST_CHECKED | PROFILE_LOST_AT_EXIT;
	p->run.lost_time_ns = 1;
}

/* The program's own maps are as many as its stacks. */
static void add_maps(struct profile *p)
{
	for (uint32_t k = 0; k < PROFILE_MAP_KINDS; k++)
		*vec_push(&p->map_kinds) = (struct profile_site){
			.kind = k, .size_min = UINT64_MAX, .lifetime_min_ns = UINT64_MAX};
	for (size_t i = 0; i < p->sites.count; i += 10) {
		struct profile_site s = p->sites.at[i], *kind;

		s.kind = i / 10 % PROFILE_MAP_ALLOCATOR;
		s.thread = 0;
		*vec_push(&p->map_sites) = s;
		kind = &p->map_kinds.at[s.kind];
		kind->allocations += s.allocations;
		kind->allocated_bytes += s.allocated_bytes;
		kind->frees += s.frees;
		kind->freed_bytes += s.freed_bytes;
		kind->live_blocks += s.live_blocks;
		kind->live_bytes += s.live_bytes;
	}
}

/* One block in PERIOD bytes was kept: what that makes doubtful is as much as it can be. */
static void sample(struct profile *p, uint64_t period)
{
	p->run.sample_period = period;
	for (size_t i = 0; i < p->sites.count; i++) {
		struct profile_site *s = &p->sites.at[i];

		s->live_doubt.bytes = s->live_bytes / 3;
		s->at_peak_doubt.bytes = s->at_peak_bytes / 3;
		s->allocated_doubt.bytes = s->allocated_bytes / 3;
	}
}

static void begin(struct profile *p, uint32_t points)
{
	p->run.program = profile_add_string(p, "app");
	p->run.executable = profile_add_string(p, "/home/me/bin/app");
	p->run.command = profile_add_string(p, "app");
	p->run.mode = profile_add_string(p, "exact");
	p->run.duration_ns = UINT64_C(10000000) * (points + 1);
	p->run.page_bytes = PAGE;
	p->run.end = PROFILE_END_EXITED;
	p->resolved = true;
	*vec_push(&p->modules) = (struct profile_module){.path = p->run.executable};
}

int main(int argc, char **argv)
{
	uint32_t sites = argc >= 4 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	uint32_t points = argc >= 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
	struct profile *p = profile_new();
	struct error e = {0};

	if (!sites || sites > 10000000 || !points || points > 10000) {
		(void)fprintf(stderr, "usage: rich_profile OUT SITES POINTS [PERIOD]\n");
		return 2;
	}
	begin(p, points);
	add_modules(p);
	add_frames(p);
	add_inner(p, 2 * sites);
	add_sites(p, sites, 2 * sites);
	add_threads(p);
	add_points(p, points);
	add_looks(p);
	add_maps(p);
	if (argc == 5)
		sample(p, strtoul(argv[4], NULL, 10));
	int result = profile_check(p, &e) == 0 ? profile_write(p, argv[1], &e) : -1;
	if (result != 0)
		(void)fprintf(stderr, "rich_profile: %s\n", e.text);
	profile_free(p);
	return result == 0 ? 0 : 1;
}
