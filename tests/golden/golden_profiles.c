/* golden_profiles.c -- writes two small profiles of a program that never was: golden_profiles DIR
 * makes DIR/old.mdn and DIR/new.mdn. Runs: by hand, when the golden files are renewed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both have recursion, a library, C++ names, two threads, a time line and what the C library keeps.
 * In the new one lines have moved, tables are larger, settings leak and there is a hoard. They are
 * resolved, so that nothing of the machine is in what reports show. */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/model/sample.h"
#include "base/mem.h"

#define MS	     UINT64_C(1000000)
#define MAIN_THREAD  1u
#define OTHER_THREAD 2u

/* What a stack did in all, and what of it was there at the peak and at the end. */
struct deeds {
	uint64_t size;
	uint64_t calls;
	uint64_t at_peak;
	uint64_t at_end;
	uint64_t temporary;
};

static uint32_t get_bucket(uint64_t size)
{
	return size ? 64u - (uint32_t)__builtin_clzll(size) : 0;
}

static void count_sizes(struct profile *p, const struct deeds *d)
{
	struct profile_bucket *b = &p->sizes[get_bucket(d->size)];

	b->count += d->calls;
	b->bytes += d->calls * d->size;
	b->live_count += d->at_end;
	b->live_bytes += d->at_end * d->size;
	p->size_by_life[get_bucket(d->size)][get_bucket(MS)] += d->calls - d->at_end;
}

static void count_thread(struct profile_thread *t, const struct deeds *d)
{
	t->allocations += d->calls;
	t->allocated_bytes += d->calls * d->size;
	t->frees += d->calls - d->at_end;
	t->freed_bytes += (d->calls - d->at_end) * d->size;
	t->temporary += d->temporary;
	t->live_blocks += d->at_end;
	t->live_bytes += d->at_end * d->size;
	t->at_peak_blocks += d->at_peak;
	t->at_peak_bytes += d->at_peak * d->size;
	t->own_peak_bytes += d->at_peak * d->size;
	t->size_min = d->size < t->size_min ? d->size : t->size_min;
	t->size_max = d->size > t->size_max ? d->size : t->size_max;
}

static void count_totals(struct profile_totals *t, const struct deeds *d)
{
	t->stacks++;
	t->allocations += d->calls;
	t->allocated_bytes += d->calls * d->size;
	t->frees += d->calls - d->at_end;
	t->freed_bytes += (d->calls - d->at_end) * d->size;
	t->temporary_allocations += d->temporary;
	t->peak_blocks += d->at_peak;
	t->peak_bytes += d->at_peak * d->size;
	t->leaked_blocks += d->at_end;
	t->leaked_bytes += d->at_end * d->size;
}

static void add_site(struct profile *p, uint32_t node, uint32_t thread, struct deeds d)
{
	uint64_t frees = d.calls - d.at_end;

	*vec_push(&p->sites) = (struct profile_site){
		.node = node,
		.thread = thread,
		.allocations = d.calls,
		.allocated_bytes = d.calls * d.size,
		.frees = frees,
		.freed_bytes = frees * d.size,
		.size_min = d.size,
		.size_max = d.size,
		.live_blocks = d.at_end,
		.live_bytes = d.at_end * d.size,
		.at_peak_blocks = d.at_peak,
		.at_peak_bytes = d.at_peak * d.size,
		.own_peak_bytes = d.at_peak * d.size,
		.own_peak_time_ns = 700 * MS,
		.lifetime_min_ns = frees ? MS : UINT64_MAX,
		.lifetime_max_ns = frees ? MS : 0,
		.lifetime_sum_ns = frees * MS,
		.temporary = d.temporary,
	};
	count_sizes(p, &d);
	count_thread(&p->threads.at[thread - 1], &d);
	count_totals(&p->totals, &d);
}

static void add_thread(struct profile *p, uint32_t serial, const char *name)
{
	struct string_id id = profile_add_string(p, name);

	*vec_push(&p->threads) = (struct profile_thread){
		.tid = 41 + serial,
		.serial = serial,
		.name = id,
		.end_ns = p->run.duration_ns,
		.size_min = UINT64_MAX,
		.lifetime_min_ns = MS,
		.lifetime_max_ns = MS,
	};
	p->totals.threads = serial;
}

