/* stackdepth.c -- how deep the stacks of a process are. Runs: in the collector process, one thread,
 * when somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stack that was ever so deep has pages there: from its top to the lowest page that is in memory
 * is the deepest that it has been, in whole pages. Nothing is asked of the program. */
#define _GNU_SOURCE
#include "collect/stackdepth.h"

#include <string.h>
#include <sys/resource.h>

#include "collect/obey.h"
#include "collect/pagemap.h"
#include "collect/regions.h"

/* What the kernel says of the target, as of one moment. */
struct look {
	struct regions regions;
	struct pagemap pages;
	uint64_t limit; /* of the main thread's stack, which grows; 0: there is none */
};

/* What is in memory of one stack. */
struct extent {
	uint64_t start; /* of all that it may use */
	uint64_t lowest;
	uint64_t resident_bytes;
};

static bool look_begin(struct look *l, pid_t pid)
{
	struct error ignored = {0};
	struct rlimit limit;

	*l = (struct look){0};
	if (pagemap_open(&l->pages, pid, &ignored) != 0)
		return false;
	l->pages.shows_guards = true;
	if (prlimit(pid, RLIMIT_STACK, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		l->limit = limit.rlim_cur & ~(l->pages.page_bytes - 1);
	if (regions_read(&l->regions, pid, &ignored) == 0)
		return true;
	pagemap_close(&l->pages);
	regions_fini(&l->regions);
	return false;
}

static void look_end(struct look *l)
{
	pagemap_close(&l->pages);
	regions_fini(&l->regions);
}

/* A stack ends at its guard, which newer C libraries make inside of its map; what is below is
 * something else, such as the next stack. */
static void note_run(void *context, const struct pagemap_run *run)
{
	struct extent *extent = context;

	if (run->state & PAGEMAP_GUARD) {
		*extent = (struct extent){.start = run->end};
		return;
	}
	if (!extent->lowest)
		extent->lowest = run->start;
	if (run->state & PAGEMAP_RESIDENT)
		extent->resident_bytes += run->end - run->start;
}

static bool has_name(const struct look *l, const struct region *region, const char *name)
{
	return strcmp(regions_get_name(&l->regions, region), name) == 0;
}

/* What a slot says of its stack is the target's word: it is looked for in the kernel's list of
 * mappings. Of a stack in the heap nobody can tell where it ends. */
static const struct region *find_region(const struct look *l, uint64_t top)
{
	const struct region *region = top ? regions_find(&l->regions, top - 1) : NULL;

	if (!region || !region->is_writable || region->inode || has_name(l, region, "[heap]"))
		return NULL;
	return region;
}

/* All 0 if there is no such stack, or the kernel does not tell. */
static struct thread_stack measure(struct look *l, uint64_t top)
{
	const struct region *region = find_region(l, top);
	uint64_t mask = l->pages.page_bytes - 1, end = (top + mask) & ~mask;
	struct extent extent = {.start = region ? region->start : 0};
	struct error ignored = {0};

	if (!region)
		return (struct thread_stack){0};
	const struct pagemap_run range = {.start = region->start, .end = end};
	if (pagemap_visit(&l->pages, &range, note_run, &extent, &ignored) != 0 || !extent.lowest)
		return (struct thread_stack){0};
	uint64_t reserved = end - extent.start;
	if (has_name(l, region, "[stack]") && l->limit > reserved)
		reserved = l->limit;
	return (struct thread_stack){reserved, extent.resident_bytes, end - extent.lowest};
}

static struct thread_stack measure_slot(const struct collector *c, struct look *l, uint32_t slot)
{
	return measure(l, __atomic_load_n(&c->map.slots[slot].stack_high, __ATOMIC_RELAXED));
}

uint64_t collect_find_deepest_stack(struct collector *c)
{
	uint64_t deepest = 0;
	struct look l;

	if (!look_begin(&l, c->hello.pid))
		return 0;
	for (uint32_t slot = 1; slot <= c->streams.used; slot++) {
		if (c->streams.at[slot].state != STREAM_OPEN)
			continue;
		uint64_t depth = measure_slot(c, &l, slot).deepest_bytes;
		deepest = depth > deepest ? depth : deepest;
	}
	look_end(&l);
	return deepest;
}

/* ---- for the profile ------------------------------------------------------------------------- */

/* A thread that comes back after its end is looked at twice. */
static void note_slot(struct collector *c, struct look *l, uint32_t slot)
{
	struct thread *thread = &c->account.threads.list.at[c->account.actors[slot].thread];
	struct thread_stack now = measure_slot(c, l, slot);

	if (thread->shared || !now.reserved_bytes)
		return;
	if (now.deepest_bytes < thread->stack.deepest_bytes)
		now.deepest_bytes = thread->stack.deepest_bytes;
	thread->stack = now;
}

static void look_at_all(struct collector *c, struct look *l)
{
	uint64_t own_end = __atomic_load_n(&c->map.header->own_end, __ATOMIC_RELAXED);
	struct error ignored = {0};

	for (uint32_t slot = 1; slot <= c->streams.used; slot++)
		if (c->streams.at[slot].state == STREAM_OPEN)
			note_slot(c, l, slot);
	if (objects_look(&c->objects, &l->regions, &l->pages, own_end - 1, &ignored) != 0)
		return;
	c->objects.ticks = ticks_get_now(&c->clock);
	c->objects.threads = watch_count_threads(&c->watch);
}

static void obey_look(struct collector *c, struct look *l, const struct look_order *order)
{
	if (order->all)
		look_at_all(c, l);
	else
		note_slot(c, l, order->slot);
}

void stackdepth_look(struct collector *c)
{
	struct look l;

	if (!look_begin(&l, c->hello.pid))
		return;
	look_at_all(c, &l);
	look_end(&l);
}

void stackdepth_serve(struct collector *c)
{
	struct account *a = &c->account;
	struct look l;

	if (!a->look_orders.count)
		return;
	bool seen = look_begin(&l, c->hello.pid);
	for (size_t i = 0; i < a->look_orders.count; i++) {
		const struct look_order *order = &a->look_orders.at[i];

		if (seen)
			obey_look(c, &l, order);
		obey_answer(a, order->slot, order->question, seen);
	}
	a->look_orders.count = 0;
	if (seen)
		look_end(&l);
}
