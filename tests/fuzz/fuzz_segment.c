/* fuzz_segment.c -- hostile segments. Runs: under libFuzzer, or on single files with
 * replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a list of what a target gone mad might do: eleven bytes each, an operation, an
 * index and a value. How many bytes are left over says how it is recorded. The collector must
 * neither crash nor hang, and what it builds must be a valid profile. */
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define STEP_BYTES 11u
#define STEPS_MAX  4096u

enum operation {
	SET_WORD, /* of the first chunks' payloads, all in a row */
	SET_HEAD, /* the rest: of the slot or other thing with this index */
	SET_STATE,
	SET_CHUNK,
	SET_SERIAL,
	SET_TICKS,
	SET_LINK,
	SET_NODE,
	SET_MODULE,
	SET_STRING,
	SET_COUNT,
	SET_LOSS,
	OPEN_SLOT,
	PUT_EVENT, /* a well-formed first word at the slot's head */
	DRAIN,
	BUILD,
	SET_NAMED, /* in turn: a named frame's words, a node that is one */
	SET_TAG,   /* in turn: a tag's words, text of their names */
	SET_TOTAL, /* of a slot */
	LOOK,	   /* what a recorder asks between rounds */
	OPERATIONS
};

struct step {
	uint8_t operation;
	uint16_t index;
	uint64_t value;
};

/* Samples are few, so that they are thinned out soon. */
static struct collector *new_collector(size_t way)
{
	static const uint32_t modes[] = {SEGMENT_MODE_EXACT, SEGMENT_MODE_SAMPLE, SEGMENT_MODE_TAGS,
					 SEGMENT_MODE_EXACT};
	struct collect_config config = {.buffer_bytes = 1 << 20,
					.mode = modes[way % 4],
					.sample_period = 64,
					.sample_blocks = 16,
					.delayed = way % 4 == 3,
					.signal = SIGUSR1};
	struct segment_hello hello = {.pid = getpid(), .address_space_limit = 96 << 20};
	struct error e = {0};

	return collect_new(&config, &hello, &e);
}

static void build(struct collector *c, bool brief)
{
	struct profile *p = brief ? collect_build_brief(c) : collect_build_profile(c);
	struct error e = {0};

	if (profile_check(p, &e))
		abort();
	profile_free(p);
}

static void look(struct collector *c)
{
	struct collect_snapshot kept;
	struct collect_status status;
	struct collect_write wanted;
	int code;

	collect_get_status(c, &status);
	(void)collect_take_snapshot(c, "now", &kept);
	(void)collect_find_exit(c, &code);
	while (collect_take_write(c, &wanted)) {
		collect_answer_write(c, &wanted, true);
		free(wanted.path);
	}
}

static void set_count(struct segment_header *h, uint16_t index, uint32_t value)
{
	_Atomic uint32_t *const counts[] = {
		&h->slots_used,	  &h->modules_used, &h->strings_used, &h->chunks_used,
		&h->nodes_used,	  &h->next_serial,  &h->waiting,      &h->children,
		&h->named_used,	  &h->texts_used,   &h->target_state, &h->foreign_allocator,
		&h->reads_denied, &h->places_used,  &h->tags_used,    &h->tag_text_used,
		&h->exit_status,  &h->execs};

	atomic_store(&h->signal_ticks[index % SEGMENT_SIGNALS], value);
	atomic_store(counts[index % (sizeof(counts) / sizeof(counts[0]))], value);
}

static void set_module(const struct segment_map *map, uint16_t index, uint64_t value)
{
	struct segment_module *m = &map->modules[index % 16];

	memcpy((char *)m + index / 16 % (sizeof(*m) / 8) * 8, &value, sizeof(value));
}

static void set_named(const struct segment_map *map, uint16_t index, uint64_t value)
{
	struct segment_named *n = &map->named[index % 16];

	if (index & 0x8000)
		map->nodes[index % 64].place = SEGMENT_NODE_NAMED | (uint32_t)value;
	else
		memcpy((char *)n + index / 16 % 3 * 8, &value, index / 16 % 3 == 2 ? 4 : 8);
}

static void set_tag(const struct segment_map *map, uint16_t index, uint64_t value)
{
	struct segment_tag *tag = &map->tags[index % 16];

	if (index & 0x8000)
		memcpy(map->tag_text + index % 1024, &value, sizeof(value));
	else
		memcpy((char *)tag + index / 16 % (sizeof(*tag) / 8) * 8, &value, sizeof(value));
}

static void set_total(struct segment_slot *slot, uint16_t index, uint64_t value)
{
	const size_t words = sizeof(slot->totals) / sizeof(value);

	memcpy((char *)&slot->totals + index / 8 % words * sizeof(value), &value, sizeof(value));
}

