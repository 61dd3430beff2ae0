/* collect_test.c -- the run loop against processes that die, exec, give up or go quiet. Runs: as
 * a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "collect/pagemap.h"
#include "producer.h"

#define MS	      UINT64_C(1000000)
#define SECONDS	      (1000 * MS)
#define PATIENCE_S    60u /* on a machine that is too busy for both of two processes */
#define LIFE_S	      (2 * PATIENCE_S)
#define DEPTH	      (2u << 20)
#define GUARD_INSTALL 102 /* of madvise, since Linux 6.13: headers may be older */

/* ---- a process of its own -------------------------------------------------------------------- */

struct target {
	struct collector *c;
	pid_t pid;
};

/* In the child: maps the segment whose descriptor the parent has. */
static struct segment_map map_segment(int from)
{
	char path[64];
	int fd_there;
	struct stat status;
	struct segment_map map;

	if (read(from, &fd_there, sizeof(fd_there)) != sizeof(fd_there))
		_exit(1);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getppid(), fd_there);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		_exit(1);
	char *base = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		_exit(1);
	(void)close(fd);
	map.header = (void *)base;
	map.layout = map.header->layout;
	map.slots = (void *)(base + map.layout.slots_offset);
	map.chunks = (void *)(base + map.layout.chunks_offset);
	return map;
}

/* Forks a process that runs `play` on the segment, and makes the collector for it. */
static struct target start_target(void (*play)(struct segment_map *map))
{
	struct collect_config config = {.buffer_bytes = 1 << 20, .max_depth = 512};
	struct segment_hello hello = {.address_space_limit = UINT64_MAX};
	struct error e = {0};
	struct target t;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	t.pid = fork();
	if (t.pid == 0) {
		struct segment_map map = map_segment(ends[0]);

		play(&map);
		_exit(0);
	}
	hello.pid = t.pid;
	t.c = collect_new(&config, &hello, &e);
	assert_non_null(t.c);
	int fd = collect_get_fd(t.c);
	assert_int_equal(write(ends[1], &fd, sizeof(fd)), sizeof(fd));
	(void)close(ends[0]);
	(void)close(ends[1]);
	return t;
}

static void end_target(struct target *t)
{
	(void)kill(t->pid, SIGKILL);
	(void)waitpid(t->pid, NULL, 0);
	collect_free(t->c);
}

static uint64_t get_ticks(const struct segment_map *map)
{
	return clock_read(map->header->clock) - map->header->clock_base;
}

/* More events than the buffers hold at once, so that chunks have to come back meanwhile. */
static void allocate_a_lot(struct segment_map *map)
{
	struct producer p = producer_open_as(map, 1, (uint32_t)getpid());

	for (uint64_t i = 1; i <= 200000; i++) {
		producer_alloc(&p, get_ticks(map), i * 16, 10, 1);
		if (i % 2)
			producer_free(&p, get_ticks(map), i * 16);
	}
}

static void allocate_and_be_killed(struct segment_map *map)
{
	allocate_a_lot(map);
	(void)raise(SIGKILL);
}

static void nothing_published_is_lost_when_the_target_is_killed(void **state)
{
	struct target t = start_target(allocate_and_be_killed);

	(void)state;
	assert_int_equal(collect_run(t.c, 0, NULL), COLLECT_END_GONE);
	struct profile *p = collect_build_profile(t.c);
	assert_int_equal(p->totals.allocations, 200000);
	assert_int_equal(p->totals.frees, 100000);
	assert_int_equal(p->totals.leaked_bytes, 1000000);
	assert_int_equal(p->totals.temporary_allocations, 100000);
	assert_int_equal(p->totals.peak_blocks,
			 100000); /* the last alloc of a temporary one: +1, -1 */
	assert_int_equal(p->totals.lost_events, 0);
	assert_int_equal(p->totals.foreign_frees, 0);
	assert_int_equal(p->threads.at[0].end_ns, UINT64_MAX);
	profile_free(p);
	end_target(&t);
}

static void the_end_of_the_recording_stands_still(void **state)
{
	struct target t = start_target(allocate_a_lot);

	(void)state;
	assert_int_equal(collect_run(t.c, 0, NULL), COLLECT_END_GONE);
	struct profile *before = collect_build_profile(t.c);
	(void)usleep(20000);
	struct profile *after = collect_build_profile(t.c);
	assert_int_equal(before->run.duration_ns, after->run.duration_ns);
	profile_free(before);
	profile_free(after);
	end_target(&t);
}

