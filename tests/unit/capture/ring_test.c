/* ring_test.c -- events go through the buffers whole and in order, and a bad collector does not
 * stop the program.
 * Runs: as a unit test, also under ThreadSanitizer. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "capture/say.h"
#include "capture/hot.h"
#include "capture/ring.h"

/* ---- producers ------------------------------------------------------------------------------- */

enum { PRODUCERS = 4, EVENTS = 30000, PRODUCER_MAX = 64 };
enum { BUSY_MS = 60000 }; /* what a busy machine may need for what is done at once */

/* Event i of a producer: its kind and size follow from i, its block names both. */
static uint32_t kind_of(uint64_t i)
{
	static const uint32_t kinds[] = {SEGMENT_EVENT_ALLOC,	     SEGMENT_EVENT_FREE,
					 SEGMENT_EVENT_ALLOC_BIG,    SEGMENT_EVENT_RESIZE,
					 SEGMENT_EVENT_RESIZED,	     SEGMENT_EVENT_RESIZE,
					 SEGMENT_EVENT_RESIZE_FAILED};

	return kinds[i % 7];
}

static uint64_t size_of(uint64_t i)
{
	return kind_of(i) == SEGMENT_EVENT_ALLOC_BIG ? (UINT64_C(1) << 32) + i : i * 3;
}

static uint64_t block_of(uint64_t producer, uint64_t i)
{
	return (producer + 1) << 32 | i;
}

/* Stands for a hook: its caller is the leaf of the stack. */
static NOINLINE void record(uint64_t producer, uint64_t i)
{
	struct walk_start start = WALK_START();
	void *block = (void *)(uintptr_t)block_of(producer, i);
	uint32_t kind = kind_of(i);

	if (kind == SEGMENT_EVENT_ALLOC || kind == SEGMENT_EVENT_ALLOC_BIG)
		hot_alloc(block, size_of(i), SEGMENT_API_MALLOC, &start);
	else if (kind == SEGMENT_EVENT_RESIZED)
		hot_block(block, size_of(i), kind, SEGMENT_API_REALLOC, &start);
	else if (kind == SEGMENT_EVENT_RESIZE_FAILED)
		gate_end_resize(kind);
	else
		(void)hot_release(block, kind);
}

struct producer {
	pthread_t thread;
	uint64_t number;
	uint64_t count;
	pthread_barrier_t *together; /* all of a group have a slot before any goes on */
};

static void *produce(void *argument)
{
	const struct producer *p = argument;

	record(p->number, 0);
	if (p->together)
		(void)pthread_barrier_wait(p->together);
	for (uint64_t i = 1; i < p->count; i++)
		record(p->number, i);
	fixture_end_thread();
	return NULL;
}

static void start_producers(struct producer *p, uint64_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		p[i] = (struct producer){.number = first + i, .count = EVENTS};
		assert_int_equal(pthread_create(&p[i].thread, NULL, produce, &p[i]), 0);
	}
}

static void join_producers(struct producer *p, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		(void)pthread_join(p[i].thread, NULL);
}

/* ---- what the collector checks --------------------------------------------------------------- */

struct check {
	struct {
		uint64_t producer;
		uint64_t next; /* event */
		uint64_t ticks;
	} at[FIXTURE_SLOTS];	     /* by slot */
	uint64_t seen[PRODUCER_MAX]; /* events, by producer */
	uint64_t wrong;
};

static bool has_block(uint32_t kind)
{
	return kind != SEGMENT_EVENT_RESIZE_FAILED;
}

static bool is_as_written(const uint64_t *words, uint64_t producer, uint64_t i)
{
	uint32_t kind = (uint32_t)words[0] & 15;
	uint64_t node = 1, size = size_of(i);

	if (kind != kind_of(i) || (has_block(kind) && words[1] != block_of(producer, i)))
		return false;
	if (kind == SEGMENT_EVENT_ALLOC || kind == SEGMENT_EVENT_RESIZED) {
		node = words[2] & UINT32_MAX;
		size = words[2] >> 32;
	} else if (kind == SEGMENT_EVENT_ALLOC_BIG) {
		node = words[2];
		size = words[3];
	}
	return size == size_of(i) && node > 0 && node <= atomic_load(&process->header->nodes_used);
}

