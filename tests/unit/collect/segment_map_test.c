/* segment_map_test.c -- the making of a segment: sizes, limits, seals. Runs: as a test program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/segment_map.h"
#include "producer.h"

#define MIB (UINT64_C(1) << 20)

/* In place of libc's: a file on the disk, where a test asks for one. */
static bool gives_file;

int memfd_create(const char *name, unsigned flags)
{
	if (gives_file)
		return open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return (int)syscall(SYS_memfd_create, name, flags);
}

static void without_a_limit_the_sizes_are_generous(void **state)
{
	struct segment_layout l;
	uint64_t buffer_bytes = 4 * MIB;
	struct error e = {0};

	(void)state;
	assert_int_equal(segment_map_plan(&l, &buffer_bytes, UINT64_MAX, &e), 0);
	assert_int_equal(l.slot_count, 16384);
	assert_int_equal(l.node_count, 8388608);
	assert_int_equal(l.chunk_count, 256 + 16384);
	assert_int_equal(buffer_bytes, 4 * MIB);
}

static void a_small_address_space_gets_a_small_segment(void **state)
{
	(void)state;
	for (uint64_t limit = 128 * MIB; limit <= 8192 * MIB; limit *= 2) {
		struct segment_layout l;
		uint64_t buffer_bytes = 64 * MIB;
		struct error e = {0};

		assert_int_equal(segment_map_plan(&l, &buffer_bytes, limit, &e), 0);
		assert_true(l.total_bytes <= limit / 8);
		assert_true(buffer_bytes >= MIB);
		assert_true(l.chunk_count >= buffer_bytes / SEGMENT_CHUNK_BYTES + l.slot_count);
	}
}

static void a_tiny_address_space_is_refused_with_a_reason(void **state)
{
	struct segment_layout l;
	uint64_t buffer_bytes = MIB;
	struct error e = {0};

	(void)state;
	assert_int_equal(segment_map_plan(&l, &buffer_bytes, 16 * MIB, &e), -1);
	assert_non_null(strstr(e.text, "16 MiB"));
	assert_non_null(strstr(e.text, "ulimit -v"));
}

static void the_segment_cannot_be_resized(void **state)
{
	struct collector *c = producer_new_collector(0);

	(void)state;
	assert_non_null(c);
	assert_true(ftruncate(collect_get_fd(c), 4096) < 0);
	assert_true(ftruncate(collect_get_fd(c), INT64_C(1) << 40) < 0);
	assert_int_equal(fcntl(collect_get_fd(c), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	collect_close_fd(c);
	assert_int_equal(collect_get_fd(c), -1);
	collect_free(c);
}

/* The maps of a process may show another one. */
static void a_file_in_place_of_a_memfd_has_no_inode_to_go_by(void **state)
{
	struct segment_map m;
	struct segment_layout l;
	uint64_t buffer_bytes = MIB;
	struct error e = {0};

	(void)state;
	assert_int_equal(segment_map_plan(&l, &buffer_bytes, 256 * MIB, &e), 0);
	assert_int_equal(segment_map_open(&m, &l, &e), 0);
	assert_int_not_equal(m.inode, 0);
	segment_map_close(&m);
	gives_file = true;
	assert_int_equal(segment_map_open(&m, &l, &e), 0);
	gives_file = false;
	assert_int_equal(m.inode, 0);
	segment_map_close(&m);
}

static void the_header_is_ready_for_the_target(void **state)
{
	struct collector *c = producer_new_collector(0);
	const struct segment_header *h = c->map.header;

	(void)state;
	assert_int_equal(h->magic, SEGMENT_MAGIC);
	assert_int_equal(h->version, SEGMENT_VERSION);
	assert_int_equal(h->clock, SEGMENT_CLOCK_MONOTONIC);
	assert_int_equal(h->clock_base, c->clock.base);
	assert_int_equal(h->max_depth, 512);
	assert_int_equal(h->patience_ms, 2000);
	assert_int_equal(h->collector_pid, getpid());
	assert_memory_equal(&h->layout, &c->map.layout, sizeof(h->layout));
	assert_int_equal(atomic_load(&h->chunk_limit),
			 64 + 64); /* 1 MiB, and 64 for threads to come */
	collect_free(c);
}

static void a_file_size_limit_is_reported_not_suffered(void **state)
{
	struct rlimit old, low;
	struct segment_map m;
	struct segment_layout l;
	uint64_t buffer_bytes = MIB;
	struct error e = {0};

	(void)state;
	assert_int_equal(segment_map_plan(&l, &buffer_bytes, UINT64_MAX, &e), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(segment_map_open(&m, &l, &e), -1);
	assert_non_null(strstr(e.text, "ulimit -f"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_the_sizes_are_generous),
		cmocka_unit_test(a_small_address_space_gets_a_small_segment),
		cmocka_unit_test(a_tiny_address_space_is_refused_with_a_reason),
		cmocka_unit_test(the_segment_cannot_be_resized),
		cmocka_unit_test(a_file_in_place_of_a_memfd_has_no_inode_to_go_by),
		cmocka_unit_test(the_header_is_ready_for_the_target),
		cmocka_unit_test(a_file_size_limit_is_reported_not_suffered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
