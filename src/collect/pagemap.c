/* pagemap.c -- which pages of a process are in memory. Runs: in the collector process, one thread,
 * when somebody wants to know.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A word of /proc/PID/pagemap for each page. */
#define WORD_RESIDENT (UINT64_C(1) << 63)
#define WORD_SWAPPED  (UINT64_C(1) << 62)
#define WORD_GUARD    (UINT64_C(1) << 58) /* with SWAPPED; since 6.15 */
#define WORDS_AT_ONCE 4096u

/* PAGEMAP_SCAN as Linux 6.7 has it: headers may be older than the kernel. */
struct scan_run {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct scan {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t runs;
	uint64_t run_count;
	uint64_t pages_most;
	uint64_t inverted;
	uint64_t all_of;
	uint64_t any_of;
	uint64_t told;
};

#define SCAN	      _IOWR('f', 16, struct scan)
#define SCAN_RESIDENT (UINT64_C(1) << 3)
#define SCAN_SWAPPED  (UINT64_C(1) << 4)
#define SCAN_ZERO     (UINT64_C(1) << 5)
#define SCAN_HUGE     (UINT64_C(1) << 6)
#define SCAN_GUARD    (UINT64_C(1) << 8) /* with SWAPPED; since 6.16 */
#define RUNS_AT_ONCE  256u

/* Whom to show what is found, and what it is part of. */
struct visitor {
	void (*visit)(void *context, const struct pagemap_run *run);
	void *context;
	bool shows_guards;
};

static void show(const struct visitor *v, const struct pagemap_run *run)
{
	if (run->state && (run->state != PAGEMAP_GUARD || v->shows_guards))
		v->visit(v->context, run);
}

/* A kernel without it, or a stand-in for one, says no at once. */
static bool can_scan(const struct pagemap *m, uint64_t told)
{
	struct scan_run run;
	struct scan s = {.size = sizeof(s),
			 .end = m->page_bytes,
			 .runs = (uintptr_t)&run,
			 .run_count = 1,
			 .any_of = SCAN_RESIDENT,
			 .told = told};

	return ioctl(m->fd, SCAN, &s) >= 0;
}

int pagemap_open(struct pagemap *m, pid_t pid, struct error *e)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*m = (struct pagemap){.fd = open(path, O_RDONLY | O_CLOEXEC),
			      .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
	if (m->fd < 0 && errno == ENOENT)
		return error_set(e, "process %d is gone, or /proc does not show its pages",
				 (int)pid);
	if (m->fd < 0)
		return error_set_errno(e, "the kernel does not let us see the pages of process %d",
				       (int)pid);
	m->scans = can_scan(m, SCAN_RESIDENT);
	m->scans_guards = m->scans && can_scan(m, SCAN_RESIDENT | SCAN_GUARD);
	return 0;
}

void pagemap_close(struct pagemap *m)
{
	if (m->fd >= 0)
		(void)close(m->fd);
	m->fd = -1;
}

static int fail(struct error *e)
{
	return error_set_errno(e, "the page map cannot be read");
}

/* ---- where the kernel leaves out what is not there ------------------------------------------- */

static unsigned get_state(uint64_t categories)
{
	if (categories & SCAN_ZERO)
		return 0;
	if (categories & SCAN_GUARD)
		return PAGEMAP_GUARD;
	if (categories & SCAN_SWAPPED)
		return PAGEMAP_SWAPPED;
	return PAGEMAP_RESIDENT | (categories & SCAN_HUGE ? PAGEMAP_HUGE : 0u);
}

static void show_scanned(const struct scan_run *runs, int count, const struct visitor *v)
{
	for (int i = 0; i < count; i++) {
		const struct pagemap_run run = {runs[i].start, runs[i].end,
						get_state(runs[i].categories)};

		show(v, &run);
	}
}

static int scan(const struct pagemap *m, const struct pagemap_run *range, const struct visitor *v,
		struct error *e)
{
	struct scan_run runs[RUNS_AT_ONCE];
	struct scan s = {.size = sizeof(s),
			 .start = range->start,
			 .end = range->end,
			 .runs = (uintptr_t)runs,
			 .run_count = RUNS_AT_ONCE,
			 .any_of = SCAN_RESIDENT | SCAN_SWAPPED,
			 .told = SCAN_RESIDENT | SCAN_SWAPPED | SCAN_ZERO | SCAN_HUGE};

