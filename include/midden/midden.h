/* midden.h -- what a program can tell the heap profiler that may be watching it.
 * Runs: in any program, whether midden is there or not; any thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Header only, nothing to link: the functions of libmidden.so are weak references, which hold when
 * the program runs under `midden record` (or with libmidden.so preloaded or linked) and are absent
 * otherwise. Each call is then one test of an address.
 *
 *	#include <midden/midden.h>
 *
 *	load_level(2);
 *	midden_snapshot("level 2 loaded");
 *
 * A program that is not position-independent has to be compiled by GCC, or linked with
 * libmidden.so: other compilers settle at link time that the functions are absent. */
#ifndef MIDDEN_MIDDEN_H
#define MIDDEN_MIDDEN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __has_attribute
#if __has_attribute(noplt)
/* Through the table that the loader fills in, also in code at a fixed address. */
#define MIDDEN_REFERENCE __attribute__((weak, noplt))
#endif
#endif
#ifndef MIDDEN_REFERENCE
#define MIDDEN_REFERENCE __attribute__((weak))
#endif

/* The figures of a recording, or of one thread in it. Blocks live are allocations less frees. */
struct midden_figures {
	uint64_t allocations; /* calls that returned a block */
	uint64_t frees;
	uint64_t allocated_bytes; /* as requested */
	uint64_t freed_bytes;
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes;		/* the most that was live at once */
	uint64_t peak_blocks;		/* then; of a thread: when all together had most */
	uint64_t temporary_allocations; /* freed before their thread allocated anything else */
	uint64_t reallocations;
	uint64_t foreign_frees;	  /* of blocks that were there before the recording */
	uint64_t untracked_frees; /* of blocks that were allocated while recording was stopped */
	uint64_t threads;
	uint64_t stacks;     /* that allocated */
	uint64_t elapsed_ns; /* since the recording began */
};

/* Whom a call is about. */
enum midden_scope {
	MIDDEN_ALL_THREADS = 0, /* those to come too */
	MIDDEN_THIS_THREAD = 1,
};

/* Which blocks a threshold gives stacks to. */
enum midden_direction {
	MIDDEN_AT_LEAST = 0,
	MIDDEN_AT_MOST = 1,
};

/* Gets one figure of midden_collect. */
typedef void midden_visitor(void *context, const char *name, uint64_t value);

/* In libmidden.so. Not to be called directly: they may be absent. */
extern void midden_take_snapshot(const char *name) MIDDEN_REFERENCE;
extern int midden_set_recording(int on, int scope) MIDDEN_REFERENCE;
extern int midden_is_recording(void) MIDDEN_REFERENCE;
extern int midden_clear_figures(void) MIDDEN_REFERENCE;
extern int midden_write_profile(const char *path) MIDDEN_REFERENCE;
extern int midden_read_figures(struct midden_figures *figures, uint64_t bytes,
			       int scope) MIDDEN_REFERENCE;
extern int midden_list_figures(midden_visitor *visit, void *context) MIDDEN_REFERENCE;
extern int midden_set_stack_threshold(uint64_t bytes, int direction) MIDDEN_REFERENCE;
extern int midden_set_sample_period(uint64_t bytes) MIDDEN_REFERENCE;
extern int midden_set_thread_name(const char *name) MIDDEN_REFERENCE;
extern int midden_read_memory(uint64_t *vm_size_bytes, uint64_t *vm_rss_bytes) MIDDEN_REFERENCE;

extern void midden_add_block(void *block, uint64_t bytes) MIDDEN_REFERENCE;
extern void midden_move_block(void *block, void *moved, uint64_t bytes) MIDDEN_REFERENCE;
extern void midden_remove_block(void *block) MIDDEN_REFERENCE;
extern void midden_open_pool(void *memory, uint64_t bytes) MIDDEN_REFERENCE;
extern void midden_add_pool_block(const char *pool, void *block, uint64_t bytes) MIDDEN_REFERENCE;
extern void midden_remove_pool_block(void *block) MIDDEN_REFERENCE;
extern void midden_close_pool(void *memory) MIDDEN_REFERENCE;

/* ---- is it there? ---------------------------------------------------------------------------- */

/* 1 if libmidden.so is in this process, 0 if not. It may be switched off all the same. */
static inline int midden_is_loaded(void)
{
	return midden_take_snapshot != 0;
}

/* 1 if the calling thread's allocations are being recorded at this moment. */
static inline int midden_is_started(void)
{
	return midden_is_loaded() && midden_is_recording();
}

