/* thread.c -- birth and death of a thread's recording state.
 * Runs: any thread of the target, inside malloc; thread_end in the thread's last destructors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/thread.h"

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "capture/host.h"
#include "capture/light.h"
#include "capture/orders.h"
#include "capture/python.h"
#include "capture/ring.h"
#include "capture/shadow.h"
#include "capture/stamp.h"
#include "format/clock.h"

/* The tls_model attribute keeps access a plain load: __tls_get_addr could call malloc. */
_Thread_local struct thread *thread_self __attribute__((tls_model("initial-exec"))) = &thread_none;
struct thread thread_none;

/* Outlives the thread's state: a thread that allocates after its end comes back as the same thread.
 */
static _Thread_local uint32_t thread_serial __attribute__((tls_model("initial-exec")));

/* So does the name that the program has given it. */
static _Thread_local char own_name[SEGMENT_NAME_BYTES] __attribute__((tls_model("initial-exec")));

/* A signal handler that allocates while its thread is being attached must not attach it too. */
static _Thread_local bool attaching __attribute__((tls_model("initial-exec")));

struct process *process;

static pthread_key_t end_key;
static bool has_end_key;

/* Where all that is mapped is locked, the kernel would bring all pages in: what cannot be accessed
 * stays out. */
static void *map_unlocked(size_t bytes)
{
	long at = HOST_CALL6(SYS_mmap, 0, bytes, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at < 0 && at > -4096)
		return NULL;
	(void)HOST_CALL2(SYS_munlock, at, bytes);
	if (HOST_CALL3(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE) == 0)
		return (void *)at; /* NOLINT: the kernel's answer */
	(void)HOST_CALL2(SYS_munmap, at, bytes);
	return NULL;
}

/* Private memory that a fork child finds wiped, and core dumps leave out. */
static void *map_wiped(size_t bytes)
{
	/* Pairs with nothing: what is mapped at the same moment may be locked. */
	bool is_locked = process && atomic_load(&process->locks_future);
	void *at = is_locked ? map_unlocked(bytes) : host_map(bytes);

	if (at) {
		(void)HOST_CALL3(SYS_madvise, at, bytes, MADV_WIPEONFORK);
		(void)HOST_CALL3(SYS_madvise, at, bytes, MADV_DONTDUMP);
	}
	return at;
}

bool thread_init_process(void)
{
	process = map_wiped(sizeof(struct process));
	return process != NULL;
}

void thread_wipe(void)
{
	struct thread *t = thread_self;

	if (t != &thread_none)
		*t = (struct thread){0};
	if (process)
		__builtin_memset(process, 0, sizeof(*process));
	thread_self = &thread_none;
}

void thread_forget(void)
{
	thread_self = &thread_none;
	thread_serial = 0;
}

bool thread_has_ended(void)
{
	return thread_serial != 0;
}

static void note_name(struct segment_slot *slot)
{
	char name[SEGMENT_NAME_BYTES] = {0};

	atomic_store_explicit(&slot->named, own_name[0] != '\0', memory_order_relaxed);
	if (own_name[0])
		__builtin_memcpy(slot->name, own_name, sizeof(own_name));
	else if (HOST_CALL2(SYS_prctl, PR_GET_NAME, name) == 0)
		__builtin_memcpy(slot->name, name, sizeof(name));
}

void thread_set_name(struct thread *t, const char *name)
{
	size_t used = 0;

	for (; name && name[used] && used < sizeof(own_name) - 1; used++)
		own_name[used] = name[used];
	__builtin_memset(own_name + used, 0, sizeof(own_name) - used);
	note_name(t->slot);
}

/* The private state that goes with a slot; blocks of them are mapped as they are needed. */
static struct thread *state_of(uint32_t slot_index)
{
	uint32_t block = slot_index / PROCESS_THREADS_PER_BLOCK;
	size_t bytes = process->thread_bytes * PROCESS_THREADS_PER_BLOCK;

	if (block >= PROCESS_BLOCKS)
		return NULL;
	char *at = atomic_load_explicit(&process->blocks[block], memory_order_acquire);
	if (!at) {
		char *fresh = map_wiped(bytes);

		if (!fresh)
			return NULL;
		/* Pairs with the acquire above: whoever comes second uses the first one's block. */
		if (atomic_compare_exchange_strong(&process->blocks[block], &at, fresh))
			at = fresh;
		else
			(void)HOST_CALL2(SYS_munmap, fresh, bytes);
	}
	return (struct thread *)(void *)(at + process->thread_bytes *
						      (slot_index % PROCESS_THREADS_PER_BLOCK));
}

