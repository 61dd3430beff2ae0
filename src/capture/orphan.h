/* orphan.h -- a fork child that goes on inside a hook of its parent's.
 * Runs: in the fork wrapper, and in the child until the hook has come to its end.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A signal handler may interrupt a hook and fork. The child comes back from the handler into the
 * middle of the hook, which then needs the state that it began with, and memory where the segment
 * was. It gets copies of both; nothing that it does there reaches anyone. When it has left the
 * hook, the child begins as any other does. */
#ifndef MIDDEN_CAPTURE_ORPHAN_H
#define MIDDEN_CAPTURE_ORPHAN_H

#include <stdbool.h>
#include <stdint.h>

struct orphan;
struct thread;

/* Before a fork: copies the state if the calling thread is inside a hook; NULL if it is not, or
 * there is no memory. Until orphan_adopt or orphan_drop this thread starts no recording. */
struct orphan *orphan_prepare(void);

/* Whether the calling thread is between orphan_prepare and what ends it. */
bool orphan_is_forking(void);

/* In the child: puts the copies in place of what the kernel has wiped, and private memory in place
 * of the `bytes` of the segment. */
void orphan_adopt(struct orphan *copy, void *segment, uint64_t bytes);

/* In the parent. NULL is fine. */
void orphan_drop(struct orphan *copy);

#endif
