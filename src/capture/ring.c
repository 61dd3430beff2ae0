/* ring.c -- event buffers: chunks of the segment, taken when one is full.
 * Runs: any thread of the target, inside malloc. Called by thread.c and cold.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/ring.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "capture/gate.h"
#include "capture/host.h"
#include "capture/say.h"
#include "format/clock.h"

#define BUSY_PATIENCE 5 /* times the patience: for a collector that lives but frees nothing */
#define GONE_NS	      UINT64_C(200000000) /* from another pid namespace every process looks gone */
#define WAIT_SLICE_MS 5 /* how often a waiting thread looks whether the collector still lives */

/* Pops {tag, index}; `next_of` reads the link of an index. The tag makes a head that was popped and
 * pushed again in between different, so the exchange fails and we look again. Pairs with the
 * collector's release push. */
static uint32_t pop(_Atomic uint64_t *head, uint32_t count, _Atomic uint32_t *(*link_of)(uint32_t))
{
	uint64_t seen = atomic_load_explicit(head, memory_order_acquire);

	for (;;) {
		uint32_t index = (uint32_t)seen;

		if (index == 0 || index >= count)
			return 0;
		uint32_t next = atomic_load_explicit(link_of(index), memory_order_relaxed);
		uint64_t wanted = ((seen >> 32) + 1) << 32 | next;
		if (atomic_compare_exchange_weak_explicit(head, &seen, wanted, memory_order_acquire,
							  memory_order_acquire))
			return index;
	}
}

static _Atomic uint32_t *chunk_link(uint32_t index)
{
	return &process_chunk(index)->next_free;
}

static _Atomic uint32_t *slot_link(uint32_t index)
{
	return &process_slot(index)->next_free;
}

uint32_t ring_pop_slot(void)
{
	struct segment_header *h = process->header;
	uint32_t index = pop(&h->free_slots, process->layout.slot_count, slot_link);

	if (index)
		return index;
	index = atomic_fetch_add_explicit(&h->slots_used, 1, memory_order_relaxed) + 1;
	if (index < process->layout.slot_count)
		return index;
	atomic_fetch_sub_explicit(&h->slots_used, 1, memory_order_relaxed);
	return 0;
}

uint32_t ring_pop_chunk(void)
{
	struct segment_header *h = process->header;
	uint32_t index = pop(&h->free_chunks, process->layout.chunk_count, chunk_link);

	if (index)
		return index;
	uint32_t used = atomic_load_explicit(&h->chunks_used, memory_order_relaxed);
	uint32_t limit = atomic_load_explicit(&h->chunk_limit, memory_order_relaxed);
	if (limit > process->layout.chunk_count - 1)
		limit = process->layout.chunk_count - 1;
	while (used < limit) {
		if (atomic_compare_exchange_weak_explicit(&h->chunks_used, &used, used + 1,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return used + 1;
	}
	return 0;
}

/* A sleeping collector waits on this word; the exchange keeps all but one of us from the system
 * call. */
void ring_wake_collector(struct segment_header *h)
{
	if (atomic_load_explicit(&h->sleeping, memory_order_relaxed) &&
	    atomic_exchange_explicit(&h->sleeping, 0, memory_order_acq_rel))
		(void)HOST_CALL3(SYS_futex, &h->sleeping, HOST_FUTEX_WAKE, 1);
}

bool ring_has_collector(const struct segment_header *h)
{
	return HOST_CALL2(SYS_kill, h->collector_pid, 0) != -ESRCH;
}

static void abandon(struct segment_header *h)
{
	uint32_t recording = PROCESS_RECORDING;

	if (!atomic_compare_exchange_strong(&process->state, &recording, PROCESS_OFF))
		return;
	atomic_store_explicit(&h->target_state, SEGMENT_TARGET_ABANDONED, memory_order_release);
	say("the collector does not answer: recording has ended, the program goes on");
}

static void wait_for_chunk(struct segment_header *h)
{
	struct timespec slice = {.tv_nsec = WAIT_SLICE_MS * 1000000L};
	uint32_t seen = atomic_load_explicit(&h->freed, memory_order_acquire);

	/* Announce first, look again, then sleep: the collector frees first and looks whether
	 * anybody waits then. It takes that back, not we: a signal handler may jump out of here. */
	atomic_store(&h->waiting, 1);
	ring_wake_collector(h);
	if ((uint32_t)atomic_load(&h->free_chunks) == 0)
		(void)HOST_CALL4(SYS_futex, &h->freed, HOST_FUTEX_WAIT, seen, &slice);
}

/* 0: the collector is gone or silent for too long, and the recording has ended. */
static uint32_t take_chunk(void)
{
	struct segment_header *h = process->header;
	uint64_t patience_ns = (uint64_t)h->patience_ms * 1000000;
	uint32_t index = ring_pop_chunk();

	if (likely(index))
		return index;
	uint64_t beat = atomic_load(&h->heartbeat);
	uint64_t since = clock_monotonic_ns();
	/* Busy is not dead, but one that frees nothing for so long is of no more use. */
	const uint64_t last = since + patience_ns * BUSY_PATIENCE;
	while (atomic_load(&process->state) == PROCESS_RECORDING) {
		wait_for_chunk(h);
		index = ring_pop_chunk();
		if (index)
			return index;
		uint64_t now = clock_monotonic_ns();
		uint64_t beat_now = atomic_load(&h->heartbeat);
		if (beat_now != beat) {
			beat = beat_now;
			since = now;
		}
		if (now > last || now - since > patience_ns ||
		    (now - since > GONE_NS && !ring_has_collector(h)))
			abandon(h);
	}
	return 0;
}

static void use_chunk(struct thread *t, uint32_t index, uint64_t position)
{
	struct segment_chunk *chunk = process_chunk(index);

	t->chunk = index;
	t->pos = chunk->words;
	t->chunk_end = chunk->words + (SEGMENT_CHUNK_PAYLOAD - SEGMENT_EVENT_MAX) / 8 + 1;
	t->chunk_limit = gate_is_shut(t) ? NULL : t->chunk_end;
	t->position_bias = position - (uint64_t)(uintptr_t)chunk->words;
}

bool ring_open(struct thread *t)
{
	uint32_t index = take_chunk();

	if (!index)
		return false;
	atomic_store_explicit(&process_chunk(index)->next, 0, memory_order_relaxed);
	t->slot->first_chunk = index;
	use_chunk(t, index, 0);
	return true;
}

bool ring_refill(struct thread *t)
{
	struct segment_chunk *old = process_chunk(t->chunk);
	uint64_t start = (uint64_t)(uintptr_t)old->words + t->position_bias;

	ring_wake_collector(process->header);
	uint32_t index = take_chunk();
	if (!index)
		return false;
	atomic_store_explicit(&process_chunk(index)->next, 0, memory_order_relaxed);
	/* Ordered before the collector may need it by the release of `head` with the next event. */
	atomic_store_explicit(&old->next, index, memory_order_relaxed);
	use_chunk(t, index, start + SEGMENT_CHUNK_PAYLOAD);
	return true;
}
