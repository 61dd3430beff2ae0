/* streams.c -- the threads' event streams, read out of the segment. Runs: in the collector
 * process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/streams.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

#define SPARE_CHUNKS 64u     /* threads that have started and whose slots we have not seen yet */
#define PUSHES_MOST  100000u /* attempts: honest threads get in the way once or twice */

/* Plain fields are read once, as if atomic: the target could change them between a check and its
 * use. */

/* Nodes from here on are beyond what decode() can judge, by kind: for an arrival those that do not
 * exist, for a departure none, for what has to be looked at more closely all. */
static uint64_t get_node_limit(uint32_t kind, uint64_t node_count)
{
	switch (kind) {
	case SEGMENT_EVENT_ALLOC:
	case SEGMENT_EVENT_RESIZED:
		return node_count;
	case SEGMENT_EVENT_FREE:
	case SEGMENT_EVENT_RESIZE_FREED:
		return UINT64_MAX;
	default:
		return 0;
	}
}

void streams_init(struct streams *s, const struct segment_map *map, struct account *account,
		  uint32_t chunk_base)
{
	*s = (struct streams){.map = map, .account = account, .chunk_base = chunk_base};
	s->at = mem_new(map->layout.slot_count, sizeof(s->at[0]));
	for (uint32_t kind = 0; kind < 16; kind++)
		s->node_limits[kind] = get_node_limit(kind, map->layout.node_count);
	atomic_store_explicit(&map->header->chunk_limit, chunk_base + SPARE_CHUNKS,
			      memory_order_relaxed);
}

void streams_fini(struct streams *s)
{
	free(s->at);
}

static void mark_broken(struct streams *s, uint32_t slot)
{
	if (s->at[slot].state == STREAM_BROKEN)
		return;
	s->at[slot].state = STREAM_BROKEN;
	s->broken++;
}

/* ---- giving back ----------------------------------------------------------------------------- */

/* Pairs with the acquiring pop in the target. The tag changes so that a pop which read the link
 * of an element that was popped and pushed again meanwhile fails. A target that never lets go of
 * the stack loses the element. */
static void push(_Atomic uint64_t *stack, _Atomic uint32_t *link, uint32_t index)
{
	uint64_t top = atomic_load_explicit(stack, memory_order_relaxed);

	for (uint32_t i = 0; i < PUSHES_MOST; i++) {
		atomic_store_explicit(link, (uint32_t)top, memory_order_relaxed);
		uint64_t pushed = ((top >> 32) + 1) << 32 | index;

		if (atomic_compare_exchange_weak_explicit(stack, &top, pushed, memory_order_release,
							  memory_order_relaxed))
			return;
	}
}

/* `freed` before `waiting`, both sequentially consistent: a target that has said that it waits
 * either sees the new value of `freed` or is woken. One that goes on waiting says so again. */
