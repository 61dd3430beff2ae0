/* objects.c -- which objects a process has loaded, and which of their pages are in memory.
 * Runs: in the collector process, one thread, when somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's list of mappings is all that is asked: a file that is mapped executable is an
 * object. Where its variables are is found out offline, from the file. */
#include "collect/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define RUNS_MOST 262144u /* an honest program has a few thousand */
#define PAGE_MOST 65536u  /* objects end inside of their last page, segments begin with one */

void objects_fini(struct objects *o)
{
	vec_free(&o->list);
	vec_free(&o->runs);
	vec_free(&o->names);
	*o = (struct objects){0};
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Where an object whose file's own maps are up to `last` ends. What is zero at the start is behind
 * them: in several maps without a gap if the program has advised or protected parts of it, the
 * first after the rest of a page if that is a segment of its own. The guard of a thread's stack, or
 * code that the program has made, is nothing of the object's. The kernel may have joined what is
 * behind: no variable will be found there. */
static uint64_t find_end(const struct regions *regions, size_t last)
{
	uint64_t end = regions->list.at[last].end, gap_most = PAGE_MOST - 1;

	for (size_t i = last + 1; i < regions->list.count; i++) {
		const struct region *next = &regions->list.at[i];

		if (next->start - end > gap_most || !region_is_anonymous(next) ||
		    !next->is_readable || next->is_executable || regions_get_name(regions, next)[0])
			break;
		end = next->end;
		gap_most = 0;
	}
	return end;
}

/* The maps from `first` on that are of one object; `*end` is where they end. 0: it is none. */
static size_t count_maps(const struct regions *regions, size_t first, uint64_t *end)
{
	const struct region *from = &regions->list.at[first];
	bool is_code = false;
	size_t last = first;

	if (!from->inode || from->offset || regions_get_name(regions, from)[0] != '/')
		return 0;
	for (size_t i = first; i < regions->list.count; i++) {
		const struct region *region = &regions->list.at[i];
		bool is_same = region->inode == from->inode && region->name == from->name;

		if (!is_same &&
		    strcmp(regions_get_name(regions, region), regions_get_name(regions, from)) != 0)
			break;
		is_code = is_code || region->is_executable;
		last = i;
	}
	*end = find_end(regions, last);
	return is_code ? last - first + 1 : 0;
}

static uint32_t add_name(struct objects *o, const char *name)
{
	uint32_t at = (uint32_t)o->names.count;

	for (size_t i = 0; i <= strlen(name); i++)
		*vec_push(&o->names) = name[i];
	return at;
}

static void note_run(void *context, const struct pagemap_run *run)
{
	struct objects *o = context;

	if ((run->state & PAGEMAP_RESIDENT) && o->runs.count <= RUNS_MOST)
		*vec_push(&o->runs) = *run;
}

static int look_at(struct objects *o, struct loaded_object object, struct pagemap *pages,
		   struct error *e)
{
	const struct pagemap_run range = {.start = object.start, .end = object.end};

	if (pagemap_visit(pages, &range, note_run, o, e) != 0)
		return -1;
	if (o->runs.count > RUNS_MOST) /* some of them would say that nothing is resident */
		return error_set(e, "its pages are in more than %u pieces", RUNS_MOST);
	object.runs = o->runs.count;
	*vec_push(&o->list) = object;
	return 0;
}

int objects_look(struct objects *o, const struct regions *regions, struct pagemap *pages,
		 uint64_t left_out, struct error *e)
{
	objects_fini(o);
	for (size_t i = 0; i < regions->list.count;) {
		const struct region *region = &regions->list.at[i];
		uint64_t end = 0;
		size_t maps = count_maps(regions, i, &end);

		i += maps ? maps : 1;
		if (!maps || (left_out >= region->start && left_out < end))
			continue;
		const struct loaded_object object = {
			.start = region->start,
			.end = end,
			.name = add_name(o, regions_get_name(regions, region)),
		};
		if (look_at(o, object, pages, e) != 0) {
			objects_fini(o);
			return -1;
		}
	}
	return 0;
}

/* ---- for the profile ------------------------------------------------------------------------- */

/* The last one that was loaded there, or a new one. */
static uint32_t find_module(const struct objects *o, const struct loaded_object *object,
			    struct profile *p)
{
	for (size_t i = p->modules.count; i-- > 1;)
		if (p->modules.at[i].map_start == object->start)
			return (uint32_t)i;
	*vec_push(&p->modules) = (struct profile_module){
		.path = profile_add_string(p, o->names.at + object->name),
		.bias = object->start,
		.map_start = object->start,
		.map_end = object->end,
	};
	return (uint32_t)p->modules.count - 1;
}

static int compare_extents(const void *left, const void *right)
{
	const struct profile_extent *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/* What is behind the object's own end is something else. */
static void add_extent(struct profile *p, uint32_t module, const struct pagemap_run *run,
		       uint64_t module_end)
{
	uint64_t page_end = (module_end + PAGE_MOST - 1) / PAGE_MOST * PAGE_MOST;
	uint64_t end = run->end < page_end ? run->end : page_end;

	if (run->start < end)
		*vec_push(&p->extents) = (struct profile_extent){
			.module = module,
			.start = run->start,
			.bytes = end - run->start,
		};
}

static void build_extents(const struct objects *o, struct profile *p)
{
	size_t run = 0;

	for (size_t i = 0; i < o->list.count; i++) {
		uint32_t module = find_module(o, &o->list.at[i], p);
		uint64_t end = p->modules.at[module].map_end;

		for (; run < o->list.at[i].runs; run++)
			add_extent(p, module, &o->runs.at[run], end);
	}
	if (p->extents.count)
		qsort(p->extents.at, p->extents.count, sizeof(*p->extents.at), compare_extents);
}

static int compare_times(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The most threads that lived at once, of those that are known. */
static uint32_t count_threads(const struct profile *p)
{
	size_t count = p->threads.count, ended = 0, most = 0;
	uint64_t *starts = mem_new(count + 1, sizeof(*starts));
	uint64_t *ends = mem_new(count + 1, sizeof(*ends));

	for (size_t i = 0; i < count; i++) {
		starts[i] = p->threads.at[i].start_ns;
		ends[i] = p->threads.at[i].end_ns;
	}
	qsort(starts, count, sizeof(*starts), compare_times);
	qsort(ends, count, sizeof(*ends), compare_times);
	for (size_t i = 0; i < count; i++) {
		while (ended < i && ends[ended] <= starts[i])
			ended++;
		most = i + 1 - ended > most ? i + 1 - ended : most;
	}
	free(starts);
	free(ends);
	return most ? (uint32_t)most : 1;
}

void objects_build(const struct objects *o, struct profile *p, uint64_t time_ns)
{
	uint32_t known = count_threads(p);

	p->run.globals_threads = o->threads > known ? o->threads : known;
	if (!o->ticks)
		return;
	p->run.globals_time_ns = time_ns ? time_ns : 1;
	build_extents(o, p);
}
