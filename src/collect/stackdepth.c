/* stackdepth.c -- how deep the stacks of a process are. Runs: in the collector process, one thread,
 * when somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stack that was ever so deep has pages there: from its top to the lowest page that is in memory
 * is the deepest that it has been, in whole pages. Nothing is asked of the program. */
#include <inttypes.h>
#include <stdio.h>

#include "collect/collector.h"
#include "collect/pagemap.h"

/* The lowest page of a range that is in memory. */
static void note_lowest(void *context, const struct pagemap_run *run)
{
	uint64_t *lowest = context;

	if (!*lowest)
		*lowest = run->start;
}

static uint64_t get_depth(struct pagemap *pages, uint64_t start, uint64_t top)
{
	uint64_t mask = pages->page_bytes - 1, lowest = 0;
	const struct pagemap_run range = {.start = start, .end = (top + mask) & ~mask};
	struct error ignored = {0};

	if (pagemap_visit(pages, &range, note_lowest, &lowest, &ignored) != 0)
		return 0;
	return lowest && lowest < top ? top - lowest : 0;
}

/* The deepest of the threads whose stacks are in [start, end). What a slot says of its stack is the
 * target's word: it is looked for in the kernel's list of mappings. */
static uint64_t find_in_map(const struct collector *c, struct pagemap *pages, uint64_t start,
			    uint64_t end)
{
	uint64_t deepest = 0;

	for (uint32_t slot = 1; slot <= c->streams.used; slot++) {
		uint64_t top = __atomic_load_n(&c->map.slots[slot].stack_high, __ATOMIC_RELAXED);

		if (c->streams.at[slot].state != STREAM_OPEN || top <= start || top > end)
			continue;
		uint64_t depth = get_depth(pages, start, top);
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

uint64_t collect_find_deepest_stack(struct collector *c)
{
	struct pagemap pages;
	struct error ignored = {0};
	uint64_t start, end, deepest = 0;
	char line[512], path[64];

	if (pagemap_open(&pages, c->hello.pid, &ignored) != 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)c->hello.pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " rw", &start, &end) != 2)
			continue;
		uint64_t depth = find_in_map(c, &pages, start, end);
		deepest = depth > deepest ? depth : deepest;
	}
	if (f)
		(void)fclose(f);
	pagemap_close(&pages);
	return deepest;
}
