/* cold.c -- the slow side of the hooks: starting, refilling, passing through.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler. Called by hot.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/cold.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "capture/boot.h"
#include "capture/environment.h"
#include "capture/family.h"
#include "capture/gate.h"
#include "capture/light.h"
#include "capture/link.h"
#include "capture/modules.h"
#include "capture/orphan.h"
#include "capture/python.h"
#include "capture/ring.h"
#include "capture/say.h"
#include "capture/thread.h"
#include "format/env.h"

/* An allocator's own free may come back to the hooks, once or twice for a block. After so many
 * calls it was left by a jump, and they are the program's. */
#define NESTED_MOST 8

/* These outlive a fork, unlike the wiped process state: they tell a child from a fresh program. */
static bool was_started;
static bool follow;
static struct segment_header *parent_segment;
static uint64_t parent_segment_bytes;

static bool is_switched_off(void)
{
	const char *mode = environment_find(ENV_MODE);

	/* A program with more rights than its user must not start commands that the user names. */
	if (getauxval(AT_SECURE) || (mode && strcmp(mode, "off") == 0))
		return true;
	if (mode && *mode && strcmp(mode, "exact") != 0 && strcmp(mode, "sample") != 0 &&
	    strcmp(mode, "tags") != 0)
		say("MIDDEN_MODE is none of exact, sample, tags and off: taken as exact");
	return false;
}

static void begin(struct segment_header *h)
{
	struct process *p = process;
	size_t depth = h->max_depth < 8 ? 8 : h->max_depth;

	p->header = h;
	p->layout = h->layout;
	atomic_store(&p->switch_word, h->delayed != 0);
	atomic_store(&p->has_begun, h->delayed == 0);
	p->max_depth = (uint32_t)depth;
	p->mode = h->mode;
	p->pid = host_getpid();
	atomic_store(&p->clock, h->clock == SEGMENT_CLOCK_COUNTER ? PROCESS_CLOCK_ALONE
								  : PROCESS_CLOCK_KERNEL);
	p->thread_bytes = sizeof(struct thread) + memo_bytes((uint32_t)depth) +
			  _Alignof(struct shortcut_table) + sizeof(struct shortcut_table) +
			  python_bytes((uint32_t)depth) +
			  (depth + 1 + TAGS_FRAMES) * sizeof(uint32_t);
	p->thread_bytes = (p->thread_bytes + 4095) & ~(size_t)4095;
	follow = h->follow != 0;
	parent_segment = h;
	parent_segment_bytes = h->layout.total_bytes;
	thread_init_key();
	light_begin(h);
	modules_init();
	family_find_areas();
	p->own_module = modules_find_own();
	python_seek();
	atomic_store_explicit(&h->target_state, SEGMENT_TARGET_RECORDING, memory_order_release);
	atomic_store_explicit(&p->state, PROCESS_RECORDING, memory_order_release);
}

static void stay_off(void)
{
	process->pid = host_getpid();
	light_begin(NULL);
	atomic_store(&process->state, PROCESS_OFF);
}

void cold_stay_off(const char *why)
{
	was_started = true;
	say_init();
	/* A recorder tells it better, and knows what the user wants to hear. */
	if (!is_switched_off() && !environment_find(ENV_SOCKET))
		say(why);
	if (thread_init_process())
		stay_off();
}

static void start(bool forked)
{
	struct segment_header *h = NULL;
	enum link_result result = LINK_REFUSED;

	if (!was_started)
		say_init();
	was_started = true;
	if (!forked || follow)
		result = is_switched_off() ? LINK_REFUSED : link_open(forked, &h);
	if (result == LINK_READY)
		begin(h);
	else
		stay_off();
}

/* The parent's segment is still mapped in a fork child; nothing may be written there. */
static void leave_parent_segment(void)
{
	if (parent_segment)
		(void)HOST_CALL2(SYS_munmap, parent_segment, parent_segment_bytes);
	parent_segment = NULL;
	thread_forget();
	modules_reset();
}

void cold_start(void)
{
	uint32_t fresh = PROCESS_NEW;
	bool forked = was_started;
	int saved = errno;

	if (orphan_is_forking())
		return;
	if (!process && !thread_init_process())
		return;
	if (!atomic_compare_exchange_strong(&process->state, &fresh, PROCESS_STARTING))
		return;
	if (!boot_resolve()) { /* inside dlsym: the next call will do */
		atomic_store(&process->state, PROCESS_NEW);
		return;
	}
	if (forked)
		leave_parent_segment();
	start(forked);
	errno = saved;
}

void cold_after_fork(struct orphan *copy)
{
	if (copy) {
		orphan_adopt(copy, parent_segment, parent_segment_bytes);
		return;
	}
	/* A handler of pthread_atfork may have allocated, and the child been started by it. */
	if (process && atomic_load(&process->state) != PROCESS_NEW && process->pid == host_getpid())
		return;
	uint64_t blocked = host_block_signals();
	thread_wipe();
	cold_start();
	host_set_signals(blocked);
}

static void count_lost(struct thread *t)
{
	struct segment_header *h = process->header;

	if (t != &thread_none && t->slot)
		thread_count(&t->slot->losses.lost_events);
	else if (h)
		atomic_fetch_add_explicit(&h->losses.lost_events, 1, memory_order_relaxed);
}