static void allocate_and_exec(struct segment_map *map)
{
	struct producer p = producer_open_as(map, 1, (uint32_t)getpid());

	atomic_store(&map->header->target_state, SEGMENT_TARGET_RECORDING);
	producer_alloc(&p, get_ticks(map), 16, 10, 1);
	(void)execlp("sleep", "sleep", "120", NULL);
}

static void an_exec_is_noticed(void **state)
{
	struct target t = start_target(allocate_and_exec);

	(void)state;
	assert_int_equal(collect_run(t.c, PATIENCE_S * SECONDS, NULL), COLLECT_END_EXEC);
	assert_int_equal(account_get_totals(&t.c->account).allocations, 1);
	end_target(&t);
}

/* The segment is not mapped, and nothing has begun. */
static void take_long_to_begin(struct segment_map *map)
{
	(void)map;
	(void)execlp("sleep", "sleep", "120", NULL);
}

static void a_target_that_is_slow_to_begin_is_not_taken_for_another(void **state)
{
	struct target t = start_target(take_long_to_begin);

	(void)state;
	assert_int_equal(collect_run(t.c, 1 * SECONDS, NULL), COLLECT_END_TICK);
	assert_false(collect_has_begun(t.c));
	end_target(&t);
}

static void allocate_and_wait(struct segment_map *map)
{
	struct producer p = producer_open_as(map, 1, (uint32_t)getpid());

	producer_alloc(&p, get_ticks(map), 16, 10, 1);
	(void)sleep(LIFE_S);
}

#define HUGE_PAGE (2u << 20)

/* Asks for all stacks, of which one is nowhere; the program's is 2 MiB deep. */
static void ask_for_stacks(struct segment_map *map)
{
	volatile char depth[DEPTH];
	struct producer p = producer_open_as(map, 1, (uint32_t)getpid());
	struct producer liar = producer_open_as(map, 2, (uint32_t)getpid());

	depth[0] = 1;
	map->slots[p.slot].stack_high = (uint64_t)(uintptr_t)depth + sizeof(depth);
	map->slots[liar.slot].stack_high = UINT64_MAX;
	producer_alloc(&p, get_ticks(map), 16, 10, 1);
	producer_alloc(&liar, get_ticks(map), 32, 10, 1);
	producer_write(
		&p, 4,
		(uint64_t[4]){get_ticks(map) << 8 | SEGMENT_ORDER_LOOK << 4 | SEGMENT_EVENT_ORDER,
			      7, 1, 0});
	(void)sleep(LIFE_S);
}

static void given_an_order_then_stacks_are_looked_at_where_they_are(void **state)
{
	struct target t = start_target(ask_for_stacks);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	(void)state;
	for (int i = 0; i < (int)PATIENCE_S && atomic_load(&t.c->map.slots[1].answered) != 7 &&
			atomic_load(&t.c->map.slots[2].answered) != 7;
	     i++)
		assert_int_equal(collect_run(t.c, 1 * SECONDS, NULL), COLLECT_END_TICK);
	const struct thread *found = t.c->account.threads.list.at;
	assert_int_equal(t.c->account.threads.list.count, 2);
	/* Emulators have it in huge pages, which are resident as a whole. */
	assert_in_range(found[0].stack.deepest_bytes, DEPTH, DEPTH + HUGE_PAGE);
	assert_in_range(found[0].stack.resident_bytes, page, found[0].stack.reserved_bytes);
	assert_true(found[0].stack.reserved_bytes >= found[0].stack.deepest_bytes);
	assert_int_equal(found[1].stack.reserved_bytes, 0);
	end_target(&t);
}

/* A stack of five pages, two of them in use, above its guard; below, somebody else's page. */
static void ask_for_guarded_stack(struct segment_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct producer p = producer_open_as(map, 1, (uint32_t)getpid());
	uint64_t first = get_ticks(map) << 8 | SEGMENT_ORDER_LOOK << 4 | SEGMENT_EVENT_ORDER;

	at[0] = at[6 * page] = at[7 * page] = 1;
	(void)madvise(at + 2 * page, page, GUARD_INSTALL);
	map->slots[p.slot].stack_high = (uintptr_t)at + 8 * page;
	producer_write(&p, 4, (uint64_t[4]){first, 7, 1, 0});
	(void)sleep(LIFE_S);
}

