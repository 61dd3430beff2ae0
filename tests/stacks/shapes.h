/* shapes.h -- a random walk through functions of many shapes, with marked allocations on the way.
 * Runs: in shapes.c, which drives it, and in shapes_set.c, which has the functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_STACKS_SHAPES_H
#define MIDDEN_TESTS_STACKS_SHAPES_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

struct trip;
typedef void shape_fn(struct trip *);

/* One walk. What happens depends on the seed in `random` alone. */
struct trip {
	uint64_t random;
	unsigned left;	 /* how much deeper it may go */
	unsigned visits; /* how many functions it may still enter */
	jmp_buf *back;	 /* where a longjmp may lead; NULL: nowhere */
	shape_fn *const *all;
	unsigned count;
	int alone;	 /* no other thread makes one */
	unsigned stacks; /* coroutine stacks in use */
	unsigned signal_stacks;
};

struct shapes_set {
	shape_fn *const *shapes;
	unsigned count;
};

/* What a library of shapes exports. */
typedef struct shapes_set shapes_get_fn(void);
shapes_get_fn shapes_get;

void oracle_mark(void);
void trip_noise(size_t bytes); /* an allocation that is not marked */

static inline uint64_t trip_random(struct trip *t)
{
	t->random = t->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return t->random >> 20;
}

/* Goes on into another function, with marks before or after; always in the caller's own frame. */
static inline __attribute__((always_inline)) void trip_onward(struct trip *t)
{
	uint64_t r = trip_random(t);

	if (t->left == 0 || t->visits == 0) {
		oracle_mark();
		return;
	}
	t->left--;
	t->visits--;
	if (r % 4 == 0)
		oracle_mark();
	if (r % 8 == 5)
		trip_noise(r % 99);
	t->all[(r >> 8) % t->count](t);
	t->left++;
	if ((r >> 4) % 4 == 0)
		oracle_mark();
}

#endif
