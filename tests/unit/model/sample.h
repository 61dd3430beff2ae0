/* sample.h -- profiles made by hand, for the tests of model/, report/ and cli/. Runs: in unit
 * tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_SAMPLE_H
#define MIDDEN_TESTS_SAMPLE_H

#include <string.h>

#include "profile/profile.h"

#define SAMPLE_BIAS UINT64_C(0x400000)

/* A resolved profile of /src/app with module 1, /src/app, and nothing allocated. */
static inline struct profile *sample_new(void)
{
	struct profile *p = profile_new();

	p->resolved = true;
	p->run.program = profile_add_string(p, "app");
	p->run.executable = profile_add_string(p, "/src/app");
	p->run.command = profile_add_string(p, "./app -x");
	p->run.directory = profile_add_string(p, "/src");
	p->run.mode = profile_add_string(p, "exact");
	p->run.pid = 42;
	p->run.end = PROFILE_END_EXITED;
	p->run.duration_ns = UINT64_C(1500000000);
	p->totals.threads = 1;
	*vec_push(&p->modules) = (struct profile_module){
		.path = profile_add_string(p, "/src/app"),
		.bias = SAMPLE_BIAS,
		.map_start = SAMPLE_BIAS,
		.map_end = SAMPLE_BIAS + 0x10000,
	};
	return p;
}

static inline uint32_t sample_module(struct profile *p, const char *path)
{
	struct string_id id = profile_add_string(p, path);

	*vec_push(&p->modules) = (struct profile_module){.path = id, .bias = SAMPLE_BIAS};
	return (uint32_t)p->modules.count - 1;
}

static inline uint32_t sample_frame(struct profile *p, const char *function, const char *file,
				    uint32_t line, uint32_t next)
{
	struct profile_frame frame = {
		.function = profile_add_string(p, function),
		.file = profile_add_string(p, file),
		.line = line,
		.next = next,
	};

	*vec_push(&p->frames) = frame;
	return (uint32_t)p->frames.count - 1;
}

/* A stack node in a module, at offset `node number` x 16; `frame` 0 leaves it without symbols. */
static inline uint32_t sample_node_in(struct profile *p, uint32_t parent, uint32_t module,
				      uint32_t frame)
{
	uint32_t index = (uint32_t)p->nodes.count;

	*vec_push(&p->nodes) = (struct profile_node){
		.pc = SAMPLE_BIAS + 16 * (uint64_t)index,
		.parent = parent,
		.module = module,
		.frames = frame,
	};
	return index;
}

/* A frame of Python, which has no address. */
static inline uint32_t sample_python(struct profile *p, uint32_t parent, const char *function,
				     uint32_t line)
{
	uint32_t frame = sample_frame(p, function, "/src/app.py", line, 0);

	*vec_push(&p->nodes) = (struct profile_node){
		.parent = parent, .frames = frame, .named = PROFILE_NAMED_PYTHON};
	return (uint32_t)p->nodes.count - 1;
}

static inline uint32_t sample_node(struct profile *p, uint32_t parent, const char *function,
				   uint32_t line)
{
	return sample_node_in(p, parent, 1, sample_frame(p, function, "/src/app.c", line, 0));
}

/* A site that holds all it ever allocated at the peak and leaks it; the totals follow. */
static inline struct profile_site *sample_site(struct profile *p, uint32_t node, uint64_t bytes,
					       uint64_t blocks)
{
	struct profile_site *site = vec_push(&p->sites);

	*site = (struct profile_site){
		.node = node,
		.allocations = blocks,
		.allocated_bytes = bytes,
		.size_min = blocks ? bytes / blocks : UINT64_MAX,
		.size_max = blocks ? bytes / blocks : 0,
		.live_blocks = blocks,
		.live_bytes = bytes,
		.at_peak_blocks = blocks,
		.at_peak_bytes = bytes,
		.own_peak_bytes = bytes,
		.lifetime_min_ns = UINT64_MAX,
	};
	p->totals.stacks++;
	p->totals.allocations += blocks;
	p->totals.allocated_bytes += bytes;
	p->totals.peak_bytes += bytes;
	p->totals.peak_blocks += blocks;
	p->totals.leaked_bytes += bytes;
	p->totals.leaked_blocks += blocks;
	return site;
}

/* main calls load (two lines of it) and save; table_new, called by both, makes the blocks:
 *	main:10 load:20 table_new:30   600 bytes in 6     main:10 load:21 table_new:30   100 bytes
 *in 1 main:11 save:40 table_new:30   250 bytes in 2     main:11 save:40                 50 bytes in
 *1 */
static inline struct profile *sample_tables(void)
{
	struct profile *p = sample_new();
	uint32_t loading = sample_node(p, 0, "main", 10);
	uint32_t saving = sample_node(p, 0, "main", 11);
	uint32_t load1 = sample_node(p, loading, "load", 20);
	uint32_t load2 = sample_node(p, loading, "load", 21);
	uint32_t save = sample_node(p, saving, "save", 40);

	sample_site(p, sample_node(p, load1, "table_new", 30), 600, 6);
	sample_site(p, sample_node(p, load2, "table_new", 30), 100, 1);
	sample_site(p, sample_node(p, save, "table_new", 30), 250, 2);
	sample_site(p, save, 50, 1);
	return p;
}

#endif
