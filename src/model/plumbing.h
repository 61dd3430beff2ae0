/* plumbing.h -- what lies between a program and the memory that it asks for: the standard libraries
 * of C++ and Rust. Runs: offline, called by model.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a stack ends in a library, the program is behind the outermost of its functions:
 * std::vector<int>::push_back was called, and what that is made of says nothing about who
 * allocated. So that one is the leaf, and those below it are left out. */
#ifndef MIDDEN_MODEL_PLUMBING_H
#define MIDDEN_MODEL_PLUMBING_H

#include "model/model.h"

enum plumbing {
	PLUMBING_NONE,	 /* not of these libraries */
	PLUMBING_CALLED, /* a function that programs call */
	PLUMBING_INSIDE, /* one that they do not: its name is reserved, or it is an allocator's */
};

/* `function` is demangled; in C++ it has parameters, in Rust none. Any text is allowed. */
enum plumbing plumbing_judge(const char *function);

/* How many frames at the leaf of a stack are left out, allocators' entries among them; never all.
 */
size_t plumbing_count_leaves(const struct model_frame *frames, const struct model_stack *stack);

#endif
