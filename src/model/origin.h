/* origin.h -- whose code a frame is: the program's, or that of the language and its libraries.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_ORIGIN_H
#define MIDDEN_MODEL_ORIGIN_H

#include "model/model.h"

/* True for the C library and the loader, by the path of a module. */
bool origin_is_libc(const char *module);

/* True for the runtime library of C++. */
bool origin_is_libstdcxx(const char *module);

/* False for what every program gets with its compiler: the C and C++ libraries, their headers,
 * Rust's standard library, allocators' entries, and for placeholders. */
bool origin_is_own(const struct model_frame *f);

/* True for functions that say of themselves that they hand on to an allocator: xmalloc, g_realloc,
 * sqlite3Malloc, xstrdup. */
bool origin_is_wrapper(const char *function);

/* The position of the frame of a stack that a reader can do something about: the first of the
 * program's own that has a name, is no wrapper and is not installed for Python (its modules,
 * packages, extensions); failing that, the first of its own; or 0. */
size_t origin_find_own(const struct model *m, const struct model_stack *stack);

/* That frame for each node of the profile, taken as the end of a stack; UINT32_MAX where none of
 * the frames is the program's own. The caller frees it. */
uint32_t *origin_list_own(const struct model *m);

#endif
