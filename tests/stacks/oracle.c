/* oracle.c -- liboracle.so: marked allocations with the stack that an independent unwinder finds.
 * Runs: inside the programs of this directory, any thread, signal handlers too.
 * SPDX-License-Identifier: Apache-2.0 */
#define UNW_LOCAL_ONLY
#include "oracle.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#ifdef ORACLE_LIBUNWIND
#include <libunwind.h>
#endif

#define NOINLINE   __attribute__((noinline))
#define HASH_SLOTS (ORACLE_ENTRIES * 2)

/* A stack while it is looked up. The lock makes one do for all threads. */
static struct {
	uint64_t words[ORACLE_DEPTH];
	size_t depth;
	bool failed;
} taken;

static struct oracle_page *page;
static uint32_t slots[HASH_SLOTS]; /* entry index + 1 */
static bool use_libunwind;
static bool take_nothing;
static atomic_flag lock = ATOMIC_FLAG_INIT;

/* ---- the file -------------------------------------------------------------------------------- */

/* Bounds of the section that holds the functions which make marked allocations. */
#define MARKS __attribute__((noinline, section("oracle_marks")))
extern char __start_oracle_marks[] __attribute__((visibility("hidden")));
extern char __stop_oracle_marks[] __attribute__((visibility("hidden")));

static void open_page(void)
{
	const char *path = getenv("ORACLE_FILE");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	if (path && (fd < 0 || ftruncate(fd, sizeof(*page)) != 0))
		_exit(120);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
	if (page == MAP_FAILED)
		_exit(121);
	if (fd >= 0)
		close(fd);
	page->magic = ORACLE_MAGIC;
	page->mark_start = (uint64_t)(uintptr_t)__start_oracle_marks;
	page->mark_end = (uint64_t)(uintptr_t)__stop_oracle_marks;
	const char *unwinder = getenv("ORACLE_UNWINDER");
	use_libunwind = !unwinder || strcmp(unwinder, "libgcc") != 0;
	take_nothing = unwinder && strcmp(unwinder, "none") == 0;
}

/* ---- modules --------------------------------------------------------------------------------- */

static uint64_t find_module(uint64_t pc)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)(uintptr_t)pc, &found) != 0 || !found.dlfo_link_map)
		return 0;
	const struct link_map *map = found.dlfo_link_map;
	for (uint64_t i = 0; i < page->module_count; i++)
		if (page->modules[i].bias == map->l_addr &&
		    strcmp(page->modules[i].path, map->l_name) == 0)
			return i + 1;
	if (page->module_count == ORACLE_MODULES || strlen(map->l_name) >= ORACLE_PATH_BYTES)
		_exit(122);
	struct oracle_module *m = &page->modules[page->module_count];
	m->bias = map->l_addr;
	strcpy(m->path, map->l_name);
	return ++page->module_count;
}

/* ---- unwinding ------------------------------------------------------------------------------- */

static void add(uint64_t pc, bool exact)
{
	if (taken.depth == ORACLE_DEPTH) {
		taken.failed = true;
		return;
	}
	uint64_t address = pc & ((UINT64_C(1) << ORACLE_PC_BITS) - 1);
	taken.words[taken.depth++] = address | (exact ? ORACLE_EXACT : 0);
}

#ifdef ORACLE_LIBUNWIND

/* The frames beyond the one that `context` belongs to. */
static void take_libunwind(unw_context_t *context)
{
	unw_cursor_t cursor;
	unw_word_t pc;
	int result = unw_init_local(&cursor, context);

	while (result >= 0 && (result = unw_step(&cursor)) > 0) {
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0)
			break;
		add(pc, unw_is_signal_frame(&cursor) > 0); /* so it calls the interrupted frame */
	}
	if (result < 0)
		taken.failed = true;
}

#endif

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *argument)
{
	int *skip = argument;
	int exact = 0;
	uint64_t pc = (uint64_t)_Unwind_GetIPInfo(context, &exact);

	if (*skip > 0)
		--*skip;
	else if (pc)
		add(pc, exact != 0);
	return _URC_NO_REASON;
}

/* The frames beyond the caller's. */
static NOINLINE void take_libgcc(void)
{
	int skip = 2; /* this function and the caller */

	(void)_Unwind_Backtrace(on_frame, &skip);
	__asm__ volatile(""); /* no tail call */
}