static void init_state(struct thread *t, uint32_t slot_index)
{
	uint32_t depth = process->max_depth;
	char *arrays = (char *)t + sizeof(*t);
	/* The leaf ends of the thread that was here before stay, and know its memo's serials. */
	uint64_t serial = t->memo.serial;

	/* Arrays, cfi and window need no zeroing: leave their pages untouched until used. */
	__builtin_memset(t, 0, offsetof(struct thread, window));
	t->slot = process_slot(slot_index);
	t->slot_index = slot_index;
	t->clock = process->header->clock;
	t->clock_base = process->header->clock_base;
	t->max_depth = depth;
	memo_init(&t->memo, depth, arrays);
	t->memo.serial = serial + 1;
	arrays += memo_bytes(depth);
	arrays += -(uintptr_t)arrays % _Alignof(struct shortcut_table);
	t->shortcuts = (struct shortcut_table *)(void *)arrays;
	arrays += sizeof(*t->shortcuts);
	arrays += -(uintptr_t)arrays % _Alignof(struct shortcut_table);
	t->python = (struct python_thread *)(void *)arrays;
	arrays += python_bytes(depth);
	t->frames = (uint32_t *)(void *)arrays;
}

static void init_slot(struct thread *t)
{
	struct segment_slot *slot = t->slot;
	int tid = host_gettid();

	bool is_back = thread_serial != 0;

	if (!is_back)
		thread_serial = atomic_fetch_add(&process->header->next_serial, 1) + 1;
	if (thread_serial > 1)
		stamp_order();
	else if (is_back)
		stamp_settle();
	slot->tid = (uint32_t)tid;
	stackrange_init(&t->stack, tid == process->pid);
	atomic_store_explicit(&slot->head, 0, memory_order_relaxed);
	slot->serial = thread_serial;
	slot->start_ticks = clock_read(t->clock) - t->clock_base;
	atomic_store_explicit(&slot->end_ticks, 0, memory_order_relaxed);
	slot->stack_high = t->stack.high;
	note_name(slot);
	atomic_store_explicit(&slot->losses.lost_events, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->losses.truncated_stacks, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->losses.reentrant_calls, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->losses.failed_allocations, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->losses.unwind_failures, 0, memory_order_relaxed);
	/* Nobody reads the slot yet. */
	__builtin_memset(&slot->totals, 0, sizeof(slot->totals));
}

static bool attach(void)
{
	uint32_t index = ring_pop_slot();
	struct thread *t = index ? state_of(index) : NULL;

	if (!t)
		return false;
	init_state(t, index);
	t->state = THREAD_STARTING;
	thread_self = t;
	init_slot(t);
	if (!ring_open(t)) {
		t->state = THREAD_OFF;
		t->limit = NULL;
		return false;
	}
	if (process->mode == SEGMENT_MODE_TAGS && !tags_open(t)) {
		t->state = THREAD_OFF;
		t->limit = NULL;
		return false;
	}
	/* Pairs with the collector's acquire: all fields above are set. */
	atomic_store_explicit(&t->slot->state, SEGMENT_SLOT_LIVE, memory_order_release);
	if (has_end_key)
		(void)pthread_setspecific(end_key, t);
	light_attach(t);
	t->state = THREAD_READY;
	atomic_signal_fence(memory_order_seq_cst);
	t->limit = t->chunk_limit;
	return true;
}

bool thread_attach(void)
{
	if (attaching)
		return false;
	attaching = true;
	atomic_signal_fence(memory_order_seq_cst);
	bool attached = attach();

	atomic_signal_fence(memory_order_seq_cst);
	attaching = false;
	return attached;
}

/* Hands the slot to the collector. */
static void end(struct thread *t)
{
	t->limit = NULL;
	t->state = THREAD_OFF;
	atomic_signal_fence(memory_order_seq_cst);
	thread_self = &thread_none;
	light_end(t);
	note_name(t->slot);
	atomic_store_explicit(&t->slot->end_ticks, clock_read(t->clock) - t->clock_base,
			      memory_order_relaxed);
	/* Pairs with the collector's acquire; from here on the slot is its. */
	atomic_store_explicit(&t->slot->state, SEGMENT_SLOT_ENDED, memory_order_release);
}

void thread_abandon(struct thread *t)
{
	shortcut_forget_ends(
		t->shortcuts); /* the next thread in this place gets the table as it is */
	end(t);
}

/* As the collector wanted it when we began. */
static bool looks_at_ends;

void thread_look_at_ends(bool wanted)
{
	looks_at_ends = wanted;
}

/* Other destructors may allocate after us, in this round or the next, so we ask to be called again
 * until the last round; whatever comes even later attaches anew under the same serial. */
static void thread_end(void *argument)
{
	struct thread *t = argument;

	if (t != thread_self || t->state != THREAD_READY)
		return;
	if (++t->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(end_key, t) == 0)
		return;
	shadow_end(t);
	if (looks_at_ends)
		orders_await_look(false);
	t = thread_self; /* another one if that has found out that the last hook was cut off */
	if (t->state != THREAD_READY)
		return;
	if (thread_is_busy(t))
		thread_abandon(t); /* a handler has jumped out of its last hook */
	else
		end(t);
}

void thread_init_key(void)
{
	if (!has_end_key)
		has_end_key = pthread_key_create(&end_key, thread_end) == 0;
}
