/* fixture.h -- a recorded process without a recorder: a segment, the handshake, a pretended
 * collector.
 * Runs: in the unit tests of the capture room.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The process state is set up by the room's own start-up code: the fixture plays the recorder at
 * the other end of the socket. Starting again is what a followed fork child does. The pretended
 * collector works on the target's own mapping, so that ThreadSanitizer sees both sides of every
 * access.
 *
 * Include first, with _GNU_SOURCE defined. cmocka cannot fail a test from another thread, so
 * what the collector finds wrong is counted in `faults`. */
#ifndef MIDDEN_TESTS_CAPTURE_FIXTURE_H
#define MIDDEN_TESTS_CAPTURE_FIXTURE_H

#if defined(__has_feature) /* clang: say it as gcc does */
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/cold.h"
#include "capture/thread.h"
#include "format/clock.h"
#include "format/env.h"
#include "format/segment.h"

/* ---- the segment ----------------------------------------------------------------------------- */

/* Zero takes the default. */
struct fixture_options {
	uint32_t slots; /* all counts include the unused index 0 */
	uint32_t nodes;
	uint32_t chunks;
	uint32_t max_depth;
	uint32_t patience_ms;
	uint32_t clock;	   /* SEGMENT_CLOCK_MONOTONIC */
	int collector_pid; /* ourselves */
};

static inline uint32_t fixture_or(uint32_t wish, uint32_t otherwise)
{
	return wish ? wish : otherwise;
}

static inline void fixture_fill_header(struct segment_header *h, const struct fixture_options *o)
{
	h->magic = SEGMENT_MAGIC;
	h->version = SEGMENT_VERSION;
	h->clock = o->clock;
	h->clock_base = clock_read(h->clock);
	h->max_depth = fixture_or(o->max_depth, 128);
	h->follow = 1;
	h->patience_ms = fixture_or(o->patience_ms, 20000);
	h->collector_pid = o->collector_pid ? o->collector_pid : getpid();
	atomic_store(&h->chunk_limit, h->layout.chunk_count - 1);
}

/* A descriptor of a segment with its header filled in. */
static inline int fixture_make_segment(const struct fixture_options *o, uint64_t *bytes)
{
	struct segment_layout layout = {.slot_count = fixture_or(o->slots, 17),
					.module_count = 64,
					.string_bytes = 8192,
					.named_count = 1u << 12,
					.place_count = 1u << 14,
					.node_count = fixture_or(o->nodes, 1u << 16),
					.tag_count = 1024,
					.tag_text_bytes = 65536,
					.chunk_count = fixture_or(o->chunks, 33)};
	int fd = memfd_create("segment", MFD_CLOEXEC);

	segment_layout_build(&layout);
	*bytes = layout.total_bytes;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)layout.total_bytes), 0);
	struct segment_header *h =
		mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(h, MAP_FAILED);
	h->layout = layout;
	fixture_fill_header(h, o);
	(void)munmap(h, sizeof(*h));
	return fd;
}

/* ---- the recorder's end of the handshake ----------------------------------------------------- */

struct fixture_recorder {
	int listener;
	int segment;
	uint64_t bytes;
	struct segment_hello hello; /* what the target said */
	bool ok;
};

static inline bool fixture_send_welcome(int fd, struct fixture_recorder *r)
{
	struct segment_welcome welcome = {
		.magic = SEGMENT_HELLO_MAGIC, .version = SEGMENT_VERSION, .total_bytes = r->bytes};
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {.iov_base = &welcome, .iov_len = sizeof(welcome)};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.head), &r->segment, sizeof(int));
	return sendmsg(fd, &message, 0) == (ssize_t)sizeof(welcome);
}

static inline void *fixture_answer(void *argument)
{
	struct fixture_recorder *r = argument;
	int fd = accept(r->listener, NULL, NULL);

	r->ok = fd >= 0 &&
		recv(fd, &r->hello, sizeof(r->hello), MSG_WAITALL) == (ssize_t)sizeof(r->hello) &&
		r->hello.magic == SEGMENT_HELLO_MAGIC && fixture_send_welcome(fd, r);
	if (fd >= 0)
		(void)close(fd);
	return NULL;
}