	s.told |= m->scans_guards ? SCAN_GUARD : 0;
	while (s.start < s.end) {
		int count = ioctl(m->fd, SCAN, &s);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0 || s.walk_end <= s.start)
			return count < 0 ? fail(e) : 0;
		show_scanned(runs, count, v);
		s.start = s.walk_end;
	}
	return 0;
}

/* ---- where it has a word for every page ------------------------------------------------------ */

static unsigned get_word_state(uint64_t word)
{
	if (word & WORD_RESIDENT)
		return PAGEMAP_RESIDENT;
	if (word & WORD_GUARD)
		return PAGEMAP_GUARD;
	return word & WORD_SWAPPED ? PAGEMAP_SWAPPED : 0;
}

static void show_words(const struct pagemap *m, const uint64_t *words, struct pagemap_run *range,
		       const struct visitor *v)
{
	size_t count = (range->end - range->start) / m->page_bytes;

	for (size_t i = 0, next; i < count; i = next) {
		unsigned state = get_word_state(words[i]);

		for (next = i + 1; next < count && get_word_state(words[next]) == state;)
			next++;
		const struct pagemap_run run = {range->start + i * m->page_bytes,
						range->start + next * m->page_bytes, state};
		show(v, &run);
	}
}

static int read_words(const struct pagemap *m, const struct pagemap_run *range,
		      const struct visitor *v, struct error *e)
{
	uint64_t words[WORDS_AT_ONCE];
	struct pagemap_run part = *range;

	while (part.start < range->end) {
		uint64_t first = part.start / m->page_bytes;
		uint64_t left = (range->end - part.start) / m->page_bytes;
		size_t wanted = left < WORDS_AT_ONCE ? (size_t)left : WORDS_AT_ONCE;
		ssize_t got = pread(m->fd, words, wanted * sizeof(words[0]),
				    (off_t)(first * sizeof(words[0])));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < (ssize_t)sizeof(words[0]))
			return got < 0 ? fail(e) : 0; /* the end of what there can be */
		part.end = part.start + (uint64_t)got / sizeof(words[0]) * m->page_bytes;
		show_words(m, words, &part, v);
		part.start = part.end;
	}
	return 0;
}

int pagemap_visit(struct pagemap *m, const struct pagemap_run *range,
		  void (*visit)(void *context, const struct pagemap_run *run), void *context,
		  struct error *e)
{
	const struct visitor v = {visit, context, m->shows_guards};

	return m->scans ? scan(m, range, &v, e) : read_words(m, range, &v, e);
}

static void add_run(void *context, const struct pagemap_run *run)
{
	struct pagemap_count *count = context;
	uint64_t bytes = run->end - run->start;

	if (run->state & PAGEMAP_RESIDENT)
		count->resident_bytes += bytes;
	if (run->state & PAGEMAP_SWAPPED)
		count->swapped_bytes += bytes;
	if (run->state & PAGEMAP_HUGE)
		count->huge_bytes += bytes;
}

int pagemap_count(struct pagemap *m, uint64_t start, uint64_t end, struct pagemap_count *count,
		  struct error *e)
{
	uint64_t mask = m->page_bytes - 1;
	const struct pagemap_run range = {start & ~mask, (end + mask) & ~mask, 0};

	*count = (struct pagemap_count){0};
	return pagemap_visit(m, &range, add_run, count, e);
}
