/* stackrange.h -- which addresses of a thread's stack can be read without asking.
 * Runs: any thread of the target, inside malloc. Called by thread.c and walk_step.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The range reaches from the lowest stack pointer at which everything up to the top was found
 * readable, to the top. It grows downwards as the stack does. Stack pointers elsewhere
 * (coroutines, alternate signal stacks) are not in it; walks there read through the kernel. */
#ifndef MIDDEN_CAPTURE_STACKRANGE_H
#define MIDDEN_CAPTURE_STACKRANGE_H

#include <stdbool.h>
#include <stdint.h>

#define STACKRANGE_FOREIGN 16 /* remembered places that are not on the thread's own stack */

struct stackrange {
	uint64_t low;
	uint64_t high;	    /* 0: unknown */
	uint64_t word_span; /* of addresses from low on where a word can be read */
	uint64_t foreign[STACKRANGE_FOREIGN];
};

/* Finds the top of the calling thread's stack and what is readable below it. */
void stackrange_init(struct stackrange *r, bool is_main);

/* Slow side of stackrange_covers: the stack may have grown. */
bool stackrange_extend(struct stackrange *r, uint64_t sp);

/* Whether the kernel refuses to read our own memory for us. Then a thread's own stack is trusted,
 * and walks end where another begins. */
bool stackrange_is_denied(void);

/* Whether [sp, high) may be read plainly. */
static inline bool stackrange_covers(struct stackrange *r, uint64_t sp)
{
	return __builtin_expect(sp - r->low < r->high - r->low, 1) || stackrange_extend(r, sp);
}

#endif
