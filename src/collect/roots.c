/* roots.c -- which memory of a process is read when looking for what is lost, and what it is.
 * Runs: in the collector process, one thread, while the target is stopped and after that.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/roots.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/libc_arenas.h"
#include "collect/registers.h"

#define LOCAL_BYTES  4096u		   /* around a thread pointer; most have less */
#define TABLE_WORDS  2u			   /* where in its descriptor a thread has its table */
#define TABLE_OFFSET 16u		   /* glibc's: behind the number of entries */
#define SLICE_BYTES  (UINT64_C(1) << 30)   /* a millisecond, and a multiple of every page */
#define SMALL_BYTES  (UINT64_C(128) << 10) /* the loader's maps are small, an allocator's are not */

/* What the target can change at any time is read one single time. */
#define read_once(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static const char *find_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- before the stop ------------------------------------------------------------------------- */

/* The library's maps are told by what only they are advised to be: wiped in a fork child, and left
 * out of core dumps. */
static void take_flags(struct roots *r, const char *flags, struct gather_range range)
{
	if (strstr(flags, " wf") && strstr(flags, " dd"))
		*vec_push(&r->own) = range;
	else if (strstr(flags, " wf") || strstr(flags, " dc"))
		*vec_push(&r->apart) = range;
	if (strstr(flags, " um") || strstr(flags, " uw") || strstr(flags, " ui"))
		r->is_guarded = true;
}

static void list_flags(struct roots *r, pid_t pid)
{
	char path[64];
	char *line = NULL;
	size_t room = 0;
	struct gather_range range = {0};

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	FILE *smaps = fopen(path, "re");
	while (smaps && getline(&line, &room, smaps) > 0) {
		uint64_t start, end;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2)
			range = (struct gather_range){start, end};
		else if (strncmp(line, "VmFlags:", 8) == 0)
			take_flags(r, line + 8, range);
	}
	free(line);
	if (smaps)
		(void)fclose(smaps);
}

void roots_prepare(struct roots *r, const struct segment_map *map, pid_t pid)
{
	r->map = map;
	list_flags(r, pid);
}

/* ---- what is what ---------------------------------------------------------------------------- */

static bool is_among(const struct gather_range *list, size_t count, const struct region *region)
{
	for (size_t i = 0; i < count; i++)
		if (region->start >= list[i].start && region->end <= list[i].end)
			return true;
	return false;
}

/* The file whose variables a region has: its own, or that of the region before it, which goes on
 * without a file where variables begin as 0. */
static const struct region *find_owner(const struct roots *r, const struct region *region)
{
	if (region->inode)
		return region;
	if (region == r->regions.list.at || region->name || region[-1].end != region->start ||
	    region[-1].is_shared || !region[-1].inode)
		return NULL;
	return region - 1;
}

/* Reads what the target says itself: only compared, never followed. */
static uint32_t find_module(const struct roots *r, uint64_t address)
{
	uint32_t used = atomic_load_explicit(&r->map->header->modules_used, memory_order_acquire);

	for (uint32_t i = 1; i <= used && i < r->map->layout.module_count; i++) {
		const struct segment_module *m = &r->map->modules[i];

		/* Pairs with the release that follows the last field. */
		if (atomic_load_explicit(&m->ready, memory_order_acquire) == 1 &&
		    address >= read_once(m->map_start) && address < read_once(m->map_end))
			return i;
	}
	return 0;
}

static void find_malloc(struct roots *r)
{
	const struct region *code =
		regions_find(&r->regions, read_once(r->map->header->real_malloc));
	const char *name = code ? find_base(regions_get_name(&r->regions, code)) : "";

	r->malloc_inode = code ? code->inode : 0;
	r->is_libc = strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0 ||
		     strncmp(name, "ld-musl", 7) == 0;
}

static bool is_wanted(const struct roots *r, const struct region *region)
{
	return region->is_readable && region->is_writable && !region->is_shared &&
	       strncmp(regions_get_name(&r->regions, region), "[v", 2) != 0 &&
	       !is_among(r->own.at, r->own.count, region);
}