static void tell_freed(struct segment_header *header)
{
	atomic_fetch_add(&header->freed, 1);
	if (atomic_load(&header->waiting) && atomic_exchange(&header->waiting, 0))
		(void)syscall(SYS_futex, &header->freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* `next` is cleared so that a link found at the end of a stream is one that this stream made. */
static void return_chunk(struct streams *s, uint32_t index)
{
	struct segment_chunk *chunk = &s->map->chunks[index];

	atomic_store_explicit(&chunk->next, 0, memory_order_relaxed);
	push(&s->map->header->free_chunks, &chunk->next_free, index);
	tell_freed(s->map->header);
}

/* Every live thread may hold one chunk beyond the budget, or a thousand threads could stall for
 * want of them. */
static void set_open_count(struct streams *s, uint32_t open)
{
	s->open = open;
	if (open > s->open_max)
		s->open_max = open;
	atomic_store_explicit(&s->map->header->chunk_limit, s->chunk_base + SPARE_CHUNKS + open,
			      memory_order_relaxed);
}

/* ---- open and refresh ------------------------------------------------------------------------ */

static bool has_chunk(const struct streams *s, uint32_t index)
{
	return index != 0 && index < s->map->layout.chunk_count;
}

static void open_stream(struct streams *s, uint32_t slot)
{
	struct segment_slot *from = &s->map->slots[slot];
	struct stream *stream = &s->at[slot];
	uint64_t start = read_once(from->start_ticks);

	*stream = (struct stream){
		.state = STREAM_OPEN,
		.tid = read_once(from->tid),
		.serial = read_once(from->serial),
	};
	if (stream->serial == 0) {
		mark_broken(s, slot);
		return;
	}
	set_open_count(s, s->open + 1);

	struct thread *thread = account_open_thread(s->account, slot, stream->serial);
	if (start < thread->start_ticks)
		thread->start_ticks = start;
	thread->end_ticks = UINT64_MAX;
	thread->tid = stream->tid;
	if (!thread->shared)
		streams_read_name(s, slot, thread->name);
}

/* All streams together cannot have more waiting than the chunks hold, twice over for those that
 * come back into use while we look; without this check a wild head would keep us reading the
 * same chunks for ever. */
static bool is_sane_head(struct streams *s, const struct stream *stream, uint64_t head)
{
	uint64_t position = stream->base + stream->offset;

	if (head % 8 || head < position || head - position > s->budget)
		return false;
	s->budget -= head - position;
	return true;
}

void streams_start_round(struct streams *s)
{
	uint32_t used = atomic_load_explicit(&s->map->header->slots_used, memory_order_acquire);

	s->used = used < s->map->layout.slot_count ? used : s->map->layout.slot_count - 1;
	s->budget = (uint64_t)s->map->layout.chunk_count * SEGMENT_CHUNK_PAYLOAD * 2;
}

void streams_refresh(struct streams *s, uint32_t slot)
{
	struct segment_slot *from = &s->map->slots[slot];
	struct stream *stream = &s->at[slot];
	/* Before the head: what is published when we see ENDED is all there will be. Pairs with
	 * the target's release. */
	uint32_t state = atomic_load_explicit(&from->state, memory_order_acquire);

	if (stream->state == STREAM_BROKEN ||
	    (state != SEGMENT_SLOT_LIVE && state != SEGMENT_SLOT_ENDED))
		return;
	if (stream->state == STREAM_CLOSED)
		open_stream(s, slot);
	if (stream->state == STREAM_OPEN && state == SEGMENT_SLOT_ENDED)
		stream->state = STREAM_ENDING;

	/* Pairs with the release store that publishes: the events below it are ours to read. */
	uint64_t head = atomic_load_explicit(&from->head, memory_order_acquire);
	if (is_sane_head(s, stream, head))
		stream->head = head;
	else
		mark_broken(s, slot);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_at_chunk_end(const struct stream *stream)
{
	return SEGMENT_CHUNK_PAYLOAD - stream->offset < SEGMENT_EVENT_MAX;
}

static void enter_chunk(struct streams *s, uint32_t slot, uint32_t index)
{
	if (has_chunk(s, index))
		s->at[slot].chunk = index;
	else
		mark_broken(s, slot);
}

static void enter_next_chunk(struct streams *s, uint32_t slot)
{
	struct stream *stream = &s->at[slot];
	uint32_t drained = stream->chunk;
	/* Ordered by the acquire of the head, which has passed the boundary. */
	uint32_t next = atomic_load_explicit(&s->map->chunks[drained].next, memory_order_relaxed);

	enter_chunk(s, slot, next);
	if (stream->state == STREAM_BROKEN)
		return;
	stream->base += SEGMENT_CHUNK_PAYLOAD;
	stream->offset = 0;
	return_chunk(s, drained);
}

/* True if the stream stands before an event. */
static bool has_event(struct streams *s, uint32_t slot)
{
	struct stream *stream = &s->at[slot];

	if (stream->state != STREAM_OPEN && stream->state != STREAM_ENDING)
		return false;
	if (stream->head == stream->base + stream->offset)
		return false;
	if (!stream->chunk)
		enter_chunk(s, slot, read_once(s->map->slots[slot].first_chunk));
	if (stream->state != STREAM_BROKEN && is_at_chunk_end(stream)) {
		if (stream->head <= stream->base + SEGMENT_CHUNK_PAYLOAD)
			return false;
		enter_next_chunk(s, slot);
	}
	return stream->state != STREAM_BROKEN && stream->base + stream->offset < stream->head;
}

bool streams_peek(struct streams *s, uint32_t slot, uint64_t *ticks)
{
	if (!has_event(s, slot))
		return false;
	const struct stream *stream = &s->at[slot];
	*ticks = read_once(s->map->chunks[stream->chunk].words[stream->offset / 8]) >> 8;
	return true;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bool is_arrival(uint32_t kind)
{
	return kind == SEGMENT_EVENT_ALLOC || kind == SEGMENT_EVENT_ALLOC_BIG ||
	       kind == SEGMENT_EVENT_RESIZED || kind == SEGMENT_EVENT_RESIZED_BIG;
}

/* The big forms become plain ones here. No block has more than half of all addresses, whatever a
 * program says of its own allocators; the highest bit of a size has a meaning in the account. */
static void fold_big(const uint64_t words[4], struct event *e)
{
	if (e->kind != SEGMENT_EVENT_ALLOC_BIG && e->kind != SEGMENT_EVENT_RESIZED_BIG)
		return;
	e->kind--;
	uint64_t size = read_once(words[3]);
	e->size = size < INT64_MAX ? size : INT64_MAX;
}

/* A failed realloc names no block: it is the one that the thread's RESIZE named. */
static void pair_resize(struct stream *stream, struct event *e)
{
	if (e->kind == SEGMENT_EVENT_RESIZE)
		stream->resize_ptr = e->ptr;
	if (e->kind == SEGMENT_EVENT_RESIZE_FAILED)
		e->ptr = stream->resize_ptr;
	e->hash = live_hash(e->ptr);
}

static bool is_message(uint32_t kind)
{
	return kind == SEGMENT_EVENT_NAME || kind == SEGMENT_EVENT_MARK ||
	       kind == SEGMENT_EVENT_ORDER || kind == SEGMENT_EVENT_MAP;
}

/* A piece of a name, an order or a map is no block: its three words go where those of a block
 * would. */
static uint32_t take_message(const uint64_t *words, uint64_t third, struct event *e)
{
	e->size = third;
	e->hash = read_once(words[3]);
	if (e->kind == SEGMENT_EVENT_ORDER || e->kind == SEGMENT_EVENT_MAP)
		e->api = read_once(words[0]) >> 4 & 15u;
	return segment_event_bytes(e->kind);
}

/* The kind and the node of a map are in the third word. */
static bool is_sound_map(const struct streams *s, const struct event *e)
{
	return e->api < SEGMENT_MAP_CALLS && e->hash >> 32 < SEGMENT_MAP_KINDS &&
	       (uint32_t)e->hash < s->map->layout.node_count;
}

/* Of a PERIOD or THINNED the period is the size. */
static void take_period(uint64_t third, struct event *e)
{
	e->size = e->kind == SEGMENT_EVENT_PERIOD ? e->ptr : third;
}

/* What decode() leaves: `third` is the third word as it was read. */
static __attribute__((noinline)) uint32_t decode_rest(const struct streams *s,
						      struct stream *stream, const uint64_t *words,
						      uint64_t third, struct event *e)
{
	uint32_t kind = e->kind;

	if (is_message(kind)) {
		uint32_t bytes = take_message(words, third, e);
		bool good = kind != SEGMENT_EVENT_MAP || is_sound_map(s, e);

		return good ? bytes : 0;
	}
	if (kind == SEGMENT_EVENT_PERIOD || kind == SEGMENT_EVENT_THINNED) {
		take_period(third, e);
		return segment_event_bytes(kind);
	}
	fold_big(words, e);
	uint64_t node = kind == e->kind ? e->node : third;
	if (is_arrival(kind) && (e->ptr == 0 || node >= s->map->layout.node_count))
		return 0;
	pair_resize(stream, e);
	return segment_event_bytes(kind);
}

/* Reads up to four words, of which an event of fewer uses the first ones; the first has been read
 * already. Returns the event's size, 0 if it breaks the contract. Without branches on the common
 * kinds, which no processor can foresee. */
static inline uint32_t decode(const struct streams *s, struct stream *stream, const uint64_t *words,
			      uint64_t first, struct event *e)
{
	static const uint8_t apis[16] = {
		SEGMENT_API_MALLOC, SEGMENT_API_CALLOC, SEGMENT_API_REALLOC, SEGMENT_API_ALIGNED,
		SEGMENT_API_NEW,    SEGMENT_API_OTHER,	SEGMENT_API_PYTHON,  SEGMENT_API_OTHER,
		SEGMENT_API_OTHER,  SEGMENT_API_OTHER,	SEGMENT_API_OTHER,   SEGMENT_API_OTHER,
		SEGMENT_API_OTHER,  SEGMENT_API_OTHER,	SEGMENT_API_OTHER,   SEGMENT_API_OTHER,
	};
	uint64_t ptr = read_once(words[1]);
	uint64_t third = read_once(words[2]);
	uint32_t kind = (uint32_t)first & 15u;

	e->ticks = first >> 8;
	e->ptr = ptr;
	e->hash = live_hash(ptr);
	e->size = third >> 32;
	e->node = (uint32_t)third;
	e->kind = (uint8_t)kind;
	e->api = apis[first >> 4 & 15u];
	if (__builtin_expect((uint32_t)third >= s->node_limits[kind] || ptr == 0, 0))
		return decode_rest(s, stream, words, third, e);
	return segment_event_bytes(kind);
}

/* The same where fewer words than four have been published: the others must not be touched. */
static uint32_t decode_last(const struct streams *s, struct stream *stream, const uint64_t *words,
			    uint32_t left, struct event *e)
{
	uint64_t copy[4] = {0};

	for (uint32_t i = 0; i < left / 8; i++)
		copy[i] = read_once(words[i]);
	uint32_t bytes = decode(s, stream, copy, copy[0], e);
	return bytes <= left ? bytes : 0;
}

uint64_t streams_take(struct streams *s, uint32_t slot, uint64_t bound, struct event_batch *batch)
{
	struct stream *stream = &s->at[slot];
	const char *payload = (const char *)s->map->chunks[stream->chunk].words;
	uint64_t waiting = stream->head - stream->base;
	uint32_t end = waiting < SEGMENT_CHUNK_PAYLOAD ? (uint32_t)waiting : SEGMENT_CHUNK_PAYLOAD;
	uint32_t offset = stream->offset;
	struct event *e = batch->at + batch->count;
	uint64_t stopped_at = 0;

	for (; e < batch->at + EVENT_BATCH && offset < end; e++) {
		const uint64_t *words = (const void *)(payload + offset);
		uint32_t left = end - offset;

		if (left < SEGMENT_EVENT_MAX && end == SEGMENT_CHUNK_PAYLOAD)
			break; /* the stream goes on in the next chunk */
		uint64_t first = read_once(words[0]);
		if (first >> 8 > bound) {
			/* The caller has seen an event within the bound here: the stamp was changed
			 * since, and would be for ever. */
			if (offset == stream->offset)
				mark_broken(s, slot);
			else
				stopped_at = first >> 8;
			break;
		}
		uint32_t bytes = left >= SEGMENT_EVENT_MAX ? decode(s, stream, words, first, e)
							   : decode_last(s, stream, words, left, e);
		if (bytes == 0) {
			mark_broken(s, slot);
			break;
		}
		e->slot = slot;
		offset += bytes;
	}
	stream->offset = offset;
	batch->count = (uint32_t)(e - batch->at);
	return stopped_at;
}

/* ---- the end of a thread --------------------------------------------------------------------- */

void streams_mark_dead(struct streams *s, uint32_t slot, uint64_t now_ticks)
{
	struct stream *stream = &s->at[slot];

	if (stream->state != STREAM_OPEN)
		return;
	stream->state = STREAM_ENDING;
	stream->end_ticks = now_ticks;
}

void streams_add_losses(struct stream_losses *sum, const struct segment_losses *l)
{
	sum->lost_events += atomic_load_explicit(&l->lost_events, memory_order_relaxed);
	sum->truncated_stacks += atomic_load_explicit(&l->truncated_stacks, memory_order_relaxed);
	sum->reentrant_calls += atomic_load_explicit(&l->reentrant_calls, memory_order_relaxed);
	sum->failed_allocations +=
		atomic_load_explicit(&l->failed_allocations, memory_order_relaxed);
	sum->unwind_failures += atomic_load_explicit(&l->unwind_failures, memory_order_relaxed);
}

bool streams_has_last_name(const struct streams *s, uint32_t slot)
{
	const struct segment_slot *from = &s->map->slots[slot];

	return atomic_load_explicit(&from->end_ticks, memory_order_relaxed) != 0 ||
	       atomic_load_explicit(&from->named, memory_order_relaxed) != 0;
}

void streams_read_name(const struct streams *s, uint32_t slot, char name[SEGMENT_NAME_BYTES])
{
	const char *from = s->map->slots[slot].name;

	for (unsigned i = 0; i < SEGMENT_NAME_BYTES; i++)
		name[i] = read_once(from[i]);
	name[SEGMENT_NAME_BYTES - 1] = '\0';
}

void streams_sum_losses(struct stream_losses *sum, const struct stream_losses *more)
{
	sum->lost_events += more->lost_events;
	sum->truncated_stacks += more->truncated_stacks;
	sum->reentrant_calls += more->reentrant_calls;
	sum->failed_allocations += more->failed_allocations;
	sum->unwind_failures += more->unwind_failures;
}

static void close_record(struct streams *s, uint32_t slot)
{
	const struct stream *stream = &s->at[slot];
	struct segment_slot *from = &s->map->slots[slot];
	struct thread *thread = &s->account->threads.list.at[s->account->actors[slot].thread];
	struct stream_losses losses = {0};

	streams_add_losses(&losses, &from->losses);
	streams_sum_losses(&s->retired, &losses);
	thread->failed_allocations += losses.failed_allocations;
	thread->losses += losses.lost_events + losses.reentrant_calls;
	thread->end_ticks = stream->end_ticks
				    ? stream->end_ticks
				    : atomic_load_explicit(&from->end_ticks, memory_order_relaxed);
	thread->named = atomic_load_explicit(&from->named, memory_order_relaxed) != 0;
	if (!thread->shared && streams_has_last_name(s, slot))
		streams_read_name(s, slot, thread->name);
	account_close_thread(s->account, slot);
}

/* The chunk after the current one may be linked already, by a thread that took it and then wrote
 * nothing. */
static void return_last_chunks(struct streams *s, const struct stream *stream)
{
	uint32_t index = stream->chunk;

	if (!has_chunk(s, index))
		return;
	uint32_t next = atomic_load_explicit(&s->map->chunks[index].next, memory_order_relaxed);
	return_chunk(s, index);
	if (has_chunk(s, next) && next != index)
		return_chunk(s, next);
}

void streams_retire(struct streams *s, uint32_t slot)
{
	struct segment_slot *from = &s->map->slots[slot];
	struct stream *stream = &s->at[slot];

	if (stream->state != STREAM_ENDING || has_event(s, slot) || stream->state != STREAM_ENDING)
		return;
	if (!stream->chunk) /* ended without an event */
		stream->chunk = read_once(from->first_chunk);
	close_record(s, slot);
	return_last_chunks(s, stream);
	stream->state = STREAM_CLOSED;
	set_open_count(s, s->open - 1);

	/* The counts are in our sums now: the next owner starts from nothing. */
	memset(&from->losses, 0, sizeof(from->losses));
	atomic_store_explicit(&from->state, SEGMENT_SLOT_FREE, memory_order_release);
	push(&s->map->header->free_slots, &from->next_free, slot);
}

void streams_give_up(struct streams *s)
{
	for (uint32_t slot = 1; slot <= s->used; slot++)
		if (s->at[slot].state == STREAM_OPEN || s->at[slot].state == STREAM_ENDING)
			mark_broken(s, slot);
}

void streams_abandon_rest(struct streams *s, uint32_t slot)
{
	if (has_event(s, slot))
		mark_broken(s, slot);
}