static void given_a_guard_inside_of_its_map_then_a_stack_ends_there(void **state)
{
	struct target t = start_target(ask_for_guarded_stack);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct pagemap pages;
	struct error e = {0};

	(void)state;
	for (int i = 0; i < (int)PATIENCE_S && atomic_load(&t.c->map.slots[1].answered) != 7; i++)
		assert_int_equal(collect_run(t.c, 1 * SECONDS, NULL), COLLECT_END_TICK);
	const struct thread *found = t.c->account.threads.list.at;
	assert_int_equal(pagemap_open(&pages, t.pid, &e), 0);
	if (pages.scans_guards) { /* older kernels do not tell */
		assert_int_equal(found[0].stack.reserved_bytes, 5 * page);
		assert_int_equal(found[0].stack.deepest_bytes, 2 * page);
		assert_int_equal(found[0].stack.resident_bytes, 2 * page);
	}
	pagemap_close(&pages);
	end_target(&t);
}

static void ask_and_leave(struct segment_map *map)
{
	static const uint64_t orders[] = {SEGMENT_ORDER_LOOK, SEGMENT_ORDER_LEAKS};

	for (uint32_t i = 0; i < 2; i++) {
		struct producer p = producer_open_as(map, i + 1, (uint32_t)getpid());
		uint64_t first = get_ticks(map) << 8 | orders[i] << 4 | SEGMENT_EVENT_ORDER;

		producer_write(&p, 4, (uint64_t[4]){first, 7, 1, 0});
	}
}

static void given_an_order_in_the_last_round_then_it_is_answered(void **state)
{
	struct target t = start_target(ask_and_leave);
	const bool stop = true;
	siginfo_t gone;

	(void)state;
	assert_int_equal(waitid(P_PID, (id_t)t.pid, &gone, WEXITED | WNOWAIT), 0);
	t.c->map.slots[1].done = t.c->map.slots[2].done = true;
	assert_int_equal(collect_run(t.c, 0, &stop), COLLECT_END_STOPPED);
	for (uint32_t slot = 1; slot <= 2; slot++) {
		assert_int_equal(atomic_load(&t.c->map.slots[slot].answered), 7);
		assert_false(t.c->map.slots[slot].done);
	}
	end_target(&t);
}

static void a_quiet_target_is_not_taken_for_gone(void **state)
{
	struct target t = start_target(allocate_and_wait);

	(void)state;
	for (uint32_t i = 0; i < PATIENCE_S && !account_get_totals(&t.c->account).allocations; i++)
		assert_int_equal(collect_run(t.c, 1 * SECONDS, NULL), COLLECT_END_TICK);
	assert_int_equal(collect_run(t.c, 1 * SECONDS, NULL), COLLECT_END_TICK);
	assert_int_equal(account_get_totals(&t.c->account).allocations, 1);
	assert_int_equal(t.c->streams.open, 1);
	end_target(&t);
}

static void allocate_and_give_up(struct segment_map *map)
{
	struct producer p = producer_open_as(map, 1, (uint32_t)getpid());

	producer_alloc(&p, get_ticks(map), 16, 10, 1);
	atomic_store(&map->header->target_state, SEGMENT_TARGET_ABANDONED);
	(void)sleep(LIFE_S);
}

static void an_abandoned_recording_ends_with_all_it_has(void **state)
{
	struct target t = start_target(allocate_and_give_up);

	(void)state;
	assert_int_equal(collect_run(t.c, PATIENCE_S * SECONDS, NULL), COLLECT_END_ABANDONED);
	assert_int_equal(account_get_totals(&t.c->account).allocations, 1);
	end_target(&t);
}

static void touch_memory_and_wait(struct segment_map *map)
{
	struct producer p = producer_open_as(map, 1, (uint32_t)getpid());
	char *memory = malloc(32 << 20);

	memset(memory, 1, 32 << 20);
	producer_alloc(&p, get_ticks(map), (uintptr_t)memory, 32 << 20, 1);
	(void)sleep(LIFE_S);
}

/* The most that was resident at any point of the series so far. */
static uint64_t find_most_resident(struct collector *c)
{
	struct profile *p = collect_build_profile(c);
	uint64_t most = 0;

	for (size_t i = 0; i < p->points.count; i++)
		if (p->points.at[i].rss_bytes > most)
			most = p->points.at[i].rss_bytes;
	profile_free(p);
	return most;
}