/* ---- control --------------------------------------------------------------------------------- */

/* All of these may be called by any thread at any time, do not allocate and leave errno alone. But
 * for midden_snapshot they return 0, or -1 if nothing is being recorded: because midden is not
 * there, is switched off, or its recorder has gone. */

/* Recording stops or starts, for the calling thread or for all; the last word holds, whether it was
 * about one thread or all. While it is stopped, blocks that were recorded are still seen to go
 * (and a realloc of one counts as its end), but none that come. A block that came then is not
 * known: its free counts among `untracked_frees`, and nowhere else. */
static inline int midden_stop(int scope)
{
	return midden_is_loaded() ? midden_set_recording(0, scope) : -1;
}

static inline int midden_start(int scope)
{
	return midden_is_loaded() ? midden_set_recording(1, scope) : -1;
}

/* Figures start over from now, as if the blocks that are live had all been allocated at this
 * moment. Snapshots and the course of time up to now are forgotten. Losses are not, and nothing is
 * in a recording with a trace. */
static inline int midden_clear(void)
{
	return midden_is_loaded() ? midden_clear_figures() : -1;
}

/* Has the recorder keep what is live at this moment, stack by stack, under a name of at most 95
 * bytes; NULL is the empty name, and names may repeat. Does not allocate and does not wait for the
 * recorder; errno stays. `midden report --snapshots` lists them. */
static inline void midden_snapshot(const char *name)
{
	if (midden_is_loaded())
		midden_take_snapshot(name);
}

/* Writes the profile so far to a file, and waits for it. The recording goes on. -1 too if the file
 * cannot be written, or is there and no profile. */
static inline int midden_write(const char *path)
{
	return midden_is_loaded() ? midden_write_profile(path) : -1;
}

/* From now on stacks are kept for blocks of at least (or at most) so many bytes; all others are
 * kept as if one unknown place had allocated them. At least 0: all have stacks. */
static inline int midden_set_threshold(uint64_t bytes, int direction)
{
	return midden_is_loaded() ? midden_set_stack_threshold(bytes, direction) : -1;
}

/* In sampling mode: from now on one block is sampled in so many bytes on average. -1 in any other
 * mode. */
static inline int midden_set_sampling(uint64_t bytes)
{
	return midden_is_loaded() ? midden_set_sample_period(bytes) : -1;
}

/* What reports call this thread, instead of the name that the kernel has; at most 15 bytes count.
 */