static inline int fixture_listen(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* Forgets an earlier start, as the kernel makes a fork child forget it. */
static inline void fixture_forget(void)
{
	if (process)
		memset(process, 0, sizeof(*process));
	thread_self = &thread_none;
}

/* Starts a recording of this process. The calling thread has no slot yet. */
static inline void fixture_begin(const struct fixture_options *o)
{
	char directory[] = "/tmp/midden-capture-XXXXXX", path[64];
	struct fixture_recorder recorder = {0};
	pthread_t thread;

	recorder.segment = fixture_make_segment(o, &recorder.bytes);
	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/socket", directory);
	recorder.listener = fixture_listen(path);
	assert_int_equal(setenv(ENV_SOCKET, path, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, fixture_answer, &recorder), 0);
	fixture_forget();
	cold_start();
	(void)pthread_join(thread, NULL);
	(void)close(recorder.listener);
	(void)close(recorder.segment);
	(void)unlink(path);
	(void)rmdir(directory);
	assert_true(recorder.ok);
	assert_int_equal(recorder.hello.pid, getpid());
	assert_int_equal(atomic_load(&process->state), PROCESS_RECORDING);
	/* Here the room is part of the program under test: none of its frames is to be hidden. */
	process->own_module = UINT32_MAX;
}

#define FIXTURE_BEGIN(...) fixture_begin(&(struct fixture_options){__VA_ARGS__})

/* ---- the pretended collector ----------------------------------------------------------------- */

#define FIXTURE_SLOTS 64

/* Called for each event in its thread's order. */
typedef void fixture_event_fn(void *context, uint32_t slot, const uint64_t *words);

struct fixture_stream {
	uint32_t chunk;	   /* 0: not open */
	uint64_t start;	   /* stream position of the chunk */
	uint64_t position; /* of the next event */
};

struct fixture_collector {
	fixture_event_fn *on_event;
	void *context;
	_Atomic bool drains; /* takes events and returns chunks */
	_Atomic bool beats;  /* shows that it lives */
	_Atomic bool ends;
	pthread_t thread;
	uint64_t faults;
	struct fixture_stream streams[FIXTURE_SLOTS];
};

static inline void fixture_push(_Atomic uint64_t *head, _Atomic uint32_t *link, uint32_t index)
{
	uint64_t seen = atomic_load(head);
	uint64_t wanted;

	do {
		atomic_store_explicit(link, (uint32_t)seen, memory_order_relaxed);
		wanted = ((seen >> 32) + 1) << 32 | index;
	} while (!atomic_compare_exchange_weak_explicit(head, &seen, wanted, memory_order_release,
							memory_order_relaxed));
}

static inline void fixture_return_chunk(uint32_t index)
{
	struct segment_header *h = process->header;
	struct segment_chunk *chunk = process_chunk(index);

	/* What a careless reader would take for old events must not look like any. */
	memset(chunk->words, 0, sizeof(chunk->words));
	atomic_store_explicit(&chunk->next, 0, memory_order_relaxed);
	fixture_push(&h->free_chunks, &chunk->next_free, index);
	atomic_fetch_add(&h->freed, 1);
	if (atomic_exchange(&h->waiting, 0))
		(void)syscall(SYS_futex, &h->freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The stream goes on in the next chunk. False: there is none, though events lie beyond. */
static inline bool fixture_next_chunk(struct fixture_stream *s)
{
	uint32_t old = s->chunk;
	uint32_t next = atomic_load_explicit(&process_chunk(old)->next, memory_order_relaxed);

	if (next == 0 || next >= process->layout.chunk_count)
		return false;
	s->chunk = next;
	s->start += SEGMENT_CHUNK_PAYLOAD;
	s->position = s->start;
	fixture_return_chunk(old);
	return true;
}

/* The next event of a stream whose head is beyond it; NULL: the stream is broken. */
static inline const uint64_t *fixture_next_event(struct fixture_stream *s)
{
	if (s->position - s->start + SEGMENT_EVENT_MAX > SEGMENT_CHUNK_PAYLOAD &&
	    !fixture_next_chunk(s))
		return NULL;
	const uint64_t *words = process_chunk(s->chunk)->words + (s->position - s->start) / 8;
	uint32_t bytes = segment_event_bytes((uint32_t)words[0] & 15);
	s->position += bytes;
	return bytes ? words : NULL;
}

static inline void fixture_retire_slot(struct fixture_stream *s, uint32_t index)
{
	struct segment_slot *slot = process_slot(index);

	fixture_return_chunk(s->chunk);
	*s = (struct fixture_stream){0};
	atomic_store_explicit(&slot->state, SEGMENT_SLOT_FREE, memory_order_relaxed);
	fixture_push(&process->header->free_slots, &slot->next_free, index);
}

static inline void fixture_drain_slot(struct fixture_collector *c, uint32_t index)
{
	struct segment_slot *slot = process_slot(index);
	struct fixture_stream *s = &c->streams[index];
	/* The state first: a thread that has ended writes nothing more. */
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

	if (state != SEGMENT_SLOT_LIVE && state != SEGMENT_SLOT_ENDED)
		return;
	uint64_t head = atomic_load_explicit(&slot->head, memory_order_acquire);
	if (!s->chunk)
		s->chunk = slot->first_chunk;
	while (s->position < head) {
		const uint64_t *words = fixture_next_event(s);

		if (!words) {
			c->faults++;
			s->position = head;
			return;
		}
		c->on_event(c->context, index, words);
	}
	if (state == SEGMENT_SLOT_ENDED)
		fixture_retire_slot(s, index);
}

static inline void fixture_drain(struct fixture_collector *c)
{
	uint32_t used = atomic_load(&process->header->slots_used);

	for (uint32_t i = 1; i <= used && i < process->layout.slot_count; i++)
		fixture_drain_slot(c, i);
}

/* Sleeps as the real one does: until a target wakes it, or a little while. */
static inline void fixture_rest(void)
{
	struct segment_header *h = process->header;
	struct timespec limit = {.tv_nsec = 2000000};

	atomic_store(&h->sleeping, 1);
	(void)syscall(SYS_futex, &h->sleeping, FUTEX_WAIT, 1, &limit, NULL, 0);
	atomic_store(&h->sleeping, 0);
}

static inline void *fixture_collect(void *argument)
{
	struct fixture_collector *c = argument;

	while (!atomic_load(&c->ends)) {
		if (atomic_load(&c->beats))
			atomic_fetch_add(&process->header->heartbeat, 1);
		if (atomic_load(&c->drains))
			fixture_drain(c);
		fixture_rest();
	}
	return NULL;
}

/* A collector that beats and drains from the beginning; clear the flags before for another one. */
static inline void fixture_collector_init(struct fixture_collector *c, fixture_event_fn *on_event,
					  void *context)
{
	memset(c, 0, sizeof(*c));
	c->on_event = on_event;
	c->context = context;
	atomic_store(&c->drains, true);
	atomic_store(&c->beats, true);
}

static inline void fixture_collector_start(struct fixture_collector *c)
{
	assert_true(process->layout.slot_count <= FIXTURE_SLOTS);
	assert_int_equal(pthread_create(&c->thread, NULL, fixture_collect, c), 0);
}

/* Ends the thread, then takes what was still published. */
static inline void fixture_collector_stop(struct fixture_collector *c)
{
	atomic_store(&c->ends, true);
	(void)pthread_join(c->thread, NULL);
	fixture_drain(c);
}

/* The last thing that a recorded thread does. ThreadSanitizer is done with a thread in the last
 * round of its destructors, in which ours would run: it is told that the earlier rounds are
 * over. */
static inline void fixture_end_thread(void)
{
#if defined(__SANITIZE_THREAD__)
	if (thread_self != &thread_none)
		thread_self->end_rounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#endif
}

/* A walk compares what lies where frames once were, be it a red zone of AddressSanitizer's now. */
static inline void fixture_unpoison_stack(void)
{
#if defined(__SANITIZE_ADDRESS__)
	uint64_t low = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	uint64_t high = thread_self->slot->stack_high;

	if (high > low && high - low < (64u << 20)) /* not from a coroutine's stack */
		__asan_unpoison_memory_region(__builtin_frame_address(0), high - low);
#endif
}

/* ---- looking at the results ------------------------------------------------------------------ */

/* A frame as the segment has it, put together again. */
struct walk_frame {
	uint64_t pc;
	uint32_t module; /* with SEGMENT_NODE_* flags */
};

static inline struct walk_frame fixture_read_frame(uint32_t word)
{
	const struct segment_place *place =
		(const struct segment_place *)(const void *)((char *)process->header +
							     process->layout.places_offset) +
		(word & SEGMENT_NODE_PLACE_MASK);

	assert_true((word & SEGMENT_NODE_PLACE_MASK) < process->layout.place_count);
	return (struct walk_frame){.pc = place->address + (word & SEGMENT_NODE_EXACT ? 0 : 1),
				   .module = place->module | (word & ~SEGMENT_NODE_PLACE_MASK)};
}

/* The stack of a node, leaf first; the number of frames, at most `room`. */
static inline uint32_t fixture_read_stack(uint32_t node, struct walk_frame *frames, uint32_t room)
{
	uint32_t count = 0;

	for (; node && count < room; node = segment_node_parent(process_node(0), node)) {
		assert_true(node < process->layout.node_count);
		frames[count++] = fixture_read_frame(segment_node_place(process_node(0), node));
	}
	return count;
}

static inline void fixture_sleep_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&time, NULL);
}

static inline uint64_t fixture_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

#endif
