/* mapping.c -- the calls by which the program maps memory itself, where they are to be recorded.
 * Runs: any thread of the target, outside of malloc mostly: an allocator may map memory, too.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions are not exported: references to them are replaced at start-up (relink.c), so that a
 * program that is recorded without its maps never comes here. What libc maps for itself (heaps,
 * stacks, libraries) goes past these names. Another allocator's calls are told by their caller:
 * they are in the object that malloc is in, and are only counted, as that allocator may be in the
 * middle of a call of ours.
 *
 * Order matters as for blocks: what is mapped is stamped after the call, what is unmapped before.
 */
#include "capture/mapping.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "capture/boot.h"
#include "capture/hot.h"
#include "capture/modules.h"
#include "capture/relink.h"

static struct {
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	void *(*shmat)(int, const void *, int);
	int (*shmdt)(const void *);
} next;

/* The object that has malloc; 0 bytes: libc, whose calls do not come here. */
static struct {
	uint64_t start;
	uint64_t bytes;
} allocator;

static uint64_t page_bytes;

#define IS_ALLOCATOR() \
	((uint64_t)(uintptr_t)__builtin_return_address(0) - allocator.start < allocator.bytes)

static uint64_t to_pages(uint64_t bytes)
{
	return (bytes + page_bytes - 1) & ~(page_bytes - 1);
}

static uint64_t to_number(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_recording(void)
{
	return process &&
	       atomic_load_explicit(&process->state, memory_order_relaxed) == PROCESS_RECORDING;
}

/* `start` NULL: the event needs no stack. False: there is none to write. */
static bool put(uint32_t call, uint64_t address, uint64_t bytes, uint32_t kind,
		const struct walk_start *start)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return false;
	uint64_t node = start ? walk_tagged(t, start) : 0;
	uint64_t *at = t->pos;
	at[1] = address;
	at[2] = bytes;
	at[3] = (uint64_t)kind << 32 | node;
	at[0] = hot_word(t, SEGMENT_EVENT_MAP, call);
	hot_publish(t, at + 4);
	hot_leave(t);
	return true;
}

/* What comes while recording is off is not recorded; what goes is. */
static void add(uint64_t address, uint64_t bytes, uint32_t kind, const struct walk_start *start)
{
	if (is_recording() && gate_is_on(thread_self))
		(void)put(SEGMENT_MAP_ADDED, address, bytes, kind, start);
}

static void fail(void)
{
	int saved = errno;

	if (is_recording() && gate_is_on(thread_self))
		(void)put(SEGMENT_MAP_FAILED, 0, 0, 0, NULL);
	errno = saved;
}

static bool remove_range(uint64_t address, uint64_t bytes)
{
	return is_recording() && put(SEGMENT_MAP_REMOVED, address, bytes, 0, NULL);
}

/* The call that an event has been put for did not succeed. */
static void undo(uint32_t call)
{
	int saved = errno;

	(void)put(call, 0, 0, 0, NULL);
	errno = saved;
}

static void count_own(uint64_t mapped, uint64_t unmapped)
{
	struct segment_own_maps *own = is_recording() ? &process->header->allocator_maps : NULL;

	if (!own)
		return;
	atomic_fetch_add_explicit(&own->calls, mapped != 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&own->mapped_bytes, mapped, memory_order_relaxed);
	atomic_fetch_add_explicit(&own->unmapped_bytes, unmapped, memory_order_relaxed);
}

/* ---- mmap ------------------------------------------------------------------------------------ */

static uint32_t get_kind(int protection, int flags)
{
	if (protection == PROT_NONE)
		return SEGMENT_MAP_RESERVED;
	return flags & MAP_ANONYMOUS ? SEGMENT_MAP_ANONYMOUS : SEGMENT_MAP_FILE;
}

static void *map_memory(void *address, size_t bytes, int protection, int flags, int fd,
			off_t offset)
{
	void *mapped = next.mmap(address, bytes, protection, flags, fd, offset);
	struct walk_start start = WALK_START();

	if (mapped == MAP_FAILED)
		fail();
	else if (IS_ALLOCATOR())
		count_own(to_pages(bytes), 0);
	else
		add(to_number(mapped), to_pages(bytes), get_kind(protection, flags), &start);
	return mapped;
}

/* Whether the kernel would refuse it whatever there is: then nothing is said of it. */
static bool is_senseless(uint64_t address, uint64_t bytes)
{
	return bytes == 0 || address % page_bytes != 0 || address + bytes < address;
}

static int unmap(void *address, size_t bytes)
{
	uint64_t at = to_number(address);

	if (is_senseless(at, bytes))
		return next.munmap(address, bytes);
	if (IS_ALLOCATOR()) {
		int result = next.munmap(address, bytes);

		count_own(0, result == 0 ? to_pages(bytes) : 0);
		return result;
	}
	bool begun = remove_range(at, to_pages(bytes));
	int result = next.munmap(address, bytes);
	if (result != 0 && begun)
		undo(SEGMENT_MAP_KEPT);
	return result;
}

/* With old_bytes 0 or MREMAP_DONTUNMAP what was there stays: there is one map more. */
static bool leaves_old(size_t old_bytes, int flags)
{
#ifdef MREMAP_DONTUNMAP
	if (flags & MREMAP_DONTUNMAP)
		return true;
#endif
	(void)flags;
	return old_bytes == 0;
}

