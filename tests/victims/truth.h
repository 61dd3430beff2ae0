/* truth.h -- a victim's own account of its heap, kept in a page that outlives it.
 * Runs: inside the victims; the end-to-end tests read the page (tests/e2e/truth.py knows the
 * layout).
 * SPDX-License-Identifier: Apache-2.0
 *
 * The page is a file named by VICTIM_TRUTH, mapped shared, so it survives SIGKILL. Each thread
 * counts in a slot of its own, without atomics. An allocation is counted after the call came back,
 * a free before the call is made: at any moment the page is at most one event per thread away from
 * the allocator's own view.
 *
 * Definitions as in midden's stats: a realloc of a block is one reallocation, one allocation and
 * one free, and its old and new size are never live together; realloc(p, 0) is a free; temporary
 * means freed by its own thread before that thread allocated anything else. Nothing in here
 * allocates. */
#ifndef MIDDEN_TESTS_VICTIMS_TRUTH_H
#define MIDDEN_TESTS_VICTIMS_TRUTH_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRUTH_SLOTS 16384u /* more threads than any victim starts */
#define TRUTH_NOTES 12u

/* Written by its thread alone. */
struct truth_slot {
	uint64_t allocations;
	uint64_t frees;
	uint64_t allocated_bytes;
	uint64_t freed_bytes;
	uint64_t temporary_allocations;
	uint64_t reallocations;
	uint64_t failed_allocations;
	uint64_t peak_bytes; /* of this slot's balance: right for a program with one thread */
	uint64_t peak_blocks;
	uint64_t last; /* the block allocated last, as long as it lives */
	uint64_t reserved[6];
};

struct truth_page {
	uint64_t slots_used;
	uint64_t peak_bytes; /* of the process, set at quiet moments by threaded victims */
	uint64_t peak_blocks;
	uint64_t peak_set;
	uint64_t note[TRUTH_NOTES]; /* what else a victim wants to tell its test */
	struct truth_slot slot[TRUTH_SLOTS];
};

/* One definition per program; victims are single files. */
static volatile struct truth_page *truth_page;
static __thread volatile struct truth_slot *truth_me;

static inline void truth_open(void)
{
	const char *path = getenv("VICTIM_TRUTH");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	if (truth_page)
		return;
	if (path && (fd < 0 || ftruncate(fd, sizeof(struct truth_page)) != 0))
		_exit(120);
	void *map = mmap(NULL, sizeof(struct truth_page), PROT_READ | PROT_WRITE, flags, fd, 0);
	if (map == MAP_FAILED)
		_exit(121);
	if (fd >= 0)
		close(fd);
	truth_page = (volatile struct truth_page *)map;
}

/* Makes the calling thread count in slot `index`. */
static inline void truth_use(uint64_t index)
{
	truth_open();
	truth_me = &truth_page->slot[index];
	if (truth_page->slots_used <= index)
		truth_page->slots_used = index + 1;
}

static inline volatile struct truth_slot *truth_slot_get(void)
{
	if (!truth_me)
		truth_use(0);
	return truth_me;
}

static inline void truth_note(unsigned index, uint64_t value)
{
	truth_open();
	truth_page->note[index] = value;
}

static inline void truth_raise_peak(volatile struct truth_slot *me)
{
	uint64_t live = me->allocated_bytes - me->freed_bytes;

	if ((int64_t)live <= (int64_t)me->peak_bytes)
		return;
	me->peak_bytes = live;
	me->peak_blocks = me->allocations - me->frees;
}

/* Counts what an allocating call brought: a block of `size` bytes, or a failure. Returns the block.
 */
static inline void *truth_got(void *block, size_t size)
{
	volatile struct truth_slot *me = truth_slot_get();

	if (!block) {
		me->failed_allocations++;
		return NULL;
	}
	me->allocations++;
	me->allocated_bytes += size;
	me->last = (uint64_t)(uintptr_t)block;
	truth_raise_peak(me);
	return block;
}

/* Counts that a block is about to be given back by the thread that may have allocated it. */
static inline void truth_gone(const void *block, size_t size)
{
	volatile struct truth_slot *me = truth_slot_get();

	if (!block)
		return;
	if (me->last == (uint64_t)(uintptr_t)block) {
		me->temporary_allocations++;
		me->last = 0;
	}
	me->freed_bytes += size;
	me->frees++;
}

/* The same for a block that another thread allocated: never temporary, even if the address looks
 * familiar. */
static inline void truth_gone_foreign(size_t size)
{
	volatile struct truth_slot *me = truth_slot_get();

	me->freed_bytes += size;
	me->frees++;
}

/* Counts a realloc that moved or resized a block. */
static inline void truth_resized(void *block, size_t old_size, size_t size)
{
	volatile struct truth_slot *me = truth_slot_get();

	me->reallocations++;
	me->frees++;
	me->freed_bytes += old_size;
	me->allocations++;
	me->allocated_bytes += size;
	me->last = (uint64_t)(uintptr_t)block;
	truth_raise_peak(me);
}

static inline void *truth_malloc(size_t size)
{
	return truth_got(malloc(size), size);
}

static inline void *truth_calloc(size_t count, size_t size)
{
	return truth_got(calloc(count, size), count * size);
}

static inline void truth_free(void *block, size_t size)
{
	truth_gone(block, size);
	free(block);
}

static inline void truth_free_foreign(void *block, size_t size)
{
	truth_gone_foreign(size);
	free(block);
}

/* realloc in all its meanings; `old_size` is what the block was asked for with. */
static inline void *truth_realloc(void *block, size_t old_size, size_t size)
{
	if (block && size == 0) {
		truth_gone(block, old_size);
		return realloc(block, 0);
	}
	void *moved = realloc(block, size);
	if (moved && block)
		truth_resized(moved, old_size, size);
	else
		truth_got(moved, size);
	return moved;
}

/* All threads are at rest: what they hold together is the most so far, or it is not. */
static inline void truth_mark_peak(void)
{
	int64_t bytes = 0, blocks = 0;

	for (uint64_t i = 0; i < truth_page->slots_used; i++) {
		volatile struct truth_slot *s = &truth_page->slot[i];
		bytes += (int64_t)(s->allocated_bytes - s->freed_bytes);
		blocks += (int64_t)(s->allocations - s->frees);
	}
	truth_page->peak_set = 1;
	if (bytes <= (int64_t)truth_page->peak_bytes)
		return;
	truth_page->peak_bytes = (uint64_t)bytes;
	truth_page->peak_blocks = (uint64_t)blocks;
}

/* Ends the victim with a status that names the failed expectation by its line. */
static inline void truth_expect_at(int holds, int line)
{
	static const char text[] = "victim: expectation failed at line ";
	char digits[8];
	int at = (int)sizeof(digits);

	if (holds)
		return;
	digits[--at] = '\n';
	for (int rest = line; rest > 0 && at > 0; rest /= 10)
		digits[--at] = (char)('0' + rest % 10);
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ||
	    write(STDERR_FILENO, digits + at, sizeof(digits) - (size_t)at) < 0)
		_exit(119);
	_exit(118);
}

#define truth_expect(condition) truth_expect_at(!!(condition), __LINE__)

static inline int truth_mode_is(int argc, char **argv, const char *mode)
{
	return argc > 1 && strcmp(argv[1], mode) == 0;
}

#endif
