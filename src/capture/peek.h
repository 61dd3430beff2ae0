/* peek.h -- reads memory that may be gone.
 * Runs: any thread of the target, inside malloc. Called for objects that another thread may
 * unload, and for stacks that are not the thread's own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_PEEK_H
#define MIDDEN_CAPTURE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies all of `bytes` from `address`, by way of the kernel, which says no instead of faulting.
 * False: not all of it is there. Where the kernel may not be asked (a seccomp filter, an emulator),
 * it is read plainly: only for what the loader has just said is mapped. */
bool peek_copy(uint64_t address, void *to, size_t bytes);

/* The same for addresses that may be anything: where the kernel may not be asked in this way, it is
 * asked in another, page by page; where that is of no use either, nothing can be read. */
bool peek_strictly(uint64_t address, void *to, size_t bytes);

#define PEEK_PAGE UINT64_C(4096) /* of what is asked for at once: larger pages are some of these */

/* Whether the page of an address can be read at this moment. False also where the kernel does not
 * tell. It takes a fraction of what a copy takes. */
bool peek_is_readable(uint64_t address);

/* Copies a text with its end; at most `room` bytes of it. False: it has no end there. */
bool peek_text(uint64_t address, char *to, size_t room);

#endif