static void *add_copy(void *moved, size_t bytes, bool of_file, const struct walk_start *start)
{
	if (moved == MAP_FAILED)
		fail();
	else
		add(to_number(moved), to_pages(bytes),
		    of_file ? SEGMENT_MAP_FILE : SEGMENT_MAP_ANONYMOUS, start);
	return moved;
}

/* The last argument is there only with MREMAP_FIXED or MREMAP_DONTUNMAP; else whatever is in its
 * register is handed on, and nobody looks. */
static void *remap(void *address, size_t old_bytes, size_t bytes, int flags, void *wanted)
{
	struct walk_start start = WALK_START();

	if (IS_ALLOCATOR()) {
		void *moved = next.mremap(address, old_bytes, bytes, flags, wanted);

		if (moved != MAP_FAILED)
			count_own(to_pages(bytes), to_pages(old_bytes));
		return moved;
	}
	if (leaves_old(old_bytes, flags) || is_senseless(to_number(address), old_bytes))
		return add_copy(next.mremap(address, old_bytes, bytes, flags, wanted), bytes,
				old_bytes == 0, &start);
	bool begun = is_recording() &&
		     put(SEGMENT_MAP_MOVE, to_number(address), to_pages(old_bytes), 0, NULL);
	void *moved = next.mremap(address, old_bytes, bytes, flags, wanted);
	if (begun && moved == MAP_FAILED)
		undo(SEGMENT_MAP_MOVE_FAILED);
	else if (begun)
		(void)put(SEGMENT_MAP_MOVED, to_number(moved), to_pages(bytes), 0, &start);
	return moved;
}

/* ---- the break ------------------------------------------------------------------------------- */

/* Nobody else can be given these addresses, so that one event after the call does. */
static void note_break(uint64_t before, uint64_t after, const struct walk_start *start)
{
	if (after > before)
		add(before, after - before, SEGMENT_MAP_BREAK, start);
	else if (after < before)
		(void)remove_range(after, before - after);
}

static void *move_break(intptr_t by)
{
	void *before = next.sbrk(by);
	struct walk_start start = WALK_START();
	uint64_t old = to_number(before);

	if (before == (void *)-1) /* NOLINT: what it says where it fails */
		fail();
	else if (IS_ALLOCATOR())
		count_own(by > 0 ? (uint64_t)by : 0, by < 0 ? -(uint64_t)by : 0);
	else
		note_break(old, old + (uint64_t)by, &start);
	return before;
}

static int set_break(void *wanted)
{
	uint64_t before = to_number(next.sbrk(0));
	int result = next.brk(wanted);
	struct walk_start start = WALK_START();
	uint64_t after = to_number(wanted);

	if (result != 0)
		fail();
	else if (IS_ALLOCATOR())
		count_own(after > before ? after - before : 0, after < before ? before - after : 0);
	else
		note_break(before, after, &start);
	return result;
}

/* ---- System V shared memory ------------------------------------------------------------------ */

static void *attach(int id, const void *address, int flags)
{
	void *mapped = next.shmat(id, address, flags);
	struct walk_start start = WALK_START();
	struct shmid_ds status = {0};

	if (mapped == (void *)-1) /* NOLINT: what it says where it fails */
		fail();
	else if (HOST_CALL3(SYS_shmctl, id, IPC_STAT, &status) == 0)
		add(to_number(mapped), to_pages(status.shm_segsz), SEGMENT_MAP_SHARED, &start);
	return mapped;
}

static int detach(const void *address)
{
	bool begun = is_recording() && put(SEGMENT_MAP_DETACHED, to_number(address), 0, 0, NULL);
	int result = next.shmdt(address);

	if (result != 0 && begun)
		undo(SEGMENT_MAP_KEPT);
	return result;
}

/* ---- putting them in place ------------------------------------------------------------------- */

#define ENTRY(name, pointer, wrapper)                                          \
	{                                                                      \
		name, &next.pointer, (void *)(uintptr_t)(wrapper) /* NOLINT */ \
	}

static const struct {
	const char *name;
	void *pointer;
	void *wrapper;
} calls[] = {
	ENTRY("mmap", mmap, map_memory), ENTRY("mmap64", mmap, map_memory),
	ENTRY("munmap", munmap, unmap),	 ENTRY("mremap", mremap, remap),
	ENTRY("brk", brk, set_break),	 ENTRY("sbrk", sbrk, move_break),
	ENTRY("shmat", shmat, attach),	 ENTRY("shmdt", shmdt, detach),
};

#define COUNT (sizeof(calls) / sizeof(calls[0]))

static void find_allocator(void)
{
	struct module_span span;

	/* NOLINTNEXTLINE: an address to look up */
	if (!real.may_nest || !modules_find((uint64_t)(uintptr_t)real.malloc, &span))
		return;
	allocator.start = span.map_start;
	allocator.bytes = span.map_end - span.map_start;
}

void mapping_patch(void)
{
	struct relink_name names[COUNT];
	size_t count = 0;

	page_bytes = getauxval(AT_PAGESZ);
	find_allocator();
	for (size_t i = 0; i < COUNT; i++) {
		void *found = dlsym(RTLD_DEFAULT, calls[i].name);

		if (!found) /* musl has no mmap64 */
			continue;
		memcpy(calls[i].pointer, &found, sizeof(found));
		names[count++] = (struct relink_name){
			.name = calls[i].name, .old = found, .replacement = calls[i].wrapper};
	}
	relink_all(names, count);
}