/* Three points: half of what the peak had, the peak, the end. */
static void add_time_line(struct profile *p)
{
	const struct profile_totals *t = &p->totals;

	for (uint32_t point = 0; point < 3; point++) {
		uint64_t live = 0, blocks = 0;
		for (uint32_t i = 0; i < p->sites.count; i++) {
			const struct profile_site *s = &p->sites.at[i];
			uint64_t now = point == 2   ? s->live_blocks
				       : point == 1 ? s->at_peak_blocks
						    : s->at_peak_blocks / 2;
			*vec_push(&p->changes) =
				(struct profile_change){point, i, now * s->size_max, now};
			live += now * s->size_max;
			blocks += now;
		}
		*vec_push(&p->points) = (struct profile_point){
			.time_ns = (point + 1) * 400 * MS,
			.live_bytes = live,
			.live_blocks = blocks,
			.peak_bytes = live,
			.allocations = t->allocations * (point + 1) / 3,
			.allocated_bytes = t->allocated_bytes * (point + 1) / 3,
			.frees = t->frees * (point + 1) / 3,
			.freed_bytes = t->freed_bytes * (point + 1) / 3,
			.rss_bytes = 4u << 20,
		};
	}
	p->totals.peak_time_ns = 800 * MS;
	p->totals.rss_peak_bytes = 4u << 20;
	p->totals.own_memory_bytes = 1u << 20;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void add_main_thread(struct profile *p, uint32_t libc, uint32_t moved, bool is_new)
{
	uint32_t start = sample_node_in(
		p, 0, libc, sample_frame(p, "__libc_start_main", "/libc/start.c", 58, 0));
	uint32_t root = sample_node(p, start, "main", 10 + moved);
	uint32_t load = sample_node(p, root, "load", 20 + moved);
	uint32_t parse = sample_node(p, root, "parse", 50 + moved);
	uint32_t print =
		sample_node_in(p, root, libc, sample_frame(p, "printf", "/libc/printf.c", 33, 0));

	add_site(p, sample_node(p, load, "table_new", 30 + moved), MAIN_THREAD,
		 (struct deeds){is_new ? 8192 : 4096, 64, 64, 0, 0});
	for (unsigned i = 0; i < 4; i++)
		parse = sample_node(p, parse, "parse", 52 + moved);
	add_site(p, sample_node(p, parse, "node_new", 60 + moved), MAIN_THREAD,
		 (struct deeds){24, 5000, 1000, 0, 0});
	add_site(p, sample_node(p, root, "read_settings", 70 + moved), MAIN_THREAD,
		 (struct deeds){100, 3, 3, is_new ? 3 : 1, 0});
	add_site(p,
		 sample_node_in(
			 p, print, libc,
			 sample_frame(p, "_IO_file_doallocate", "/libc/filedoalloc.c", 101, 0)),
		 MAIN_THREAD, (struct deeds){1024, 1, 1, 1, 0});
	if (is_new)
		add_site(p, sample_node(p, root, "hoard", 90 + moved), MAIN_THREAD,
			 (struct deeds){512, 40, 40, 40, 0});
	else
		add_site(p, sample_node(p, root, "draft", 95), MAIN_THREAD,
			 (struct deeds){2000, 2, 2, 0, 0});
}

/* An inlined lambda, and a library without names. */
static void add_other_thread(struct profile *p, uint32_t libc, uint32_t moved)
{
	uint32_t lib = sample_module(p, "/usr/lib/libshapes.so.2");
	uint32_t start = sample_node_in(p, 0, libc,
					sample_frame(p, "start_thread", "/libc/thread.c", 442, 0));
	uint32_t work = sample_frame(p, "work()", "/src/work.cpp", 12 + moved, 0);
	uint32_t lambda = sample_frame(p, "work()::$_0::operator()(int) const", "/src/work.cpp",
				       15 + moved, work);
	uint32_t node = sample_node_in(p, start, 1, lambda);

	add_site(p,
		 sample_node_in(p, node, 1,
				sample_frame(p,
					     "std::vector<int, std::allocator<int> "
					     ">::reserve(unsigned long)",
					     "/usr/include/c++/12/bits/vector.tcc", 79, 0)),
		 OTHER_THREAD, (struct deeds){400, 300, 10, 0, 290});
	add_site(p, sample_node_in(p, node, lib, 0), OTHER_THREAD,
		 (struct deeds){48, 20, 20, 0, 0});
}

static int write_profile(const char *directory, bool is_new)
{
	struct error e = {.offset = -1};
	struct profile *p = sample_new();
	uint32_t libc = sample_module(p, "/lib/libc.so.6");
	uint32_t moved = is_new ? 3 : 0;
	char *path = mem_format("%s/%s.mdn", directory, is_new ? "new" : "old");

	p->run.pid = is_new ? 43 : 42;
	add_thread(p, MAIN_THREAD, "app");
	add_thread(p, OTHER_THREAD, "worker");
	add_main_thread(p, libc, moved, is_new);
	add_other_thread(p, libc, moved);
	add_time_line(p);
	int result = profile_check(p, &e) == 0 ? profile_write(p, path, &e) : -1;
	if (result != 0)
		fprintf(stderr, "golden_profiles: %s: %s\n", path, e.text);
	profile_free(p);
	free(path);
	return result;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: golden_profiles DIR\n", stderr);
		return 2;
	}
	return write_profile(argv[1], false) == 0 && write_profile(argv[1], true) == 0 ? 0 : 1;
}