static void the_resident_size_is_seen(void **state)
{
	struct target t = start_target(touch_memory_and_wait);

	(void)state;
	for (uint32_t i = 0; i < 5 * PATIENCE_S && find_most_resident(t.c) < 32 << 20; i++)
		assert_int_equal(collect_run(t.c, 200 * MS, NULL), COLLECT_END_TICK);
	(void)kill(t.pid, SIGKILL);
	assert_int_equal(collect_run(t.c, PATIENCE_S * SECONDS, NULL), COLLECT_END_GONE);
	struct profile *p = collect_build_profile(t.c);
	assert_true(p->totals.rss_peak_bytes >= 32 << 20);
	assert_true(find_most_resident(t.c) >= 32 << 20);
	profile_free(p);
	end_target(&t);
}

static void an_unreadable_rest_of_a_dead_target_is_counted(void **state)
{
	struct target t = start_target(allocate_a_lot);

	(void)state;
	assert_int_equal(collect_run(t.c, 0, NULL), COLLECT_END_GONE);
	struct producer p = producer_open_as(&t.c->map, 2, 1);
	producer_alloc(&p, SEGMENT_TICKS_MASK, 16, 1, 1); /* a time that never comes */
	assert_int_equal(collect_run(t.c, 0, NULL), COLLECT_END_GONE);
	struct profile *profile = collect_build_profile(t.c);
	assert_int_equal(profile->totals.lost_events, 1);
	profile_free(profile);
	end_target(&t);
}

/* ---- in this process ------------------------------------------------------------------------- */

static void it_stops_when_told(void **state)
{
	struct collector *c = producer_new_collector(0);
	const volatile bool stop = true;

	(void)state;
	assert_int_equal(collect_run(c, 0, &stop), COLLECT_END_STOPPED);
	collect_free(c);
}

static void what_was_published_counts_when_it_is_stopped(void **state)
{
	struct collector *c = producer_new_collector(0);
	struct producer one = producer_open(c, 1);
	const volatile bool stop = true;

	(void)state;
	producer_alloc(&one, 10, 16, 100, 1);
	producer_alloc(&one, SEGMENT_TICKS_MASK, 32, 100,
		       1); /* as if stamped after the last look */
	assert_int_equal(collect_run(c, 0, &stop), COLLECT_END_STOPPED);
	assert_int_equal(account_get_totals(&c->account).allocations, 1);
	assert_int_equal(c->streams.broken, 0); /* the target goes on: nothing is lost */
	collect_free(c);
}

static void it_comes_back_after_the_tick(void **state)
{
	struct collector *c = producer_new_collector(0);
	uint64_t start = clock_monotonic_ns();

	(void)state;
	assert_int_equal(collect_run(c, 50 * MS, NULL), COLLECT_END_TICK);
	uint64_t passed = clock_monotonic_ns() - start;
	assert_true(passed >= 50 * MS);
	assert_true(passed < PATIENCE_S * SECONDS);
	collect_free(c);
}

/* Threads are looked at every now and then only, and later than that on a busy machine. */
static void collect_until_closed(struct collector *c, uint32_t slot)
{
	for (uint32_t i = 0; i < 5 * PATIENCE_S; i++) {
		(void)collect_run(c, 200 * MS, NULL);
		if (c->streams.at[slot].state == STREAM_CLOSED)
			return;
	}
}

static void *open_slot_and_die(void *argument)
{
	struct collector *c = argument;
	struct producer p = producer_open(c, 1);

	producer_alloc(&p, get_ticks(&c->map), 16, 10, 1);
	return NULL;
}

static void a_thread_that_dies_without_a_word_is_found_out(void **state)
{
	struct collector *c = producer_new_collector(0);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, open_slot_and_die, c), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	collect_until_closed(c, 1);
	assert_int_equal(c->streams.open, 0);
	assert_int_equal(atomic_load(&c->map.slots[1].state), SEGMENT_SLOT_FREE);
	struct profile *p = collect_build_profile(c);
	assert_int_equal(p->totals.allocations, 1);
	assert_true(p->threads.at[0].end_ns <= p->run.duration_ns);
	profile_free(p);
	collect_free(c);
}

static void of_two_slots_with_one_thread_id_the_older_is_dead(void **state)
{
	struct collector *c = producer_new_collector(0);
	struct producer newer = producer_open(c, 2);
	struct producer older = producer_open(c, 1);

	(void)state;
	collect_until_closed(c, older.slot);
	assert_int_equal(c->streams.at[newer.slot].state, STREAM_OPEN);
	assert_int_equal(c->streams.at[older.slot].state, STREAM_CLOSED);
	collect_free(c);
}

