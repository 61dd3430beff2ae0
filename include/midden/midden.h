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

#ifdef __cplusplus
}
#endif

#endif