static void check_event(void *context, uint32_t slot, const uint64_t *words)
{
	struct check *c = context;

	/* A slot may come to another thread, whose first event says so. */
	if (((uint32_t)words[0] & 15) == SEGMENT_EVENT_ALLOC && (words[1] & UINT32_MAX) == 0) {
		c->at[slot].producer = ((words[1] >> 32) - 1) % PRODUCER_MAX;
		c->at[slot].next = 0;
		c->at[slot].ticks = 0;
	}
	if (!is_as_written(words, c->at[slot].producer, c->at[slot].next) ||
	    words[0] >> 8 < c->at[slot].ticks)
		c->wrong++;
	c->at[slot].ticks = words[0] >> 8;
	c->at[slot].next++;
	c->seen[c->at[slot].producer]++;
}

static struct fixture_collector collector;
static struct check check;
static bool is_collecting;

/* Starts a recording with a collector thread that checks every event. */
static void begin_checked(const struct fixture_options *o)
{
	fixture_begin(o);
	memset(&check, 0, sizeof(check));
	fixture_collector_init(&collector, check_event, &check);
}

static void start_collecting(void)
{
	is_collecting = true;
	fixture_collector_start(&collector);
}

/* After a test that failed half-way. */
static int stop_collecting(void **state)
{
	(void)state;
	if (is_collecting)
		fixture_collector_stop(&collector);
	is_collecting = false;
	return 0;
}

static void end_checked(uint32_t producers)
{
	(void)stop_collecting(NULL);
	assert_int_equal(collector.faults, 0);
	assert_int_equal(check.wrong, 0);
	for (uint32_t i = 0; i < producers; i++)
		assert_int_equal(check.seen[i], EVENTS);
}

static uint64_t count_lost(void)
{
	uint64_t lost = atomic_load(&process->header->losses.lost_events);

	for (uint32_t i = 1; i < process->layout.slot_count; i++)
		lost += atomic_load(&process_slot(i)->losses.lost_events);
	return lost;
}

/* ---- order and completeness ------------------------------------------------------------------ */

static void with_few_chunks_and_four_threads_no_event_is_lost_or_out_of_order(void **state)
{
	struct producer p[PRODUCERS];

	(void)state;
	begin_checked(&(struct fixture_options){.chunks = 2 + PRODUCERS});
	start_collecting();
	start_producers(p, 0, PRODUCERS);
	join_producers(p, PRODUCERS);
	end_checked(PRODUCERS);
	assert_int_equal(count_lost(), 0);
	assert_int_equal(atomic_load(&process->header->target_state), SEGMENT_TARGET_RECORDING);
}

static void every_chunk_comes_back_when_the_threads_have_ended(void **state)
{
	struct producer p[PRODUCERS];
	uint32_t free_chunks = 0;

	(void)state;
	begin_checked(&(struct fixture_options){.chunks = 10});
	start_collecting();
	start_producers(p, 0, PRODUCERS);
	join_producers(p, PRODUCERS);
	end_checked(PRODUCERS);
	while (ring_pop_chunk())
		free_chunks++;
	assert_int_equal(free_chunks, 9);
}

static void run_three_together(uint64_t first)
{
	pthread_barrier_t together;
	struct producer p[3];

	(void)pthread_barrier_init(&together, NULL, 3);
	for (uint32_t i = 0; i < 3; i++) {
		p[i] = (struct producer){
			.number = first + i, .count = EVENTS, .together = &together};
		assert_int_equal(pthread_create(&p[i].thread, NULL, produce, &p[i]), 0);
	}
	join_producers(p, 3);
	(void)pthread_barrier_destroy(&together);
}

static void slots_of_ended_threads_serve_new_ones_with_serials_of_their_own(void **state)
{
	bool taken[3 * 8 + 2] = {false};

	(void)state;
	begin_checked(&(struct fixture_options){.slots = 4, .chunks = 10});
	start_collecting();
	for (uint32_t round = 0; round < 8; round++) {
		run_three_together(round * 3);
		for (uint32_t slot = 1; slot <= 3; slot++) {
			while (atomic_load(&process_slot(slot)->state) != SEGMENT_SLOT_FREE)
				fixture_sleep_ms(1);
			uint32_t serial = process_slot(slot)->serial;

			assert_in_range(serial, 1, 3 * 8);
			assert_false(taken[serial]);
			taken[serial] = true;
		}
	}
	end_checked(24);
	assert_int_equal(atomic_load(&process->header->slots_used), 3);
}

