/* family.h -- allocators with entry points of their own: C++ operators, jemalloc's, tcmalloc's,
 * mimalloc's names. Runs: at start-up, before the program's constructors.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_FAMILY_H
#define MIDDEN_CAPTURE_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

/* Finds out which entry points there are. Called while the real allocator is being looked up, so
 * that what dlsym allocates comes from our arena and not from the program's heap. Whether
 * the allocator is another one than libc's. */
bool family_find(const void *real_malloc);

/* Puts our wrappers in front of those entry points that the allocator in use defines. Nothing is
 * defined where there was nothing: a program that asks whether `mallocx` exists gets the true
 * answer. */
void family_patch(void);

/* Finds out where the allocator's code lies, once modules_init has been called. */
void family_find_areas(void);

/* Whether `pc` is in there: a function of the allocator's calls another one. Never so for libc's
 * own allocator, which does not do so by the names that we stand in for. */
bool family_holds(uint64_t pc);

#endif
