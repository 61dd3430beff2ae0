/* codemaps.c -- executable memory, as the kernel lists it: for code that belongs to no object.
 * Runs: any thread of the target, inside malloc. Called by returns.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each range is one word, so that threads may read while another one writes: they find an old range
 * or a new one. */
#include "capture/codemaps.h"

#include <fcntl.h>
#include <stdatomic.h>

#include "capture/host.h"

#define RANGES	    256
#define PAGE_BITS   12
#define COUNT_BITS  28 /* pages of a range: a terabyte */
#define SKIP_MOST   4095
#define CHUNK_BYTES 1024

static _Atomic uint64_t ranges[RANGES]; /* number of the first page, how many; 0: none */

/* Questions to leave unanswered before the list is read again, and how many after that. */
static _Atomic uint32_t skip;
static _Atomic uint32_t skip_next;

static bool is_listed(uint64_t address)
{
	uint64_t page = address >> PAGE_BITS;

	for (unsigned i = 0; i < RANGES; i++) {
		uint64_t range = atomic_load_explicit(&ranges[i], memory_order_relaxed);

		if (range == 0)
			return false;
		if (page - (range >> COUNT_BITS) < (range & ((UINT64_C(1) << COUNT_BITS) - 1)))
			return true;
	}
	return false;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* A line is "START-END PERMISSIONS ...". */
struct line {
	unsigned field;	 /* 0 start, 1 end, 2 permissions, 3 the rest */
	unsigned letter; /* of the permissions */
	uint64_t bounds[2];
	bool executable;
};

struct list {
	struct line line;
	unsigned count;
	uint64_t last; /* range that another one may continue */
};

static void add_range(struct list *l)
{
	uint64_t first = l->line.bounds[0] >> PAGE_BITS;
	uint64_t pages = (l->line.bounds[1] >> PAGE_BITS) - first;
	uint64_t count = l->last & ((UINT64_C(1) << COUNT_BITS) - 1);

	if (l->count && (l->last >> COUNT_BITS) + count == first) {
		first -= count;
		pages += count;
		l->count--;
	}
	if (l->count == RANGES || pages >> COUNT_BITS)
		return;
	l->last = first << COUNT_BITS | pages;
	atomic_store_explicit(&ranges[l->count++], l->last, memory_order_relaxed);
}

static void take_letter(struct line *line, char letter)
{
	if (line->field < 2 && (letter == '-' || letter == ' ')) {
		line->field++;
	} else if (line->field < 2) {
		unsigned digit = (unsigned)(letter <= '9' ? letter - '0' : letter - 'a' + 10);

		line->bounds[line->field] = line->bounds[line->field] << 4 | (digit & 15);
	} else if (line->field == 2) {
		line->executable = line->executable || (line->letter == 2 && letter == 'x');
		line->field += ++line->letter == 4;
	}
}

static void take_text(struct list *l, const char *text, long bytes)
{
	for (long i = 0; i < bytes; i++) {
		if (text[i] != '\n') {
			take_letter(&l->line, text[i]);
			continue;
		}
		if (l->line.executable)
			add_range(l);
		l->line = (struct line){0};
	}
}

/* By the thread: the process's own list is empty once its main thread has ended. */
static void read_list(void)
{
	struct list list = {0};
	char text[CHUNK_BYTES];
	int fd = (int)HOST_CALL4(SYS_openat, AT_FDCWD, "/proc/thread-self/maps",
				 O_RDONLY | O_CLOEXEC, 0);
	long got;

	if (fd < 0)
		return;
	while ((got = HOST_CALL3(SYS_read, fd, text, sizeof(text))) > 0)
		take_text(&list, text, got);
	(void)host_close(fd);
	if (list.count == 0)
		return; /* nothing could be read: what is known stays */
	for (; list.count < RANGES; list.count++)
		atomic_store_explicit(&ranges[list.count], 0, memory_order_relaxed);
}

bool codemaps_has(uint64_t address)
{
	if (is_listed(address))
		return true;
	uint32_t left = atomic_load_explicit(&skip, memory_order_relaxed);
	if (left) {
		atomic_store_explicit(&skip, left - 1, memory_order_relaxed);
		return false;
	}
	read_list();
	bool found = is_listed(address);
	uint32_t next = found ? 0 : 2 * atomic_load_explicit(&skip_next, memory_order_relaxed) + 1;
	next = next < SKIP_MOST ? next : SKIP_MOST;
	atomic_store_explicit(&skip_next, next, memory_order_relaxed);
	atomic_store_explicit(&skip, next, memory_order_relaxed);
	return found;
}