static void *produce_under_a_name(void *argument)
{
	(void)produce(argument);
	(void)pthread_setname_np(pthread_self(), "a producer");
	return NULL;
}

static void a_thread_that_has_ended_says_so_with_its_name_and_time(void **state)
{
	struct producer p = {.number = 0, .count = 10};

	(void)state;
	FIXTURE_BEGIN(0);
	assert_int_equal(pthread_create(&p.thread, NULL, produce_under_a_name, &p), 0);
	(void)pthread_join(p.thread, NULL);
	const struct segment_slot *slot = process_slot(1);
	assert_int_equal(atomic_load(&slot->state), SEGMENT_SLOT_ENDED);
	assert_string_equal(slot->name, "a producer");
	assert_true(atomic_load(&slot->end_ticks) > slot->start_ticks);
	assert_int_not_equal(slot->tid, gettid());
}

static void after_a_fork_the_forking_thread_and_new_ones_have_different_serials(void **state)
{
	struct producer p = {.number = 1, .count = 10};

	(void)state;
	FIXTURE_BEGIN(0);
	record(0, 0); /* has a serial now, as the parent's thread had */
	FIXTURE_BEGIN(0);
	record(0, 0);
	assert_int_equal(pthread_create(&p.thread, NULL, produce, &p), 0);
	(void)pthread_join(p.thread, NULL);
	assert_int_not_equal(process_slot(1)->serial, process_slot(2)->serial);
}

/* ---- back-pressure --------------------------------------------------------------------------- */

static void when_the_collector_pauses_and_resumes_in_time_nothing_is_lost(void **state)
{
	struct producer p[PRODUCERS];

	(void)state;
	begin_checked(&(struct fixture_options){.chunks = 10, .patience_ms = BUSY_MS});
	atomic_store(&collector.drains, false);
	atomic_store(&collector.beats, false);
	start_collecting();
	start_producers(p, 0, PRODUCERS);
	for (int i = 0; i < BUSY_MS && atomic_load(&process->header->waiting) == 0; i++)
		fixture_sleep_ms(1);
	fixture_sleep_ms(100);
	assert_int_equal(atomic_load(&process->header->waiting), 1);
	atomic_store(&collector.drains, true);
	atomic_store(&collector.beats, true);
	join_producers(p, PRODUCERS);
	end_checked(PRODUCERS);
	assert_int_equal(count_lost(), 0);
}

static void a_collector_that_is_busy_but_lives_is_waited_for_beyond_the_patience(void **state)
{
	struct producer p[PRODUCERS];

	(void)state;
	/* On a busy machine its thread may get no processor for a second. */
	begin_checked(&(struct fixture_options){.chunks = 10, .patience_ms = 3000});
	atomic_store(&collector.drains, false);
	start_collecting();
	start_producers(p, 0, PRODUCERS);
	fixture_sleep_ms(4000);
	atomic_store(&collector.drains, true);
	join_producers(p, PRODUCERS);
	end_checked(PRODUCERS);
	assert_int_equal(count_lost(), 0);
	assert_int_equal(atomic_load(&process->header->target_state), SEGMENT_TARGET_RECORDING);
}