static inline int midden_name_thread(const char *name)
{
	return midden_is_loaded() ? midden_set_thread_name(name) : -1;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* The figures as of the moment of the call, exactly. Waits for the recorder: some microseconds when
 * it is idle, milliseconds when it has work to catch up with. */
static inline int midden_summary(struct midden_figures *figures, int scope)
{
	return midden_is_loaded() ? midden_read_figures(figures, sizeof(*figures), scope) : -1;
}

/* The same as a flat list of names and numbers: the figures of all threads ("live_bytes"), of the
 * calling one ("thread.live_bytes"), and "vm_size_bytes" and "vm_rss_bytes". Names last as long as
 * the call of `visit`, which may do what it likes. */
static inline int midden_collect(midden_visitor *visit, void *context)
{
	return midden_is_loaded() ? midden_list_figures(visit, context) : -1;
}

/* The process's address space and what of it is in memory, in bytes; 0 without midden. */
static inline uint64_t midden_vm_size(void)
{
	uint64_t size = 0, rss = 0;

	return midden_is_loaded() && midden_read_memory(&size, &rss) == 0 ? size : 0;
}

static inline uint64_t midden_vm_rss(void)
{
	uint64_t size = 0, rss = 0;

	return midden_is_loaded() && midden_read_memory(&size, &rss) == 0 ? rss : 0;
}

/* ---- allocators of the program's own --------------------------------------------------------- */

/* For memory that does not come from malloc: a block was handed out, has become another one, or was
 * taken back. They count as calls of malloc, realloc and free do, but not in tag mode. Blocks
 * are not looked into. */
static inline void midden_report_alloc(void *block, uint64_t bytes)
{
	if (midden_is_loaded() && block)
		midden_add_block(block, bytes);
}

static inline void midden_report_realloc(void *block, void *moved, uint64_t bytes)
{
	if (midden_is_loaded() && block && moved)
		midden_move_block(block, moved, bytes);
}

static inline void midden_report_free(void *block)
{
	if (midden_is_loaded() && block)
		midden_remove_block(block);
}

/* A pool hands out pieces of a larger block. From its creation on the pieces count, and the block
 * that they are cut from does not, so that no byte counts twice. `name` must stay as it is. */
struct midden_pool {
	const char *name;
	void *memory;
};

static inline struct midden_pool midden_pool_create(const char *name, void *memory, uint64_t bytes)
{
	struct midden_pool pool = {name, memory};

	if (midden_is_loaded() && memory)
		midden_open_pool(memory, bytes);
	return pool;
}

/* Stacks of such blocks have the pool's name as their innermost frame. */
static inline void midden_pool_alloc(const struct midden_pool *pool, void *block, uint64_t bytes)
{
	if (midden_is_loaded() && block)
		midden_add_pool_block(pool->name, block, bytes);
}

static inline void midden_pool_free(const struct midden_pool *pool, void *block)
{
	(void)pool;
	if (midden_is_loaded() && block)
		midden_remove_pool_block(block);
}

/* All blocks of the pool are gone at once, and the memory that it had counts again as what it was.
 * To be called before that memory is given back. */
static inline void midden_pool_destroy(const struct midden_pool *pool)
{
	if (midden_is_loaded() && pool->memory)
		midden_close_pool(pool->memory);
}

/* ---- tags ------------------------------------------------------------------------------------ */

/* A tag is a name for what the calling thread is about. Tags nest, to any depth; names are of any
 * length, and copied. What is allocated and freed inside of one is counted there (docs/tags.md).
 * None of these allocates, and errno stays. */

/* In libmidden.so. Not to be called directly: they may be absent. */
extern uint64_t midden_push_tag(const char *name) MIDDEN_REFERENCE;
extern uint64_t midden_push_method_tag(const char *class_name,
				       const char *function) MIDDEN_REFERENCE;
extern void midden_pop_tag(void) MIDDEN_REFERENCE;
extern void midden_leave_tag(uint64_t handle) MIDDEN_REFERENCE;
extern uint64_t midden_get_tag(void) MIDDEN_REFERENCE;
extern uint64_t midden_adopt_tag(uint64_t handle) MIDDEN_REFERENCE;

/* Enters a tag inside the current one. Returns a handle of it, 0 where there is no midden, for
 * midden_tag_leave and midden_tag_adopt. */
static inline uint64_t midden_tag_push(const char *name)
{
	return midden_push_tag ? midden_push_tag(name) : 0;
}

/* The same with the name CLASS::FUNCTION. */
static inline uint64_t midden_tag_push_method(const char *class_name, const char *function)
{
	return midden_push_method_tag ? midden_push_method_tag(class_name, function) : 0;
}

/* Leaves the current tag. One pop too many is counted and does nothing. */
static inline void midden_tag_pop(void)
{
	if (midden_pop_tag)
		midden_pop_tag();
}

/* Leaves the tag that a push has returned, and with it those inside it that were not left: a
 * longjmp may have passed over their pops. */
static inline void midden_tag_leave(uint64_t handle)
{
	if (midden_leave_tag)
		midden_leave_tag(handle);
}

/* The tag that the calling thread is in, to be adopted by another thread; 0: none. */
static inline uint64_t midden_tag_current(void)
{
	return midden_get_tag ? midden_get_tag() : 0;
}

/* Puts the calling thread into the tag of that handle, whichever thread it is from, and returns the
 * one that it was in, to be adopted again when the task is done. 0 is to be in no tag. */
static inline uint64_t midden_tag_adopt(uint64_t handle)
{
	return midden_adopt_tag ? midden_adopt_tag(handle) : 0;
}

#if defined(__GNUC__) && !defined(__cplusplus)
static inline void midden_tag_cleanup(const uint64_t *handle)
{
	midden_tag_leave(*handle);
}

#define MIDDEN_JOIN_(a, b) a##b
#define MIDDEN_JOIN(a, b)  MIDDEN_JOIN_(a, b)

/* Enters a tag that is left with the enclosing block, however that is left (but by longjmp). C++
 * has midden::tag in midden.hpp. */
#define MIDDEN_TAG(name)                                                                 \
	__attribute__((cleanup(midden_tag_cleanup), unused)) const uint64_t MIDDEN_JOIN( \
		midden_tag_, __LINE__) = midden_tag_push(name)
#endif

#ifdef __cplusplus
}
#endif

#endif
