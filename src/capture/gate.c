/* gate.c -- what is recorded while not everything is: recording switched off, by the thread or for
 * all, and stacks left out by size.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/gate.h"

#include "capture/hot.h"

void gate_switch(uint64_t word)
{
	uint64_t seen = atomic_load_explicit(&process->switch_word, memory_order_relaxed);

	while (seen < word &&
	       !atomic_compare_exchange_weak_explicit(&process->switch_word, &seen, word,
						      memory_order_acq_rel, memory_order_relaxed))
		continue;
}

void gate_update(struct thread *t)
{
	t->chunk_limit = gate_is_shut(t) ? NULL : t->chunk_end;
}

/* Not busy: the limit goes first, or the thread would look so to a signal handler in between. */
static void open_gate(struct thread *t)
{
	t->limit = t->chunk_end;
	atomic_signal_fence(memory_order_seq_cst);
	t->chunk_limit = t->chunk_end;
}

static bool has_gate(const struct thread *t)
{
	return t->state == THREAD_READY && !t->chunk_limit;
}

void gate_end_resize(uint32_t kind)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return;
	t->pos[0] = hot_word(t, kind, 0);
	hot_publish(t, t->pos + 1);
	hot_leave(t);
}

/* A block whose stack nobody wants. */
static enum gate_answer put_stackless(void *block, size_t bytes, uint32_t what)
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return GATE_CLOSED;
	hot_put_block(t, block, bytes, what, 0);
	return GATE_DONE;
}

enum gate_answer gate_admit_block(const struct walk_start *start, void *block, size_t bytes,
				  uint32_t what)
{
	if (!cold_enter(start->sp, start->pc))
		return GATE_CLOSED;
	struct thread *t = thread_self;
	if (!has_gate(t))
		return GATE_OPEN;
	if (!gate_is_on(t)) {
		/* The block that was resized was one that we knew, perhaps; this one is not. */
		if ((what & 15u) == SEGMENT_EVENT_RESIZED)
			gate_end_resize(SEGMENT_EVENT_RESIZE_FREED);
		return GATE_CLOSED;
	}
	uint64_t threshold = atomic_load_explicit(&process->threshold, memory_order_relaxed);
	if (threshold == 0)
		open_gate(t);
	return segment_is_stackless(threshold, bytes) ? put_stackless(block, bytes, what)
						      : GATE_OPEN;
}

/* Before anything is recorded there is no block that could be known. */
bool gate_admit_release(uint64_t frame, uint64_t pc)
{
	return cold_enter(frame, pc) &&
	       (!has_gate(thread_self) ||
		atomic_load_explicit(&process->has_begun, memory_order_acquire));
}
