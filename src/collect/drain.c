/* drain.c -- rounds: all events up to now, merged by time, into the account.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/drain.h"

#include <string.h>

#include "format/clock.h"

/* reorderings tried for one place; a tie of more threads than that is damage */
#define SWAPS_MAX 16u

/* Events that may be moved to settle ties, for each one that is handled, and saved up. A target
 * whose events all contradict each other must not make a round last for hours. */
#define PATIENCE_EACH 32u
#define PATIENCE_MOST (1u << 16)

void drain_fini(struct drain *d)
{
	vec_free(&d->turns);
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* Events stamped earlier than this are complete. Waits for the clock to move, so that on a slow
 * counter those stamped in the tick of the call are among them. */
static uint64_t read_limit(const struct ticks *clock)
{
	uint64_t first = ticks_get_now(clock);
	uint64_t now;

	do
		now = ticks_get_now(clock);
	while (now == first);
	clock_fence();
	return now;
}

/* ---- the heap of streams --------------------------------------------------------------------- */

static void swap(struct turn *a, struct turn *b)
{
	struct turn kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_down(struct drain *d, size_t i)
{
	struct turn *at = d->turns.at;

	for (;;) {
		size_t least = i, left = 2 * i + 1;

		if (left < d->turns.count && at[left].ticks < at[least].ticks)
			least = left;
		if (left + 1 < d->turns.count && at[left + 1].ticks < at[least].ticks)
			least = left + 1;
		if (least == i)
			return;
		swap(&at[i], &at[least]);
		i = least;
	}
}

static void build_heap(struct drain *d)
{
	for (size_t i = d->turns.count / 2; i-- > 0;)
		sift_down(d, i);
}

/* The stamp up to which the first stream can run without asking the others. */
static uint64_t get_second(const struct drain *d)
{
	uint64_t second = UINT64_MAX;

	for (size_t i = 1; i < d->turns.count && i <= 2; i++)
		if (d->turns.at[i].ticks < second)
			second = d->turns.at[i].ticks;
	return second;
}

/* ---- the batch ------------------------------------------------------------------------------- */

/* The block's state contradicts batch[0]. If an event of the same time in another thread
 * explains it (a block that is live can only be freed next, one that is not only allocated),
 * lets that thread go first. Returns how many events it looked at or moved, 0 if there is none. */
static uint32_t settle_tie(struct event *batch, uint32_t count)
{
	const struct event first = batch[0];
	uint32_t found = 0;

	for (uint32_t i = 1; i < count && !found && batch[i].ticks == first.ticks; i++) {
		bool opposite = event_is_arrival(&first) ? event_is_departure(&batch[i])
							 : event_is_arrival(&batch[i]);
		if (opposite && batch[i].ptr == first.ptr && batch[i].slot != first.slot)
			found = i;
	}
	if (!found)
		return 0;

	/* What that thread did before it, at the same time, stays before it. */
	uint32_t slot = batch[found].slot;
	uint32_t front = 0, moves = found;
	for (uint32_t i = 0; i <= found; i++) {
		struct event moved = batch[i];

		if (moved.slot != slot)
			continue;
		memmove(&batch[front + 1], &batch[front], (i - front) * sizeof(batch[0]));
		moves += i - front;
		batch[front++] = moved;
	}
	return moves;
}

/* The same while there is patience left. */
static bool try_to_settle(struct drain *d, struct event *batch, uint32_t count)
{
	uint32_t moves = d->patience ? settle_tie(batch, count) : 0;

	d->patience -= moves < d->patience ? moves : d->patience;
	return moves != 0;
}

static void gain_patience(struct drain *d, uint32_t events)
{
	d->patience += events * PATIENCE_EACH;
	if (d->patience > PATIENCE_MOST)
		d->patience = PATIENCE_MOST;
}

static void handle(struct drain *d, struct account *a, struct event *batch, uint32_t count)
{
	uint32_t i = 0;

	gain_patience(d, count);
	if (live_is_big(&a->live))
		for (uint32_t k = 0; k < count; k++)
			live_prefetch_block(&a->live, batch[k].hash);
	for (uint32_t swaps = 0;;) {
		uint32_t handled = account_apply(a, batch + i, count - i);

		i += handled;
		if (i == count)
			return;
		swaps = handled ? 0 : swaps;
		if (swaps < SWAPS_MAX && try_to_settle(d, batch + i, count - i)) {
			swaps++;
			continue;
		}
		account_force(a, &batch[i++]);
		swaps = 0;
	}
}

/* The target takes a change for a sign of life. Only we write it. */
static void beat(struct segment_header *header)
{
	uint64_t beats = atomic_load_explicit(&header->heartbeat, memory_order_relaxed);

	atomic_store_explicit(&header->heartbeat, beats + 1, memory_order_relaxed);
}

static void flush(struct drain *d, struct streams *s)
{
	handle(d, s->account, d->batch.at, d->batch.count);
	d->batch.count = 0;
	beat(s->map->header);
}

/* Makes room. Events of the latest stamp stay: one that ties with them may follow. */
static void flush_settled(struct drain *d, struct streams *s)
{
	struct event *at = d->batch.at;
	uint32_t count = d->batch.count;
	uint32_t settled = count;

	while (settled && at[settled - 1].ticks == at[count - 1].ticks)
		settled--;
	if (!settled) {
		flush(d, s);
		return;
	}
	handle(d, s->account, at, settled);
	d->batch.count -= settled;
	memmove(at, at + settled, d->batch.count * sizeof(at[0]));
	beat(s->map->header);
}

static void prefetch(const struct live *live, const struct event *events, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		live_prefetch_head(live, events[i].hash);
}

/* ---- the merge ------------------------------------------------------------------------------- */

/* Lets one stream, which stands before an event stamped up to `bound`, run that far. Returns the
 * stamp of its next event, UINT64_MAX if it has none. */
static uint64_t run(struct drain *d, struct streams *s, uint32_t slot, uint64_t bound)
{
	uint64_t next;

	do {
		if (d->batch.count == EVENT_BATCH)
			flush_settled(d, s);
		if (s->account->live.crowded)
			return UINT64_MAX;

		uint32_t from = d->batch.count;
		next = streams_take(s, slot, bound, &d->batch);
		if (live_is_big(&s->account->live))
			prefetch(&s->account->live, d->batch.at + from, d->batch.count - from);
		if (next)
			return next;
		if (!streams_peek(s, slot, &next))
			return UINT64_MAX;
	} while (next <= bound);
	return next;
}

static void gather(struct drain *d, struct streams *s, uint64_t limit)
{
	d->turns.count = 0;
	for (uint32_t slot = 1; slot <= s->used; slot++) {
		uint64_t ticks;

		if (streams_peek(s, slot, &ticks) && ticks < limit)
			*vec_push(&d->turns) = (struct turn){ticks, slot};
	}
	build_heap(d);
}

static void merge(struct drain *d, struct streams *s, uint64_t limit)
{
	while (d->turns.count) {
		struct turn *first = d->turns.at;
		uint64_t second = get_second(d);

		first->ticks = run(d, s, first->slot, second < limit ? second : limit - 1);
		if (first->ticks >= limit)
			*first = d->turns.at[--d->turns.count];
		sift_down(d, 0);
	}
	flush(d, s);
}

void drain_begin(struct drain *d, struct streams *s)
{
	d->complete = read_limit(s->account->clock);
	streams_start_round(s);
	for (uint32_t slot = 1; slot <= s->used; slot++)
		streams_refresh(s, slot);
}

/* Time goes on, whatever the target says. */
static uint64_t choose_limit(const struct drain *d, uint64_t until)
{
	if (until < d->limit)
		return d->limit;
	return until < d->complete ? until : d->complete;
}

uint64_t drain_until(struct drain *d, struct streams *s, uint64_t until)
{
	uint64_t before = s->account->events;

	d->limit = choose_limit(d, until);
	gather(d, s, d->limit);
	merge(d, s, d->limit);
	account_pass_time(s->account, d->limit);
	return s->account->events - before;
}

uint64_t drain_end(struct drain *d, struct streams *s)
{
	uint64_t handled = drain_until(d, s, UINT64_MAX);

	if (s->account->live.crowded)
		streams_give_up(s);
	for (uint32_t slot = 1; slot <= s->used; slot++)
		if (s->at[slot].state == STREAM_ENDING)
			streams_retire(s, slot);
	return handled;
}
