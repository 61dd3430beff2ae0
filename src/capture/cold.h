/* cold.h -- the slow side of the hooks: starting, refilling, passing through.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler. Called by hot.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_COLD_H
#define MIDDEN_CAPTURE_COLD_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"

struct orphan;
struct thread;

/* Makes the calling thread able to write an event, maybe after a refill. `frame` is the stack
 * pointer of the hook's caller, `pc` where the hook returns to. False: the event is not to be
 * recorded; it has been counted as lost or re-entrant where it should be. Keeps errno. */
NOINLINE bool cold_enter(uint64_t frame, uint64_t pc);

/* Attaches the calling thread, which is not attached, before it has anything to record. False:
 * there is no room. */
bool cold_attach(void);

/* Gives the thread, which is busy, a fresh chunk. False: the recording has ended; the
 * event is counted as lost. */
NOINLINE bool cold_refill(struct thread *t);

/* hot_put_block's event for a block of 4 GiB and more. */
NOINLINE void cold_put_big(struct thread *t, void *block, size_t bytes, uint32_t what,
			   uint64_t node);

/* While a function of the allocator's runs that may do its work on `block` through the names we
 * stand in for, so that what it does is not recorded a second time. False: an outer wrapper has
 * masked it already. */
bool cold_mask(void *block, uint64_t frame);
void cold_unmask(bool masked);
#define COLD_MASK(block) cold_mask((block), ARCH_CFA())

/* Whether a hook is gone that a signal handler may have interrupted and jumped out of (longjmp):
 * whether a call by `frame` comes from no further in. `hook` is the lower half of its frame. */
bool cold_has_left(struct thread *t, uint32_t hook, uint64_t frame);

/* Whether the calling thread is on its alternate signal stack. */
bool cold_is_on_signal_stack(void);

/* Counts an allocation that returned NULL. */
NOINLINE void cold_failed(void);

/* The same; returns NULL. */
NOINLINE void *cold_fail(void);

/* Starts the recording of this process if it has not been tried yet. */
void cold_start(void);

/* In place of it, before anything else: this program is not recorded, nor are its children. `why`
 * is said where nobody else does. */
void cold_stay_off(const char *why);

/* In a fork child: ends the parent's recording here, and begins one of its own if children are
 * followed. `copy` is what orphan_prepare gave. */
void cold_after_fork(struct orphan *copy);

#endif
