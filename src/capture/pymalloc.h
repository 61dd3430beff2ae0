/* pymalloc.h -- small objects of Python, which its own allocator cuts out of arenas.
 * Runs: any thread of the target. Called by python.c, and by the interpreter through its own hooks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Python lets functions be put in the place of its allocators (PyMem_SetAllocator). Ours hand each
 * call on and record what is cut out of arenas: each block, or samples. A request of more than 512
 * bytes becomes a malloc inside, which is recorded there, and so is its free. */
#ifndef MIDDEN_CAPTURE_PYMALLOC_H
#define MIDDEN_CAPTURE_PYMALLOC_H

#include <stdbool.h>

#include "capture/dynsym.h"

/* Takes the place of the allocators of the interpreter that has these symbols, as the recording
 * wants it. Its own functions stay the ones that do the work. It need not have begun to run. Those
 * without a GIL have another allocator, and are left alone. */
void pymalloc_install(const struct dynsym *d, bool is_free_threaded);

/* Takes it again where the interpreter has changed its allocators since (PYTHONMALLOC, -X dev).
 * To be called once it runs Python code. */
void pymalloc_check(void);

#endif
