/* walked.h -- the stack as the room walks it, beside the one that glibc's backtrace() finds.
 * Runs: in the unit tests of the walk.
 * SPDX-License-Identifier: Apache-2.0
 *
 * backtrace() uses the unwinder of libgcc, which shares no code with ours. */
#ifndef MIDDEN_TESTS_CAPTURE_WALKED_H
#define MIDDEN_TESTS_CAPTURE_WALKED_H

#include "fixture.h"

#include <execinfo.h>
#include <sys/uio.h>

#include "capture/host.h"
#include "capture/walk.h"

enum { WALKED_DEPTH = 256, WALKED_ROOM = 1024 };

struct walked {
	uint32_t node;
	uint32_t count;
	struct walk_frame frames[WALKED_ROOM];
	uint32_t reference_count;
	uint64_t reference[WALKED_ROOM];
};

static struct walked walked;

/* Before calls that the compiler would otherwise see as one. */
#define WALKED_LINE(n) __asm__ volatile("" : : "i"(n))

/* Work after each call, so that none of them becomes a jump. */
static volatile unsigned walked_sink;

/* What backtrace() finds from the frame at `pc` on; a sanitizer may have put its own before it. */
static inline void walked_ask_backtrace(struct walked *to, uint64_t pc)
{
	static void *found[WALKED_ROOM];
	int count = backtrace(found, WALKED_ROOM), first = 0;

	while (first < count && (uint64_t)(uintptr_t)found[first] != pc)
		first++;
	to->reference_count = (uint32_t)(count - first);
	for (uint32_t i = 0; i < to->reference_count; i++)
		to->reference[i] = (uint64_t)(uintptr_t)found[(uint32_t)first + i];
}

/* Stands for a hook: its caller is the leaf of the stack. */
static NOINLINE void walked_take(struct walked *to)
{
	struct walk_start start = WALK_START();

	fixture_unpoison_stack();
	to->node = walk_tagged(thread_self, &start);
	to->count = fixture_read_stack(to->node, to->frames, WALKED_ROOM);
	walked_ask_backtrace(to, start.pc);
	walked_sink++;
}

static __attribute__((noinline, unused)) void walked_take_here(void)
{
	walked_take(&walked);
	walked_sink++;
}

/* Both must agree from the hook's caller to the outermost frame. */
static inline void walked_check(const struct walked *w)
{
	assert_true(w->reference_count > 1);
	for (uint32_t i = 0; i < w->count && i < w->reference_count; i++)
		assert_int_equal(w->frames[i].pc, w->reference[i]);
	assert_int_equal(w->count, w->reference_count);
}

static inline void walked_begin(void)
{
	void *unused[4];

	(void)backtrace(unused,
			4); /* loads its library, which must not happen in a signal handler */
	FIXTURE_BEGIN(.max_depth = WALKED_DEPTH);
	assert_true(cold_enter(0, 0));
}

static inline uint64_t walked_truncated(void)
{
	return atomic_load(&thread_self->slot->losses.truncated_stacks);
}

/* From here on nothing is known of the thread's stack: every read goes through the kernel, no
 * walk is remembered. */
static inline void walked_forget_stack(void)
{
	thread_self->stack = (struct stackrange){0};
}

/* Emulators may lack the system call that reads what a plain read may not touch. */
static inline bool walked_can_read_far(void)
{
	uint64_t from = 7, to = 0;
	struct iovec local = {.iov_base = &to, .iov_len = 8};
	struct iovec remote = {.iov_base = &from, .iov_len = 8};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 8 && to == 7;
}

/* ---- ways down ------------------------------------------------------------------------------- */

#define WALKED_WAY __attribute__((noinline, unused))

static WALKED_WAY void walked_recurse(unsigned depth, void (*function)(void))
{
	if (depth == 0)
		function();
	else
		walked_recurse(depth - 1, function);
	walked_sink++;
}

static WALKED_WAY void walked_recurse_big(unsigned depth, void (*function)(void))
{
	volatile char room[5000];

	room[depth] = 1;
	if (depth == 0)
		function();
	else
		walked_recurse_big(depth - 1, function);
	walked_sink += (unsigned)room[depth];
}

/* Frames whose size is not known to the compiler. */
static WALKED_WAY void walked_recurse_alloca(unsigned depth, void (*function)(void))
{
	volatile char *room = __builtin_alloca(depth * 40 + walked_sink % 16 + 1);

	room[0] = 1;
	if (depth == 0)
		function();
	else
		walked_recurse_alloca(depth - 1, function);
	walked_sink += (unsigned)room[0];
}

/* The same on a realigned stack: on x86_64 the CFA itself is then kept in memory. */
static WALKED_WAY void walked_recurse_realigned(unsigned depth, void (*function)(void))
{
	_Alignas(64) volatile char aligned[64];
	volatile char *room = __builtin_alloca(depth * 40 + walked_sink % 16 + 1);

	room[0] = aligned[depth] = 1;
	if (depth == 0)
		function();
	else
		walked_recurse_realigned(depth - 1, function);
	walked_sink += (unsigned)(room[0] + aligned[depth]);
}

#endif
