/* orders.c -- events by which the program tells the recorder what to do.
 * Runs: any thread of the target, outside of malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/orders.h"

#include <string.h>
#include <time.h>

#include "capture/hot.h"
#include "capture/ring.h"
#include "format/clock.h"

#define LOOK_MS	  10000u    /* at most, whatever the segment says of patience */
#define SLICE_NS  20000000L /* how often a waiting thread looks whether it still has to */
#define SILENT_NS UINT64_C(1000000000) /* of a collector that may be gone */

bool orders_put(uint32_t kind, uint32_t order, const uint64_t words[3])
{
	struct thread *t = hot_enter();

	if (unlikely(!t))
		return false;
	uint64_t *at = t->pos;
	memcpy(&at[1], words, 3 * sizeof(words[0]));
	at[0] = hot_word(t, kind, order);
	hot_publish(t, at + 4);
	hot_leave(t);
	return true;
}

bool orders_put_text(const char *text, size_t bytes)
{
	bool recording = true;

	for (size_t piece; recording && bytes; bytes -= piece, text += piece) {
		uint64_t words[3] = {0};

		piece = bytes < sizeof(words) ? bytes : sizeof(words);
		memcpy(words, text, piece);
		recording = orders_put(SEGMENT_EVENT_NAME, 0, words);
	}
	return recording;
}

uint64_t orders_get_question(void)
{
	uint32_t number = 0;

	while (process && number == 0)
		number = atomic_fetch_add(&process->questions, 1) + 1;
	return number;
}

static bool is_answered(const struct segment_slot *slot, uint64_t question)
{
	/* Pairs with the collector's release: the answer is there. */
	return atomic_load_explicit(&slot->answered, memory_order_acquire) == (uint32_t)question;
}

/* How long an answer has been waited for, and when the collector gave its last sign of life. */
struct vigil {
	uint64_t last_ns; /* to wait until */
	uint64_t beat_ns;
	uint64_t beat;
};

static struct vigil begin_vigil(uint64_t most_ms)
{
	uint64_t now = clock_monotonic_ns();

	return (struct vigil){.last_ns = now + most_ms * 1000000,
			      .beat_ns = now,
			      .beat = atomic_load(&process->header->heartbeat)};
}

/* False: nobody will answer. Whether the collector is there is asked as late as can be: a program
 * may be forbidden to ask. */
static bool wait_a_while(const struct segment_slot *slot, struct vigil *v)
{
	struct segment_header *h = process->header;
	struct timespec slice = {.tv_nsec = SLICE_NS};
	uint32_t seen = atomic_load_explicit(&slot->answered, memory_order_relaxed);

	ring_wake_collector(h);
	(void)HOST_CALL4(SYS_futex, &slot->answered, HOST_FUTEX_WAIT, seen, &slice);
	if (atomic_load(&process->state) != PROCESS_RECORDING)
		return false;
	uint64_t now = clock_monotonic_ns(), beat = atomic_load(&h->heartbeat);
	if (beat != v->beat) {
		v->beat = beat;
		v->beat_ns = now;
	}
	return now < v->last_ns && (now - v->beat_ns < SILENT_NS || ring_has_collector(h));
}

bool orders_await(uint64_t question, uint64_t most_ms, uint64_t figures[SEGMENT_FIGURES])
{
	const struct segment_slot *slot = thread_self->slot;
	struct vigil v = begin_vigil(most_ms);

	if (!slot)
		return false;
	while (!is_answered(slot, question) && wait_a_while(slot, &v))
		;
	if (!is_answered(slot, question))
		return false;
	if (figures)
		memcpy(figures, slot->figures, sizeof(slot->figures));
	return slot->done != 0;
}

/* A look takes a millisecond, where the machine is not busy. A collector that hangs is waited for
 * once, not by every thread that ends. */
void orders_await_look(bool all)
{
	uint64_t question = atomic_load(&process->is_vain) ? 0 : orders_get_question();
	uint64_t words[] = {question, all, 0};

	if (!question || !orders_put(SEGMENT_EVENT_ORDER, SEGMENT_ORDER_LOOK, words))
		return;
	uint32_t most_ms = process->header->patience_ms;
	(void)orders_await(question, most_ms < LOOK_MS ? most_ms : LOOK_MS, NULL);
	if (!is_answered(thread_self->slot, question))
		atomic_store(&process->is_vain, true);
}