/* The words of the first eight chunks: small indices reach across the end of a payload. */
static uint64_t *get_word(const struct segment_map *map, uint16_t index)
{
	const uint32_t per_chunk = SEGMENT_CHUNK_PAYLOAD / 8;

	return &map->chunks[1 + index / per_chunk % 8].words[index % per_chunk];
}

static void open_slot(const struct segment_map *map, uint16_t index, uint64_t value)
{
	struct segment_slot *slot = &map->slots[index % 8];

	slot->first_chunk = (uint32_t)value % 16;
	slot->serial = (uint32_t)(value >> 8) % 4;
	slot->tid = (uint32_t)(value >> 16);
	atomic_store(&slot->state, SEGMENT_SLOT_LIVE);
	if (atomic_load(&map->header->slots_used) < 8)
		atomic_store(&map->header->slots_used, 8);
}

/* An event of this kind in the chunk of the same number, and the head moved behind it. */
static void put_event(const struct segment_map *map, uint16_t index, uint64_t value)
{
	struct segment_slot *slot = &map->slots[index % 8];
	uint64_t head = atomic_load(&slot->head);
	uint64_t offset = head % SEGMENT_CHUNK_PAYLOAD / 8;
	uint64_t *words = map->chunks[1 + index % 8].words;
	uint64_t event[4] = {(value & 0xffff) << 8 | (value >> 16 & 0xff),
			     (value >> 24 & 0xff) << 4, value >> 32, value >> 40};
	uint32_t kind = (uint32_t)event[0] & 15;

	if (kind == SEGMENT_EVENT_ALLOC || kind == SEGMENT_EVENT_RESIZED)
		event[2] = (value >> 40) << 32 | (value >> 32 & 0xff);
	if (kind == SEGMENT_EVENT_MAP)
		event[3] = (value >> 60) << 32 | (value >> 52 & 0xff);
	for (unsigned i = 0; i < 4 && offset + i < SEGMENT_CHUNK_PAYLOAD / 8; i++)
		words[offset + i] = event[i];
	atomic_store(&slot->head, head + segment_event_bytes(kind));
}

static void set_slot(struct segment_slot *slot, const struct step *s)
{
	switch (s->operation) {
	case SET_HEAD:
		atomic_store(&slot->head, s->value);
		break;
	case SET_STATE:
		atomic_store(&slot->state, (uint32_t)s->value);
		break;
	case SET_CHUNK:
		slot->first_chunk = (uint32_t)s->value;
		break;
	case SET_SERIAL:
		slot->serial = (uint32_t)s->value;
		break;
	case SET_TICKS:
		slot->start_ticks = s->value;
		atomic_store(&slot->end_ticks, s->value >> 3);
		break;
	default:
		atomic_store(&slot->losses.lost_events, s->value);
	}
}

static void play(struct collector *c, const struct step *s)
{
	const struct segment_map *map = &c->map;

	switch (s->operation) {
	case SET_WORD:
		*get_word(map, s->index) = s->value;
		break;
	case SET_LINK:
		atomic_store(&map->chunks[s->index % 16].next, (uint32_t)s->value);
		break;
	case SET_NODE:
		/* With FAR the slot before a node is where its parent is named. */
		map->nodes[s->index % 64].place = (uint32_t)s->value;
		map->nodes[s->index % 64 + 1].place = (uint32_t)(s->value >> 32);
		map->places[s->index % 64].module = (uint32_t)(s->value >> 16);
		break;
	case SET_MODULE:
		set_module(map, s->index, s->value);
		break;
	case SET_STRING:
		memcpy(map->strings + s->index, &s->value, sizeof(s->value));
		break;
	case SET_NAMED:
		set_named(map, s->index, s->value);
		break;
	case SET_TAG:
		set_tag(map, s->index, s->value);
		break;
	case SET_TOTAL:
		set_total(&map->slots[s->index % 8], s->index, s->value);
		break;
	case SET_COUNT:
		set_count(map->header, s->index, (uint32_t)s->value);
		break;
	case OPEN_SLOT:
		open_slot(map, s->index, s->value);
		break;
	case PUT_EVENT:
		put_event(map, s->index, s->value);
		break;
	case DRAIN:
		(void)collect_drain(c);
		break;
	case BUILD:
		build(c, s->index & 1);
		break;
	case LOOK:
		look(c);
		break;
	default:
		set_slot(&map->slots[s->index % 8], s);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct collector *c = new_collector(bytes % STEP_BYTES);
	size_t count = bytes / STEP_BYTES;

	if (!c)
		abort();
	for (size_t i = 0; i < count && i < STEPS_MAX; i++) {
		struct step s;

		s.operation = data[i * STEP_BYTES] % OPERATIONS;
		memcpy(&s.index, data + i * STEP_BYTES + 1, sizeof(s.index));
		memcpy(&s.value, data + i * STEP_BYTES + 3, sizeof(s.value));
		play(c, &s);
	}
	(void)collect_drain(c);
	build(c, false);
	collect_free(c);
	return 0;
}
