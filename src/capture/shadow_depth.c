/* shadow_depth.c -- the functions that a thread was in when its stack was deepest.
 * Runs: any thread of the target, in the functions that its compiler calls on entry and exit.
 * Called by shadow.c, with the thread's frames taken.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/shadow_depth.h"

#include <string.h>

#include "capture/modules.h"
#include "capture/named.h"
#include "capture/orders.h"
#include "capture/stacktree.h"

void shadow_depth_keep(struct shadow *s)
{
	s->is_new = false;
	memcpy(s->deepest + s->same, s->frames + s->same,
	       (s->count - s->same) * sizeof(*s->frames));
	s->same = s->deepest_count = s->count;
	s->deepest_sp = s->lowest;
}

/* The path that is being made, outermost frame first. */
struct path {
	struct thread *t;
	struct stacktree tree;
	struct named named;
	uint32_t generation;
	uint32_t node;
	uint32_t hash;
	bool is_full;
};

/* The code before `pc`, and the bytes of the stack that it has. */
static void add(struct path *p, uint64_t pc, uint64_t bytes)
{
	uint32_t place;

	(void)rules_find(p->t, pc - 1, p->generation, &place);
	const struct segment_named frame = {
		.kind = SEGMENT_NAMED_FRAME,
		.function = place & SEGMENT_NODE_PLACE_MASK,
		.line = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
	};
	const uint32_t word = named_add(&p->named, &frame);
	const struct stacktree_run run = {
		.outer = p->node, .outer_hash = p->hash, .places = &word, .count = 1};

	if (p->is_full)
		return;
	p->node = stacktree_add(p->t, &p->tree, &run, &p->is_full);
	p->hash = stacktree_hash(p->hash, word);
}

/* The frame of `f`, the innermost function in it, up to where that of `inner` begins. What lies
 * between them and has not said so is its caller's. */
static void add_frame(struct path *p, const struct shadow_frame *f,
		      const struct shadow_frame *inner)
{
	uint64_t between = inner->caller_cfa;

	if (between == f->cfa) {
		add(p, inner->caller_pc, f->cfa - inner->cfa);
		return;
	}
	if (between < inner->cfa || between > f->cfa)
		between = inner->cfa;
	add(p, f->pc, f->cfa - between);
	add(p, inner->caller_pc, between - inner->cfa);
}

static void add_all(struct path *p, const struct shadow *s)
{
	const struct shadow_frame *f = s->deepest;

	add(p, f->caller_pc, p->t->stack.high - f->cfa);
	for (uint32_t i = 1; i < s->deepest_count; i++, f++)
		if (f[1].cfa != f->cfa) /* not inlined */
			add_frame(p, f, &f[1]);
	add(p, f->pc, f->cfa - s->deepest_sp);
}

NOINLINE void shadow_depth_tell(struct thread *t, struct shadow *s)
{
	if (thread_is_busy(t) || !s->deepest_count)
		return;
	t->limit = thread_busy(s->busy);
	atomic_signal_fence(memory_order_seq_cst);
	t->doubtful = false;
	struct path path = {.t = t, .tree = stacktree_get(), .named = named_get()};
	path.generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	add_all(&path, s);
	atomic_signal_fence(memory_order_seq_cst);
	t->limit = t->chunk_limit;
	const uint64_t words[3] = {path.node, t->stack.high - s->deepest_sp};
	if (orders_put(SEGMENT_EVENT_ORDER, SEGMENT_ORDER_DEEPEST, words))
		s->told_sp = s->deepest_sp;
}