/* Variables of the program's, not of ours or of an allocator that stands in for libc's. */
static bool is_program_file(const struct roots *r, const struct region *owner)
{
	if (strncmp(find_base(regions_get_name(&r->regions, owner)), "libmidden", 9) == 0)
		return false;
	return r->is_libc || owner->inode != r->malloc_inode;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool is_inside(const struct region *region, uint64_t address)
{
	return address >= region->start && address < region->end;
}

/* The thread whose stack pointer is the lowest in a region, or whose descriptor is there; NULL. */
static const struct halt_thread *find_tenant(const struct halt *h, const struct region *region)
{
	const struct halt_thread *found = NULL;

	for (size_t i = 0; i < h->threads.count; i++) {
		const struct halt_thread *t = &h->threads.at[i];

		if (is_inside(region, t->sp) &&
		    (!found || !is_inside(region, found->sp) || t->sp < found->sp))
			found = t;
		else if (!found && is_inside(region, t->pointer))
			found = t;
	}
	return found;
}

/* Where in the region the descriptor of a thread was, of those that the target has said to have a
 * stack; 0: there was none. */
static uint64_t find_old_stack(const struct roots *r, const struct region *region)
{
	uint32_t used = atomic_load_explicit(&r->map->header->slots_used, memory_order_relaxed);

	for (uint32_t i = 1; i <= used && i < r->map->layout.slot_count; i++) {
		uint64_t high = read_once(r->map->slots[i].stack_high);

		if (is_inside(region, high))
			return high & ~UINT64_C(7);
	}
	return 0;
}

/* ---- spans ----------------------------------------------------------------------------------- */

static void add_span(struct roots *r, struct root_span span)
{
	span.start = (span.start + 7) & ~UINT64_C(7);
	span.end &= ~UINT64_C(7);
	if (span.start < span.end)
		*vec_push(&r->spans) = span;
}

/* A span with what lies around the pointers of threads apart. */
static void add_with_locals(struct roots *r, const struct halt *h, struct root_span span)
{
	for (size_t i = 0; h && i < h->threads.count; i++) {
		const struct halt_thread *t = &h->threads.at[i];

		if (t->pointer < span.start || t->pointer >= span.end)
			continue;
		struct root_span before = span, local = span, after = span;
		before.end = t->pointer - span.start > LOCAL_BYTES ? t->pointer - LOCAL_BYTES
								   : span.start;
		local.start = before.end;
		local.end =
			span.end - t->pointer > LOCAL_BYTES ? t->pointer + LOCAL_BYTES : span.end;
		local.kind = ROOT_LOCAL;
		local.tid = t->tid;
		local.pointer = t->pointer;
		after.start = local.end;
		add_span(r, before);
		add_span(r, local);
		/* Further threads in one region are rare, and lie behind or are left whole. */
		span = after;
	}
	add_span(r, span);
}

/* Where a thread had its stack, which may be gone and something else be there; and what the kernel
 * has joined to it, which lies behind the descriptor. */
static void add_kept(struct roots *r, struct root_span span, uint64_t old)
{
	struct root_span after = span;

	span.pointer = old;
	if (span.end - old > LOCAL_BYTES)
		span.end = old + LOCAL_BYTES;
	after.start = span.end;
	add_span(r, span);
	add_span(r, after);
}

/* Of a thread that exits: the frames of exit() lie over those that the program has left, and have
 * words of these where they have written none. What the program had in registers stays. */
static void add_exiting(struct roots *r, const struct halt *h, struct root_span span)
{
	struct root_span registers = span;

	registers.start = r->exit_registers;
	registers.end = r->exit_registers + SEGMENT_REGISTERS * sizeof(uint64_t);
	if (registers.start >= span.start && registers.end > registers.start &&
	    registers.end <= r->exit_stack)
		add_span(r, registers);
	span.start = r->exit_stack;
	add_with_locals(r, h, span);
}

static void add_stack(struct roots *r, const struct halt *h, struct root_span span)
{
	const struct region *region = &r->regions.list.at[span.region];
	const struct halt_thread *t = find_tenant(h, region);

	if (t && is_inside(region, t->sp)) {
		uint64_t start = t->sp - REGISTERS_BELOW_BYTES;

		span.kind = ROOT_STACK;
		span.tid = t->tid;
		if (start > region->start && start < t->sp)
			span.start = start;
		if (is_inside(region, r->exit_stack) && r->exit_stack >= t->sp)
			add_exiting(r, h, span);
		else
			add_with_locals(r, h, span);
		return;
	}
	uint64_t old = find_old_stack(r, region);
	if (!t && old) {
		add_kept(r, span, old);
		return;
	}
	if (old)
		span.kind = ROOT_STACK; /* whose thread is at work on another one */
	add_with_locals(r, h, span);
}

/* Variables, and where they end: what follows a file's without one may go on as something else. */
static uint64_t add_variables(struct roots *r, struct root_span span, const struct region *owner)
{
	uint64_t own_end = read_once(r->map->header->own_end);

	span.kind = ROOT_GLOBAL;
	span.module = find_module(r, span.start);
	uint64_t module_end = span.module ? read_once(r->map->modules[span.module].map_end) : 0;
	if (!r->regions.list.at[span.region].inode && module_end > span.start &&
	    module_end < span.end)
		span.end = module_end;
	if (is_program_file(r, owner)) {
		add_span(r, span);
		return span.end;
	}
	/* The library is in no list of modules. */
	return !span.module && own_end > span.start && own_end < span.end ? own_end : span.end;
}

static void add_region(struct roots *r, const struct halt *h, pid_t pid, uint32_t index)
{
	const struct region *region = &r->regions.list.at[index];
	const struct region *owner = find_owner(r, region);
	struct root_span span = {
		.start = region->start, .end = region->end, .region = index, .kind = ROOT_PLAIN};

	if (!is_wanted(r, region))
		return;
	span.is_apart = is_among(r->apart.at, r->apart.count, region);
	span.is_arena = r->is_libc && libc_arenas_is_one(pid, region);
	if (owner)
		span.start = add_variables(r, span, owner);
	if (span.start >= span.end)
		return;
	if (h)
		add_stack(r, h, span);
	else
		add_span(r, span);
}

static bool is_cut_short(struct roots *r)
{
	r->is_cut |= r->deadline && deadline_is_over(r->deadline);
	return r->is_cut;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

struct clipping {
	struct roots *roots;
	const struct root_span *span;
};

static void add_run(void *context, const struct pagemap_run *run)
{
	const struct clipping *c = context;
	struct gather_range range = {
		run->start > c->span->start ? run->start : c->span->start,
		run->end < c->span->end ? run->end : c->span->end,
	};

	if (range.start < range.end)
		*vec_push(&c->roots->ranges) = range;
}

/* Of a large map that was hardly touched an old kernel has to be asked for each page. */
static int visit_slices(struct pagemap *pages, const struct pagemap_run *whole, struct clipping *c,
			struct error *e)
{
	struct pagemap_run slice = *whole;
	int result = 0;

	for (; !result && slice.start < whole->end && !is_cut_short(c->roots);
	     slice.start = slice.end) {
		slice.end = whole->end - slice.start > SLICE_BYTES ? slice.start + SLICE_BYTES
								   : whole->end;
		result = pagemap_visit(pages, &slice, add_run, c, e);
	}
	return result;
}

/* What was never touched holds nothing; reading it would make the kernel bring pages of zeros. */
void roots_list(struct roots *r, pid_t pid, enum roots_part part)
{
	struct pagemap pages;
	struct error e = {0};
	bool seen = pagemap_open(&pages, pid, &e) == 0;

	r->ranges.count = 0;
	r->is_cut = false;
	for (size_t i = 0; i < r->spans.count && !is_cut_short(r); i++) {
		struct clipping c = {r, &r->spans.at[i]};
		size_t before = r->ranges.count;

		if (part != ROOTS_ALL && c.span->is_apart != (part == ROOTS_APART))
			continue;
		uint64_t page = seen ? pages.page_bytes : 1;
		struct pagemap_run whole = {c.span->start & ~(page - 1),
					    (c.span->end + page - 1) & ~(page - 1),
					    PAGEMAP_RESIDENT};

		e = (struct error){0};
		if (seen && visit_slices(&pages, &whole, &c, &e) == 0)
			continue;
		r->ranges.count = before;
		add_run(&c, &whole);
	}
	if (seen)
		pagemap_close(&pages);
}

uint64_t roots_add_up(const struct roots *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->ranges.count; i++)
		bytes += r->ranges.at[i].end - r->ranges.at[i].start;
	return bytes;
}

int roots_plan(struct roots *r, const struct halt *h, pid_t pid, struct error *e)
{
	r->regions.deadline = r->deadline;
	if (regions_read(&r->regions, pid, e))
		return -1;
	r->spans.count = 0;
	r->is_cut = false;
	find_malloc(r);
	for (uint32_t i = 0; i < r->regions.list.count && !is_cut_short(r); i++)
		add_region(r, h, pid, i);
	return 0;
}

/* ---- after the stop -------------------------------------------------------------------------- */

/* The first block that starts at an address or behind it. */
static size_t find_first(const struct reach *reach, uint64_t start)
{
	size_t low = 0, high = reach->blocks.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reach->blocks.at[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_blocks(const struct reach *reach, uint64_t start, uint64_t end)
{
	size_t first = find_first(reach, start);

	return first < reach->blocks.count && reach->blocks.at[first].start < end;
}

/* Memory that libc keeps for the stack of the next thread begins behind pages that nobody may
 * touch, and has no blocks. What was mapped where a stack had been is told by that. */
static bool is_kept_stack(const struct roots *r, const struct reach *reach,
			  const struct root_span *span)
{
	const struct region *region = &r->regions.list.at[span->region];

	return span->pointer && region > r->regions.list.at && region[-1].end == region->start &&
	       !region[-1].is_readable && !region[-1].is_writable && !region[-1].inode &&
	       !has_blocks(reach, region->start, span->pointer);
}

/* The pages of a block that libc has mapped by itself, for its size: it begins behind two words, or
 * with a page if that was asked for, and nothing else is there. False: it is not such a one. */
static bool find_mapped_block(const struct reach *reach, size_t i, struct gather_range *pages)
{
	const struct reach_block *b = &reach->blocks.at[i];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), offset = b->start % page;

	if (b->size < SMALL_BYTES - page || b->size > UINT64_MAX - b->start - page ||
	    (offset && offset != 2 * sizeof(uint64_t)))
		return false;
	pages->start = (b->start - 1) / page * page;
	pages->end = (b->start + b->size + page - 1) / page * page;
	return (i == 0 || b[-1].start + b[-1].size <= pages->start) &&
	       (i + 1 == reach->blocks.count || b[1].start >= pages->end);
}

/* What the kernel shows as one map can be several, which it has joined: blocks that have one to
 * themselves, and what the program has mapped beside them. Between such blocks is the program's, or
 * some allocator's if there are others. */
static void settle_joined(struct roots *r, const struct reach *reach, struct root_span span)
{
	const uint64_t end = span.end;
	bool has_others = false;

	for (size_t i = find_first(reach, span.start);
	     i < reach->blocks.count && reach->blocks.at[i].start < end; i++) {
		struct gather_range pages;

		if (!find_mapped_block(reach, i, &pages) || pages.start < span.start ||
		    pages.end > end) {
			has_others = true;
			continue;
		}
		span.end = pages.start;
		span.kind = has_others ? ROOT_HEAP : ROOT_MAPPING;
		add_span(r, span);
		span.start = pages.start;
		span.end = pages.end;
		span.kind = ROOT_HEAP;
		add_span(r, span);
		span.start = pages.end;
		has_others = false;
	}
	span.end = end;
	span.kind = has_others ? ROOT_HEAP : ROOT_MAPPING;
	add_span(r, span);
}

static void settle(struct roots *r, const struct reach *reach, struct root_span span)
{
	const struct region *region = &r->regions.list.at[span.region];
	bool is_heap = strcmp(regions_get_name(&r->regions, region), "[heap]") == 0;

	if (r->is_libc && !is_heap && !span.is_arena) {
		settle_joined(r, reach, span);
		return;
	}
	/* Another allocator keeps its tables in maps of its own. */
	is_heap |= r->is_libc || has_blocks(reach, region->start, region->end) ||
		   region->end - region->start > SMALL_BYTES;
	span.kind = is_heap ? ROOT_HEAP : ROOT_MAPPING;
	add_span(r, span);
}

void roots_settle(struct roots *r, const struct reach *reach)
{
	struct root_span *spans = r->spans.at;
	size_t count = r->spans.count;

	memset(&r->spans, 0, sizeof(r->spans));
	for (size_t i = 0; i < count; i++) {
		struct root_span span = spans[i];

		if (span.kind == ROOT_PLAIN && !is_kept_stack(r, reach, &span)) {
			settle(r, reach, span);
			continue;
		}
		if (span.kind == ROOT_PLAIN) {
			span.kind = ROOT_LOCAL;
			span.start = span.pointer;
			span.end = span.pointer + TABLE_WORDS * sizeof(uint64_t);
		}
		add_span(r, span);
	}
	free(spans);
}

/* glibc's allocator points to where the next block's size is, 16 bytes before that block: which is
 * the last word of this one, if that is as long as can be. */
bool roots_is_malloc_own(const struct roots *r, const struct root_span *span, uint64_t offset,
			 uint64_t size)
{
	uint64_t room = (size + 8 + 15) & ~UINT64_C(15);
	const struct region *region = &r->regions.list.at[span->region];
	const struct region *owner = find_owner(r, region);

	return span->kind == ROOT_GLOBAL && r->is_libc && owner &&
	       owner->inode == r->malloc_inode && offset == (room < 32 ? 32 : room) - 16;
}

bool roots_is_table(const struct root_span *span, uint64_t address, uint64_t offset)
{
	return span->kind == ROOT_LOCAL && offset == TABLE_OFFSET && address >= span->pointer &&
	       address - span->pointer < TABLE_WORDS * sizeof(uint64_t);
}

void roots_fini(struct roots *r)
{
	regions_fini(&r->regions);
	vec_free(&r->own);
	vec_free(&r->apart);
	vec_free(&r->spans);
	vec_free(&r->ranges);
}
