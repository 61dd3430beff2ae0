/* allocator.h -- which functions are the allocator's own, and so say nothing about who allocated.
 * Runs: offline, called while a model is built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_ALLOCATOR_H
#define MIDDEN_MODEL_ALLOCATOR_H

#include <stdbool.h>

/* True for every form of operator new, for malloc and its like in the C library or a known
 * allocator library, and for all of midden's own library. `function` is demangled, `module` a path.
 */
bool allocator_is_entry(const char *function, const char *module);

#endif
