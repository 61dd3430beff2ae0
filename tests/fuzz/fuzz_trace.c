/* fuzz_trace.c -- hostile logs of events, read by cursors and replayed.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a list of blocks. Each begins with a byte: bit 7 means that a payload follows as it
 * is in the file, {u16 bytes, payload}; else a number of events, {kind, site, step of time, size,
 * address} each, which are put into the file's form. Bit 6 damages the block, bit 5 has the index
 * lie about it; without that the index is made from the blocks. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "format/wire.h"
#include "model/replay.h"
#include "profile/codec.h"
#include "profile/profile.h"
#include "profile/trace.h"
#include "profile/trace_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define SITES	   4u
#define IS_PAYLOAD 0x80u
#define IS_DAMAGED 0x40u
#define IS_LIE	   0x20u
#define EVENTS	   0x1fu

static int file = -1;

struct writer {
	struct profile *p;
	uint64_t offset;
	uint64_t events;
	uint64_t ticks;
	bool lies;
};

static uint8_t take_byte(struct cursor *c)
{
	return cursor_get_left(c) ? *cursor_take_bytes(c, 1) : 0;
}

static struct profile *make_profile(void)
{
	struct profile *p = profile_new();

	for (uint32_t i = 0; i < SITES; i++) {
		*vec_push(&p->sites) = (struct profile_site){.size_min = UINT64_MAX};
		*vec_push(&p->points) = (struct profile_point){.time_ns = i * UINT64_C(1000),
							       .events = i * UINT64_C(2)};
	}
	return p;
}

static void put_events(struct cursor *c, struct writer *w, uint8_t how, struct codec_buffer *raw)
{
	struct trace_event events[EVENTS + 1] = {0};
	uint64_t count = (how & EVENTS) + 1u;

	for (uint64_t i = 0; i < count; i++) {
		events[i].kind = take_byte(c) % (WIRE_EVENT_KINDS + 1);
		events[i].site = take_byte(c) % (SITES + 1);
		w->ticks += (uint64_t)take_byte(c) << (i ? 0 : 4);
		events[i].time_ns = w->ticks;
		events[i].size = (uint64_t)take_byte(c) << 56 >> take_byte(c) % 64;
		events[i].address = take_byte(c) * UINT64_C(16);
		events[i].thread = events[i].size & 3;
	}
	codec_put_block(raw, &columns_events, events,
			(struct codec_block){.first = w->events, .count = count});
	w->events += count;
}

static void put_payload(struct cursor *c, struct codec_buffer *raw)
{
	size_t length = take_byte(c);

	length |= (size_t)take_byte(c) << 8;
	if (length > cursor_get_left(c))
		length = cursor_get_left(c);
	vec_reserve(raw, length + 1);
	memcpy(raw->at, cursor_take_bytes(c, length), length);
	raw->count = length;
}

static void store(struct writer *w, const struct codec_buffer *raw, uint8_t how)
{
	struct section s = {.tag = WIRE_TAG_TRACE, .raw_bytes = (uint32_t)raw->count};
	size_t room = ZSTD_compressBound(raw->count);
	uint8_t *stored = malloc(room);

	s.stored_bytes = (uint32_t)ZSTD_compress(stored, room, raw->at, raw->count, 1);
	s.hash = section_hash(stored, s.stored_bytes);
	if (how & IS_DAMAGED)
		stored[raw->count % s.stored_bytes] ^= 1;
	if (pwrite(file, stored, s.stored_bytes, (off_t)w->offset) != (ssize_t)s.stored_bytes)
		abort();
	trace_store_add(&w->p->trace, w->offset, &s);
	w->offset += s.stored_bytes;
	free(stored);
}

static void add_block(struct cursor *c, struct writer *w)
{
	struct codec_buffer raw = {0};
	uint8_t how = take_byte(c);

	if (how & IS_LIE) {
		struct profile_block lie = {take_byte(c), take_byte(c)};
		*vec_push(&w->p->blocks) = lie;
		w->lies = true;
	}
	if (how & IS_PAYLOAD)
		put_payload(c, &raw);
	else
		put_events(c, w, how, &raw);
	store(w, &raw, how);
	vec_free(&raw);
}

/* The cursor has its own checks: what it gives can be used without asking. */
static void walk(const struct profile *p, uint64_t from_ns, uint64_t from_event)
{
	struct trace_cursor *c = trace_cursor_new(p);
	const struct trace_event *event;
	struct error e = {0};
	uint64_t before_ns = 0, count = 0;

	trace_cursor_seek_time(c, from_ns);
	if (from_event)
		trace_cursor_seek(c, from_event);
	while ((event = trace_cursor_next(c))) {
		if (event->site >= p->sites.count || event->time_ns < before_ns ||
		    (!from_event && event->time_ns < from_ns))
			abort();
		before_ns = event->time_ns;
		count++;
	}
	if (count > trace_get_count(p) || (trace_cursor_check(c, &e) != 0) != e.set)
		abort();
	trace_cursor_free(c);
}

static void replay(const struct profile *p, uint64_t time_ns)
{
	struct error e = {0};
	struct replay r;

	if (replay_init(&r, p, time_ns, &e) == 0)
		replay_fini(&r);
	else if (!e.set)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cursor c = cursor_init(data, bytes);
	struct writer w = {.p = make_profile()};
	struct error e = {0};

	if (file < 0)
		file = memfd_create("trace", MFD_CLOEXEC);
	w.p->run.clock_ticks = take_byte(&c);
	w.p->run.clock_ns = (uint64_t)take_byte(&c) << take_byte(&c) % 64;
	while (cursor_get_left(&c))
		add_block(&c, &w);
	if (w.p->trace)
		w.p->trace->fd = dup(file);
	if (!w.lies)
		trace_store_reindex(w.p);
	if (profile_check(w.p, &e) == 0) {
		walk(w.p, 0, 0);
		walk(w.p, 100, 0);
		walk(w.p, 0, 5);
		replay(w.p, 1500);
		replay(w.p, UINT64_MAX);
	}
	profile_free(w.p);
	return 0;
}
