/* footprint.c -- what midden itself takes of the target's memory. Runs: in the collector process,
 * one thread, when a profile is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/footprint.h"

#include "collect/collector.h"

/* memo and leaf ends that the library keeps for a thread: what one that is busy touches of them */
#define PRIVATE_THREAD_BYTES (64u << 10)

static uint64_t round_to_pages(const struct collector *c, uint64_t bytes)
{
	uint64_t page = c->watch.page_bytes;

	return (bytes + page - 1) / page * page;
}

/* What the target's mapping of the segment has resident, reckoned from the high-water marks (all
 * that was ever used stays), and the library's private memory per thread. */
uint64_t footprint_get(const struct collector *c)
{
	const struct segment_map *map = &c->map;
	const struct segment_layout *l = &map->layout;
	struct segment_header *h = map->header;
	uint64_t page = c->watch.page_bytes;
	uint32_t page_roots = (uint32_t)(page / sizeof(uint32_t));
	struct {
		uint32_t used, most;
		uint64_t unit;
	} const parts[] = {
		{atomic_load(&h->slots_used), l->slot_count, sizeof(struct segment_slot)},
		{atomic_load(&h->modules_used), l->module_count, sizeof(struct segment_module)},
		{atomic_load(&h->strings_used), l->string_bytes, 1},
		{atomic_load(&h->named_used), l->named_count, sizeof(struct segment_named)},
		{atomic_load(&h->places_used), l->place_count, sizeof(struct segment_place)},
		{atomic_load(&h->nodes_used), l->node_count, sizeof(struct segment_node)},
		{atomic_load(&h->tags_used), l->tag_count, sizeof(struct segment_tag)},
		{atomic_load(&h->tag_text_used), l->tag_text_bytes, 1},
		{atomic_load(&h->chunks_used), l->chunk_count, sizeof(struct segment_chunk)},
		/* Hashed: each node may have touched a page of its own. */
		{atomic_load(&h->nodes_used), SEGMENT_ROOT_COUNT / page_roots, page},
		{atomic_load(&h->places_used), SEGMENT_PLACE_ROOTS / page_roots, page},
		{atomic_load(&h->named_used), SEGMENT_NAMED_ROOTS / page_roots, page},
		{atomic_load(&h->texts_used), SEGMENT_TEXT_ROOTS / page_roots, page},
		{1, 1, sizeof(struct segment_header)},
	};
	uint64_t bytes = (uint64_t)c->streams.open_max * PRIVATE_THREAD_BYTES;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint32_t used = parts[i].used < parts[i].most ? parts[i].used : parts[i].most;

		bytes += round_to_pages(c, used * parts[i].unit);
	}
	return bytes;
}
