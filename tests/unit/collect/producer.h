/* producer.h -- a target in miniature: writes a segment as the contract in segment.h says.
 * Runs: in the collector's unit tests, in the same process or a forked one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_COLLECT_PRODUCER_H
#define MIDDEN_TESTS_COLLECT_PRODUCER_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collector.h"

struct producer {
	const struct segment_map *map;
	uint32_t slot;
	uint32_t chunk;
	uint32_t offset;
	uint64_t base;
};

/* A collector for this process. Machine 0 gets CLOCK_MONOTONIC: ticks are ns, conversions exact. */
static inline struct collector *producer_new_collector(uint32_t machine)
{
	struct collect_config config = {
		.buffer_bytes = 1 << 20, .max_depth = 512, .patience_ms = 2000};
	struct segment_hello hello = {
		.magic = SEGMENT_HELLO_MAGIC,
		.version = SEGMENT_VERSION,
		.machine = machine,
		.pid = getpid(),
		.parent_pid = getppid(),
		.address_space_limit = UINT64_MAX,
	};
	struct error e = {0};

	return collect_new(&config, &hello, &e);
}

static inline uint32_t producer_pop_chunk(const struct segment_map *map)
{
	struct segment_header *h = map->header;
	uint64_t top = atomic_load_explicit(&h->free_chunks, memory_order_acquire);

	while ((uint32_t)top) {
		uint32_t index = (uint32_t)top;
		uint64_t next =
			((top >> 32) + 1) << 32 | atomic_load(&map->chunks[index].next_free);
		if (atomic_compare_exchange_weak(&h->free_chunks, &top, next))
			return index;
	}
	uint32_t used = atomic_load(&h->chunks_used);
	while (used < atomic_load(&h->chunk_limit))
		if (atomic_compare_exchange_weak(&h->chunks_used, &used, used + 1))
			return used + 1;
	return 0;
}

static inline uint32_t producer_wait_for_chunk(const struct segment_map *map)
{
	uint32_t index;

	while (!(index = producer_pop_chunk(map)))
		(void)usleep(50);
	atomic_store_explicit(&map->chunks[index].next, 0, memory_order_relaxed);
	return index;
}

static inline uint32_t producer_pop_slot(const struct segment_map *map)
{
	struct segment_header *h = map->header;
	uint64_t top = atomic_load_explicit(&h->free_slots, memory_order_acquire);

	while ((uint32_t)top) {
		uint32_t index = (uint32_t)top;
		uint64_t next = ((top >> 32) + 1) << 32 | atomic_load(&map->slots[index].next_free);
		if (atomic_compare_exchange_weak(&h->free_slots, &top, next))
			return index;
	}
	return atomic_fetch_add(&h->slots_used, 1) + 1;
}

/* A thread with this serial and thread id; start time 5. */
static inline struct producer producer_open_as(const struct segment_map *map, uint32_t serial,
					       uint32_t tid)
{
	struct producer p = {.map = map, .slot = producer_pop_slot(map)};
	struct segment_slot *slot = &map->slots[p.slot];

	p.chunk = producer_wait_for_chunk(map);
	atomic_store_explicit(&slot->head, 0, memory_order_relaxed);
	slot->first_chunk = p.chunk;
	slot->serial = serial;
	slot->tid = tid;
	slot->start_ticks = 5;
	atomic_store_explicit(&slot->end_ticks, 0, memory_order_relaxed);
	memcpy(slot->name, "thread", 7);
	atomic_store_explicit(&slot->state, SEGMENT_SLOT_LIVE, memory_order_release);
	return p;
}

static inline struct producer producer_open(struct collector *c, uint32_t serial)
{
	return producer_open_as(&c->map, serial, (uint32_t)gettid());
}

/* Room for one more event of this many words. */
static inline uint64_t *producer_reserve(struct producer *p, uint32_t words)
{
	if (SEGMENT_CHUNK_PAYLOAD - p->offset < SEGMENT_EVENT_MAX) {
		uint32_t next = producer_wait_for_chunk(p->map);

		atomic_store_explicit(&p->map->chunks[p->chunk].next, next, memory_order_relaxed);
		p->chunk = next;
		p->base += SEGMENT_CHUNK_PAYLOAD;
		p->offset = 0;
	}
	uint64_t *at = &p->map->chunks[p->chunk].words[p->offset / 8];
	p->offset += words * 8;
	return at;
}

static inline void producer_publish(struct producer *p)
{
	atomic_store_explicit(&p->map->slots[p->slot].head, p->base + p->offset,
			      memory_order_release);
}