static void of_two_slots_of_one_thread_none_is_dead_before_it_says_so(void **state)
{
	struct collector *c = producer_new_collector(0);
	struct producer first = producer_open(c, 1);
	struct producer second = producer_open(c, 1);

	(void)state;
	(void)collect_run(c, 200 * MS, NULL);
	assert_int_equal(c->streams.at[first.slot].state, STREAM_OPEN);
	assert_int_equal(c->streams.at[second.slot].state, STREAM_OPEN);
	producer_end(&first, get_ticks(&c->map));
	collect_until_closed(c, first.slot);
	assert_int_equal(c->streams.at[first.slot].state, STREAM_CLOSED);
	assert_int_equal(c->streams.at[second.slot].state, STREAM_OPEN);
	collect_free(c);
}

struct watched {
	struct segment_header *header;
	_Atomic bool is_over;  /* by the watcher, for the one that collects */
	_Atomic uint32_t runs; /* by the one that collects; what counts is seen within one */
	bool is_well;
};

static void *watch_header(void *argument)
{
	struct watched *watched = argument;
	uint64_t beat = atomic_load(&watched->header->heartbeat);
	uint64_t slept = 0, beats = 0;
	uint32_t run = 0;

	for (uint32_t i = 0; i < 1000 * PATIENCE_S && !watched->is_well; i++) {
		if (run != atomic_load(&watched->runs)) {
			run = atomic_load(&watched->runs);
			slept = beats = 0;
		}
		(void)usleep(1000);
		slept += atomic_load(&watched->header->sleeping);
		beats += atomic_load(&watched->header->heartbeat) != beat;
		beat = atomic_load(&watched->header->heartbeat);
		watched->is_well = slept > 0 && beats > 5;
	}
	atomic_store(&watched->is_over, true);
	return NULL;
}

static void an_idle_collector_sleeps_and_its_heart_beats(void **state)
{
	struct collector *c = producer_new_collector(0);
	struct watched watched = {.header = c->map.header};
	pthread_t thread;

	(void)state;
	atomic_store(&c->map.header->waiting, 1); /* by one that is gone */
	assert_int_equal(pthread_create(&thread, NULL, watch_header, &watched), 0);
	while (!atomic_load(&watched.is_over)) {
		atomic_fetch_add(&watched.runs, 1);
		(void)collect_run(c, 700 * MS, NULL);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(watched.is_well);
	collect_free(c);
}

static void the_status_says_where_things_stand(void **state)
{
	struct collector *c = producer_new_collector(0);
	struct producer one = producer_open(c, 1);
	struct collect_status status;

	(void)state;
	producer_alloc(&one, 10, 16, 100, 1);
	producer_alloc(&one, 20, 32, 50, 1);
	producer_free(&one, 30, 16);
	producer_drain(c);
	collect_get_status(c, &status);
	assert_int_equal(status.events, 3);
	assert_int_equal(status.live_bytes, 50);
	assert_int_equal(status.live_blocks, 1);
	assert_int_equal(status.peak_bytes, 150);
	assert_int_equal(status.allocations, 2);
	assert_int_equal(status.frees, 1);
	assert_int_equal(status.threads_live, 1);
	assert_int_equal(status.lost_events, 0);
	assert_true(status.elapsed_ns >= MS);
	collect_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_published_is_lost_when_the_target_is_killed),
		cmocka_unit_test(the_end_of_the_recording_stands_still),
		cmocka_unit_test(an_exec_is_noticed),
		cmocka_unit_test(a_target_that_is_slow_to_begin_is_not_taken_for_another),
		cmocka_unit_test(given_an_order_then_stacks_are_looked_at_where_they_are),
		cmocka_unit_test(given_a_guard_inside_of_its_map_then_a_stack_ends_there),
		cmocka_unit_test(given_an_order_in_the_last_round_then_it_is_answered),
		cmocka_unit_test(a_quiet_target_is_not_taken_for_gone),
		cmocka_unit_test(an_abandoned_recording_ends_with_all_it_has),
		cmocka_unit_test(the_resident_size_is_seen),
		cmocka_unit_test(an_unreadable_rest_of_a_dead_target_is_counted),
		cmocka_unit_test(it_stops_when_told),
		cmocka_unit_test(what_was_published_counts_when_it_is_stopped),
		cmocka_unit_test(it_comes_back_after_the_tick),
		cmocka_unit_test(a_thread_that_dies_without_a_word_is_found_out),
		cmocka_unit_test(of_two_slots_with_one_thread_id_the_older_is_dead),
		cmocka_unit_test(of_two_slots_of_one_thread_none_is_dead_before_it_says_so),
		cmocka_unit_test(an_idle_collector_sleeps_and_its_heart_beats),
		cmocka_unit_test(the_status_says_where_things_stand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