/* Sends standard error into a pipe; returns what it was. */
static int catch_stderr(int pipe_end[2])
{
	int saved = dup(2);

	assert_int_equal(pipe2(pipe_end, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(dup2(pipe_end[1], 2), 2);
	say_init();
	return saved;
}

static void release_stderr(int pipe_end[2], int saved, char *text, size_t room)
{
	ssize_t got = read(pipe_end[0], text, room - 1);

	text[got > 0 ? got : 0] = '\0';
	(void)dup2(saved, 2);
	say_init();
	(void)close(saved);
	(void)close(pipe_end[0]);
	(void)close(pipe_end[1]);
}

/* Records until nothing more is taken; the milliseconds that the last event took. */
static uint64_t fill_up(uint64_t *recorded)
{
	uint64_t before;

	*recorded = 0;
	do {
		before = clock_monotonic_ns();
		++*recorded;
	} while (hot_release(&before, SEGMENT_EVENT_FREE));
	--*recorded;
	return (clock_monotonic_ns() - before) / 1000000;
}

static void check_abandoned(const char *said)
{
	assert_int_equal(atomic_load(&process->header->target_state), SEGMENT_TARGET_ABANDONED);
	assert_int_equal(atomic_load(&process->state), PROCESS_OFF);
	assert_int_equal(strncmp(said, "midden: ", 8), 0);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
}

static void when_the_collector_stays_silent_the_recording_ends_after_the_patience(void **state)
{
	uint64_t recorded;
	char said[512];
	int ends[2];

	(void)state;
	FIXTURE_BEGIN(.chunks = 4, .patience_ms = 200);
	int saved = catch_stderr(ends);
	uint64_t waited_ms = fill_up(&recorded);
	(void)hot_release(&recorded, SEGMENT_EVENT_FREE);
	release_stderr(ends, saved, said, sizeof(said));
	assert_in_range(waited_ms, 199, BUSY_MS);
	/* three chunks of 16-byte events, of which the last must leave room for the longest */
	assert_int_equal(recorded, 3 * ((SEGMENT_CHUNK_PAYLOAD - SEGMENT_EVENT_MAX) / 16 + 1));
	check_abandoned(said);
	assert_int_equal(count_lost(), 2);
}

static void when_the_collector_is_gone_nobody_waits_for_it(void **state)
{
	uint64_t recorded;
	char said[512];
	int ends[2];
	pid_t dead = fork();

	(void)state;
	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	FIXTURE_BEGIN(.chunks = 4, .patience_ms = BUSY_MS, .collector_pid = dead);
	int saved = catch_stderr(ends);
	uint64_t waited_ms = fill_up(&recorded);
	release_stderr(ends, saved, said, sizeof(said));
	assert_in_range(waited_ms, 0, BUSY_MS / 2);
	check_abandoned(said);
}

static void when_it_is_over_waiting_threads_go_on_too(void **state)
{
	struct producer p[PRODUCERS];
	char said[512];
	int ends[2];

	(void)state;
	FIXTURE_BEGIN(.chunks = 10, .patience_ms = 200);
	int saved = catch_stderr(ends);
	start_producers(p, 0, PRODUCERS);
	join_producers(p, PRODUCERS); /* the test is that this returns */
	release_stderr(ends, saved, said, sizeof(said));
	check_abandoned(said);
	assert_true(count_lost() >= PRODUCERS);
}

static void when_it_is_over_events_of_new_threads_are_counted_as_lost(void **state)
{
	struct producer p = {.number = 0, .count = 5};
	uint64_t recorded;
	char said[512];
	int ends[2];

	(void)state;
	FIXTURE_BEGIN(.chunks = 4, .patience_ms = 50);
	int saved = catch_stderr(ends);
	(void)fill_up(&recorded);
	release_stderr(ends, saved, said, sizeof(said));
	uint64_t before = count_lost();
	assert_int_equal(pthread_create(&p.thread, NULL, produce, &p), 0);
	(void)pthread_join(p.thread, NULL);
	assert_int_equal(count_lost() - before, 5);
}

/* ---- threads in no state to record ----------------------------------------------------------- */

static void threads_beyond_the_slots_are_counted_as_lost_events(void **state)
{
	struct producer p = {.number = 0, .count = 7};

	(void)state;
	FIXTURE_BEGIN(.slots = 2); /* one */
	record(0, 0);
	assert_int_equal(pthread_create(&p.thread, NULL, produce, &p), 0);
	(void)pthread_join(p.thread, NULL);
	assert_int_equal(atomic_load(&process->header->losses.lost_events), 7);
	assert_int_equal(atomic_load(&process->header->slots_used), 1);
	assert_int_equal(atomic_load(&process_slot(1)->losses.lost_events), 0);
}

static void a_call_from_a_signal_handler_inside_a_hook_passes_through_and_is_counted(void **state)
{
	(void)state;
	FIXTURE_BEGIN(0);
	record(0, 0);
	struct thread *t = thread_self;
	uint64_t *limit = t->limit, head = atomic_load(&t->slot->head);
	/* As it is while a hook runs that was called further out. */
	uint64_t *busy = thread_busy((uint64_t)(uintptr_t)__builtin_frame_address(0) + 4096);
	t->limit = busy;
	record(0, 0);
	assert_false(hot_release(&head, SEGMENT_EVENT_FREE));
	assert_ptr_equal(t->limit, busy);
	assert_int_equal(atomic_load(&t->slot->losses.reentrant_calls), 2);
	assert_int_equal(atomic_load(&t->slot->head), head);
	t->limit = limit;
	record(0, 0);
	assert_int_equal(atomic_load(&t->slot->head), head + 24);
}

static void a_hook_that_was_left_by_a_jump_does_not_end_the_recording_of_its_thread(void **state)
{
	(void)state;
	FIXTURE_BEGIN(0);
	record(0, 0);
	struct thread *t = thread_self;
	stackrange_init(&t->stack, true);
	t->stack.low -= 65536;
	t->limit = thread_busy((uint64_t)(uintptr_t)__builtin_frame_address(0) - 4096);
	record(0, 0);
	assert_ptr_not_equal(thread_self, t);
	assert_int_equal(atomic_load(&t->slot->state), SEGMENT_SLOT_ENDED);
	assert_int_equal(atomic_load(&t->slot->losses.lost_events), 1);
	assert_int_equal(atomic_load(&thread_self->slot->head), 24);
}

static void an_allocation_that_failed_is_counted_and_not_recorded(void **state)
{
	struct walk_start start = {0};

	(void)state;
	FIXTURE_BEGIN(0);
	hot_alloc(NULL, 10, SEGMENT_API_MALLOC, &start);
	assert_int_equal(atomic_load(&process_slot(1)->losses.failed_allocations), 1);
	assert_int_equal(atomic_load(&process_slot(1)->head), 0);
}

static void errno_survives_a_threads_first_event_a_new_chunk_and_the_end(void **state)
{
	uint64_t recorded;
	char said[512];
	int ends[2];

	(void)state;
	FIXTURE_BEGIN(.chunks = 4, .patience_ms = 50);
	int saved = catch_stderr(ends);
	errno = 1234;
	record(0, 0);
	int after_first = errno;
	(void)fill_up(&recorded);
	int after_last = errno;
	release_stderr(ends, saved, said, sizeof(said));
	assert_int_equal(after_first, 1234);
	assert_int_equal(after_last, 1234);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			with_few_chunks_and_four_threads_no_event_is_lost_or_out_of_order,
			stop_collecting),
		cmocka_unit_test_teardown(every_chunk_comes_back_when_the_threads_have_ended,
					  stop_collecting),
		cmocka_unit_test_teardown(
			slots_of_ended_threads_serve_new_ones_with_serials_of_their_own,
			stop_collecting),
		cmocka_unit_test_teardown(a_thread_that_has_ended_says_so_with_its_name_and_time,
					  stop_collecting),
		cmocka_unit_test_teardown(
			after_a_fork_the_forking_thread_and_new_ones_have_different_serials,
			stop_collecting),
		cmocka_unit_test_teardown(
			when_the_collector_pauses_and_resumes_in_time_nothing_is_lost,
			stop_collecting),
		cmocka_unit_test_teardown(
			a_collector_that_is_busy_but_lives_is_waited_for_beyond_the_patience,
			stop_collecting),
		cmocka_unit_test_teardown(
			when_the_collector_stays_silent_the_recording_ends_after_the_patience,
			stop_collecting),
		cmocka_unit_test_teardown(when_the_collector_is_gone_nobody_waits_for_it,
					  stop_collecting),
		cmocka_unit_test_teardown(when_it_is_over_waiting_threads_go_on_too,
					  stop_collecting),
		cmocka_unit_test_teardown(when_it_is_over_events_of_new_threads_are_counted_as_lost,
					  stop_collecting),
		cmocka_unit_test_teardown(threads_beyond_the_slots_are_counted_as_lost_events,
					  stop_collecting),
		cmocka_unit_test_teardown(
			a_call_from_a_signal_handler_inside_a_hook_passes_through_and_is_counted,
			stop_collecting),
		cmocka_unit_test_teardown(
			a_hook_that_was_left_by_a_jump_does_not_end_the_recording_of_its_thread,
			stop_collecting),
		cmocka_unit_test_teardown(an_allocation_that_failed_is_counted_and_not_recorded,
					  stop_collecting),
		cmocka_unit_test_teardown(
			errno_survives_a_threads_first_event_a_new_chunk_and_the_end,
			stop_collecting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
