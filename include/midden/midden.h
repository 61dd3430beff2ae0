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

/* In libmidden.so. Not to be called directly: they may be absent. */
extern void midden_take_snapshot(const char *name) MIDDEN_REFERENCE;

/* 1 if libmidden.so is in this process, 0 if not. It may be switched off all the same. */
static inline int midden_is_loaded(void)
{
	return midden_take_snapshot != 0;
}

/* Has the recorder keep what is live at this moment, stack by stack, under a name of at most 95
 * bytes; NULL is the empty name, and names may repeat. Does not allocate and does not wait for the
 * recorder; errno stays. `midden report --snapshots` lists them. */
static inline void midden_snapshot(const char *name)
{
	if (midden_is_loaded())
		midden_take_snapshot(name);
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