bool cold_attach(void)
{
	int saved = errno;
	uint64_t blocked = host_block_signals();
	bool attached = thread_attach();

	host_set_signals(blocked);
	errno = saved;
	return attached;
}

static bool attach_for_event(void)
{
	bool attached = cold_attach();

	if (!attached)
		count_lost(thread_self);
	return attached;
}

NOINLINE void cold_put_big(struct thread *t, void *block, size_t bytes, uint32_t what,
			   uint64_t node)
{
	uint64_t *at = t->pos;

	at[0] = hot_word(t, (what & 15u) + 1, what >> 4); /* ALLOC_BIG, RESIZED_BIG */
	at[1] = (uint64_t)(uintptr_t)block;
	at[2] = node;
	at[3] = bytes;
	hot_publish(t, at + 4);
}

NOINLINE bool cold_refill(struct thread *t)
{
	if (t->state == THREAD_READY && t->pos < t->chunk_end)
		return true; /* a thread with a gate: there is room */
	if (t->state == THREAD_READY &&
	    atomic_load_explicit(&process->state, memory_order_relaxed) == PROCESS_RECORDING &&
	    ring_refill(t) && t->state == THREAD_READY)
		return true;
	if (t->state == THREAD_READY) {
		t->state = THREAD_OFF;
		t->limit = NULL;
		count_lost(t);
	} else if (t->state == THREAD_ORPHAN) {	     /* a fork came in between */
		t->chunk_limit = THREAD_ORPHAN_LEFT; /* the refill may have gone through */
		t->limit = t->chunk_limit;
	} else {
		t->limit = NULL; /* wiped, by a fork just before the thread was busy */
	}
	return false;
}

/* A thread in no state to record: not attached, or wiped by a fork. */
static bool enter_new(void)
{
	if (!process || atomic_load(&process->state) == PROCESS_NEW)
		cold_start();
	if (!process)
		return false;
	if (atomic_load(&process->state) == PROCESS_RECORDING)
		return attach_for_event();
	count_lost(&thread_none); /* where a recording has ended early; nowhere if there was none */
	return false;
}

bool cold_is_on_signal_stack(void)
{
	stack_t stack = {0};

	return HOST_CALL2(SYS_sigaltstack, 0, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

bool cold_has_left(struct thread *t, uint32_t hook, uint64_t frame)
{
	uint32_t outwards = (uint32_t)frame - hook;

	/* The hook may have been the first one so far in, and not have come to its walk. */
	return outwards <= (uint32_t)INT32_MAX && stackrange_covers(&t->stack, frame) &&
	       !cold_is_on_signal_stack();
}

/* Whether the hook that keeps the thread busy is gone. */
static bool is_cut_off(struct thread *t, uint64_t frame)
{
	return cold_has_left(t, (uint32_t)(uintptr_t)t->limit, frame);
}

/* In a fork child whose thread has left the hook that its parent began: begins as any child. */
static bool leave_orphan(void)
{
	uint64_t blocked = host_block_signals();

	thread_self = &thread_none;
	__builtin_memset(process, 0, sizeof(*process));
	cold_start();
	host_set_signals(blocked);
	return enter_new();
}

/* What it was about to record is lost. */
static void leave_cut_off(struct thread *t)
{
	uint64_t blocked = host_block_signals();

	count_lost(t);
	thread_abandon(t);
	host_set_signals(blocked);
}

/* Whether a call on a busy thread is part of another that has been recorded, and no signal
 * handler's. */
static bool is_allocators_own(struct thread *t, uint64_t pc)
{
	return t->freeing && family_holds(pc) && ++t->nested <= NESTED_MOST;
}

NOINLINE bool cold_enter(uint64_t frame, uint64_t pc)
{
	struct thread *t = thread_self;

	switch (t->state) {
	case THREAD_NEW:
		return enter_new();
	case THREAD_READY:
		if (!thread_is_busy(t))
			return true; /* the chunk is full: hot_enter sees to it */
		if (is_cut_off(t, frame)) {
			leave_cut_off(t);
			return enter_new();
		}
		if (!is_allocators_own(t, pc))
			thread_count(&t->slot->losses.reentrant_calls);
		return false;
	case THREAD_ORPHAN:
		return (!thread_is_busy(t) || is_cut_off(t, frame)) && leave_orphan();
	case THREAD_STARTING:
		thread_count(&t->slot->losses.reentrant_calls);
		return false;
	default:
		count_lost(t);
		return false;
	}
}

bool cold_mask(void *block, uint64_t frame)
{
	struct thread *t = thread_self;

	if (t->state != THREAD_READY || thread_is_busy(t))
		return false;
	t->freeing = block;
	t->nested = 0;
	t->limit = thread_busy(frame);
	return true;
}

void cold_unmask(bool masked)
{
	struct thread *t = thread_self;

	if (masked && thread_is_busy(t)) {
		t->freeing = NULL;
		t->limit = t->chunk_limit;
	}
}

NOINLINE void cold_failed(void)
{
	struct thread *t = thread_self;

	if (t->state == THREAD_NEW && !cold_enter(0, 0))
		return;
	t = thread_self;
	if (!t->slot || !gate_is_on(t))
		return;
	thread_count(&t->slot->losses.failed_allocations);
	t->last = THREAD_FAILED;
}

NOINLINE void *cold_fail(void)
{
	cold_failed();
	return NULL;
}