static inline void producer_write(struct producer *p, uint32_t words, const uint64_t event[4])
{
	memcpy(producer_reserve(p, words), event, words * 8);
	producer_publish(p);
}

static inline void producer_arrive(struct producer *p, uint64_t first, uint64_t ptr, uint64_t size,
				   uint32_t node)
{
	if (size <= UINT32_MAX)
		producer_write(p, 3, (uint64_t[4]){first, ptr, size << 32 | node});
	else
		producer_write(p, 4, (uint64_t[4]){first + 1, ptr, node, size});
}

static inline void producer_alloc(struct producer *p, uint64_t ticks, uint64_t ptr, uint64_t size,
				  uint32_t node)
{
	producer_arrive(p, ticks << 8 | SEGMENT_API_MALLOC << 4 | SEGMENT_EVENT_ALLOC, ptr, size,
			node);
}

static inline void producer_free(struct producer *p, uint64_t ticks, uint64_t ptr)
{
	producer_write(p, 2, (uint64_t[4]){ticks << 8 | SEGMENT_EVENT_FREE, ptr});
}

static inline void producer_resize(struct producer *p, uint64_t ticks, uint64_t ptr)
{
	producer_write(p, 2, (uint64_t[4]){ticks << 8 | SEGMENT_EVENT_RESIZE, ptr});
}

static inline void producer_resized(struct producer *p, uint64_t ticks, uint64_t ptr, uint64_t size,
				    uint32_t node)
{
	producer_arrive(p, ticks << 8 | SEGMENT_API_REALLOC << 4 | SEGMENT_EVENT_RESIZED, ptr, size,
			node);
}

static inline void producer_resize_failed(struct producer *p, uint64_t ticks)
{
	producer_write(p, 1, (uint64_t[4]){ticks << 8 | SEGMENT_EVENT_RESIZE_FAILED});
}

static inline void producer_resize_freed(struct producer *p, uint64_t ticks)
{
	producer_write(p, 1, (uint64_t[4]){ticks << 8 | SEGMENT_EVENT_RESIZE_FREED});
}

static inline void producer_end(struct producer *p, uint64_t ticks)
{
	struct segment_slot *slot = &p->map->slots[p->slot];

	atomic_store_explicit(&slot->end_ticks, ticks, memory_order_relaxed);
	atomic_store_explicit(&slot->state, SEGMENT_SLOT_ENDED, memory_order_release);
}

/* A node below another: beside it if that is the last one, with a slot for its number otherwise. */
static inline uint32_t producer_take_node(struct collector *c, uint32_t parent)
{
	uint32_t used = atomic_load(&c->map.header->nodes_used);
	uint32_t id = used == parent ? used + 1 : used + 2;

	atomic_store(&c->map.header->nodes_used, id);
	if (id != parent + 1) {
		c->map.nodes[id - 1].place = parent;
		c->map.nodes[id].place = SEGMENT_NODE_FAR;
	}
	return id;
}

/* A frame of a stack in the segment. */
static inline uint32_t producer_add_node(struct collector *c, uint32_t parent, uint64_t pc,
					 uint32_t module)
{
	uint32_t flags = module & (SEGMENT_NODE_EXACT | SEGMENT_NODE_CUT);
	uint32_t id = producer_take_node(c, parent);
	uint32_t place = atomic_fetch_add(&c->map.header->places_used, 1) + 1;

	c->map.places[place].address = flags & SEGMENT_NODE_EXACT ? pc : pc - 1;
	c->map.places[place].module = module & ~flags;
	c->map.nodes[id].place |= place | flags;
	return id;
}

/* A text at an offset that the caller keeps apart from others. */
static inline uint32_t producer_put_text(struct collector *c, uint32_t offset, const char *text)
{
	memcpy(c->map.strings + offset, text, strlen(text) + 1);
	return offset;
}

static inline uint32_t producer_add_named(struct collector *c, uint32_t parent,
					  const struct segment_named *named)
{
	uint32_t id = producer_take_node(c, parent);
	uint32_t index = atomic_fetch_add(&c->map.header->named_used, 1) + 1;

	c->map.named[index] = *named;
	c->map.nodes[id].place |= index | SEGMENT_NODE_NAMED;
	return id;
}

/* Lets a millisecond pass, so that stamps below 1,000,000 are in the past, and drains. */
static inline uint64_t producer_drain(struct collector *c)
{
	while (ticks_to_ns(&c->clock, ticks_get_now(&c->clock)) < 1000000)
		continue;
	return collect_drain(c);
}

#endif