/* In the body of a function: its callers, into `taken`. */
#ifdef ORACLE_LIBUNWIND
#define TAKE()                                          \
	do {                                            \
		unw_context_t context;                  \
                                                        \
		taken.depth = 0;                        \
		taken.failed = false;                   \
		if (use_libunwind) {                    \
			(void)unw_getcontext(&context); \
			take_libunwind(&context);       \
		} else {                                \
			take_libgcc();                  \
		}                                       \
	} while (0)
#else
#define TAKE()                        \
	do {                          \
		taken.depth = 0;      \
		taken.failed = false; \
		take_libgcc();        \
	} while (0)
#endif

/* ---- the table ------------------------------------------------------------------------------- */

static void enter(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		sched_yield();
	if (!page)
		open_page();
}

static void leave(const sigset_t *before)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

static uint64_t hash_taken(void)
{
	uint64_t hash = taken.depth;

	for (size_t i = 0; i < taken.depth; i++)
		hash = (hash ^ taken.words[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
	return hash;
}

static struct oracle_entry *add_entry(uint64_t hash)
{
	if (page->entry_count == ORACLE_ENTRIES || page->word_count + taken.depth > ORACLE_WORDS)
		return NULL;
	struct oracle_entry *e = &page->entries[page->entry_count++];
	e->hash = hash;
	e->first = (uint32_t)page->word_count;
	e->depth = (uint32_t)taken.depth;
	memcpy(&page->words[page->word_count], taken.words, taken.depth * sizeof(uint64_t));
	page->word_count += taken.depth;
	return e;
}

/* Adds the modules. Frames of the profiler itself are left out: it does not show them. */
static void find_modules(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < taken.depth; i++) {
		uint64_t word = taken.words[i];
		uint64_t module = find_module(word & ((UINT64_C(1) << ORACLE_PC_BITS) - 1));

		if (module == 0 || !strstr(page->modules[module - 1].path, "/libmidden.so"))
			taken.words[kept++] = word | module << ORACLE_MODULE_AT;
	}
	taken.depth = kept;
}

/* Counts the taken stack; returns the size that goes with it, 0 if it cannot be noted. */
static size_t count_taken(void)
{
	find_modules();
	uint64_t hash = hash_taken();
	uint64_t slot = hash % HASH_SLOTS;

	for (; slots[slot]; slot = (slot + 1) % HASH_SLOTS) {
		struct oracle_entry *e = &page->entries[slots[slot] - 1];

		if (e->hash == hash && e->depth == taken.depth &&
		    memcmp(&page->words[e->first], taken.words, taken.depth * 8) == 0) {
			e->count++;
			return ORACLE_SIZE_BASE + slots[slot] - 1;
		}
	}
	struct oracle_entry *e = taken.failed ? NULL : add_entry(hash);
	if (!e) {
		page->faults++;
		return 0;
	}
	e->count = 1;
	slots[slot] = (uint32_t)page->entry_count;
	return ORACLE_SIZE_BASE + page->entry_count - 1;
}

/* ---- for the programs ------------------------------------------------------------------------ */

MARKS void oracle_mark(void)
{
	sigset_t before;

	enter(&before);
	if (!take_nothing)
		TAKE();
	size_t size = take_nothing ? ORACLE_SIZE_BASE : count_taken();
	void *volatile block = size ? malloc(size) : NULL;
	free(block);
	leave(&before);
}

MARKS void oracle_mark_known(uint64_t *pcs, size_t depth)
{
	sigset_t before;

	enter(&before);
	taken.depth = 0;
	taken.failed = false;
	pcs[0] = (uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
	for (size_t i = 0; i < depth; i++)
		add(pcs[i], false);
	size_t size = count_taken();
	void *volatile block = size ? malloc(size) : NULL;
	free(block);
	leave(&before);
}

NOINLINE size_t oracle_take(uint64_t *pcs, size_t room)
{
	sigset_t before;

	enter(&before);
	TAKE();
	size_t depth = taken.depth < room ? taken.depth : room;
	memcpy(pcs, taken.words, depth * sizeof(*pcs));
	leave(&before);
	return depth;
}
