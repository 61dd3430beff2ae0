/* thread.h -- the state of a thread and of the process, as the hooks see them.
 * Runs: anywhere in the target, inside malloc, maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both live in private memory that the kernel wipes in a fork child (MADV_WIPEONFORK). All-zero
 * state is valid and means "not started", so a child that was forked at any moment, by whatever
 * call, leaves the hot path at its first event instead of writing into its parent's segment. */
#ifndef MIDDEN_CAPTURE_THREAD_H
#define MIDDEN_CAPTURE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/cfi.h"
#include "capture/cfi_copy.h"
#include "capture/memo.h"
#include "capture/shortcut.h"
#include "capture/stackrange.h"
#include "capture/tags.h"
#include "capture/unwatched.h"
#include "format/segment.h"

struct python_quick;
struct python_thread;

enum thread_state {
	THREAD_NEW = 0,
	THREAD_STARTING, /* being attached: a signal handler's malloc passes through */
	THREAD_READY,
	THREAD_OFF,    /* the recording has ended for this process */
	THREAD_ORPHAN, /* a copy in a fork child, for a hook that its parent began: orphan.h */
};

/* What an orphan's limit is once the hook has been left; no pos is less, and no frame is there. */
#define THREAD_ORPHAN_LEFT  ((uint64_t *)1)

#define THREAD_FAILED	    ((void *)1) /* no block has this address */ /* NOLINT */
#define THREAD_WINDOW_WORDS 256 /* stack words fetched at once where plain reads are not safe */

/* What a thread has done without recording it: a cache line of its own, so that a call writes two
 * lines and no more. */
struct thread_light {
	uint64_t calls[SEGMENT_API_KINDS];
	uint64_t frees;
	uint64_t reallocations;
};

/* How a thread takes samples. */
struct thread_sampler {
	uint64_t random;  /* the generator's state */
	uint64_t period;  /* the allowance was drawn for this one */
	uint64_t told;	  /* the collector knows of this one */
	uint64_t granted; /* what the allowance was at first */
	uint64_t spent;	  /* of the allowances before, and by samples */
	uint64_t masked;  /* the allowance, while it is set aside: light.c */
	void *last;	  /* the last sample, and how many calls there had been then */
	uint64_t last_calls;
};

struct thread {
	/* The hot path: an event may be written while pos < limit. While a hook runs, limit is
	 * what thread_busy gives (so that a signal handler's call leaves the hot path); it is NULL
	 * in every state but READY; chunk_limit is what it is otherwise: the end of the chunk, or
	 * NULL where not everything is to be recorded (gate.h). */
	uint64_t *pos;
	uint64_t *limit;
	uint64_t *chunk_limit;
	struct segment_slot *slot;
	uint64_t position_bias; /* stream position = address of pos + position_bias */
	uint64_t clock_base;
	void *last; /* block of the last allocation event: tells a wrapper that an inner call
		       recorded it. THREAD_FAILED: it was counted as failed */
	/* What may still be allocated before a call is to be recorded, with one byte more for each:
	 * light.h. 0: every call is. */
	uint64_t allowance;

	/* The same for small objects of Python, where those are sampled (pymalloc.c); and what it
	 * was at first. */
	uint64_t small_left;
	uint64_t small_granted;

	struct thread_light light;
	uint32_t clock;
	uint32_t state;
	void *freeing; /* block whose free is recorded already, while an allocator's own delete runs
			*/

	struct tags tags;
	struct segment_tag_counts uncounted;
	uint64_t *chunk_end;  /* one past the last place where an event may begin */
	uint64_t switch_word; /* this thread's own switch: see segment_switch_later */
	uint64_t stamp;	      /* of the last event, while they are estimated, in 32nds: stamp.h */
	uint64_t stamp_end;   /* the clock is read again for the one that would reach this */
	uint64_t stamp_step;
	uint64_t stamp_read;	/* when it was read last, for more than one event */
	uint32_t stamp_hurried; /* so it was */

	uint32_t slot_index;
	uint32_t chunk;
	uint32_t spare_node; /* reserved in the stack tree, then not needed */
	uint32_t end_rounds; /* passes of the thread-exit destructor */
	uint32_t nested;     /* calls since `freeing` was set */
	struct stackrange stack;

	uint32_t max_depth;
	/* of a walk without the memo, leaf first: places with SEGMENT_NODE_*; and of its tags */
	uint32_t *frames;
	struct memo memo;
	struct shortcut_table *shortcuts;
	struct python_thread *python;
	struct python_quick *python_quick; /* in that; NULL: it has not been set up */
	uint32_t native_generation; /* of the memo, which has 0 where there is Python: see walk.c */
	struct thread_sampler sampler;

	uint64_t wide_rule; /* that which rules_build has found last: RULE_WIDE */
	bool doubtful;	    /* the walk has left a frame by its record: what follows may be stale */

	uint64_t window_start; /* of `window`; window_words of it hold */
	uint32_t window_words;
	uint64_t window[THREAD_WINDOW_WORDS];
	struct tags_entry tag_cache[TAGS_CACHE];
	struct tags_stack tag_stacks[TAGS_STACKS];
	struct cfi_work cfi;
	struct cfi_copy cfi_copy;
};

enum process_state {
	PROCESS_NEW = 0,
	PROCESS_STARTING,
	PROCESS_RECORDING,
	PROCESS_OFF,
};

/* How events are stamped. */
enum process_clock {
	PROCESS_CLOCK_ALONE = 0, /* by the counter */
	PROCESS_CLOCK_ORDERED,	 /* so too, but more than one thread has been seen */
	PROCESS_CLOCK_KERNEL,	 /* the counter is not to be trusted */
};

#define PROCESS_THREADS_PER_BLOCK 32
#define PROCESS_BLOCKS		  512

struct process {
	_Atomic uint32_t state;
	_Atomic uint32_t clock;		/* enum process_clock */
	_Atomic uint64_t ordered_ticks; /* when it became ORDERED; 0: not yet */
	_Atomic uint64_t sample_period;
	uint32_t max_depth;
	uint32_t mode;		/* enum segment_mode */
	_Atomic uint32_t marks; /* made, for those who wait for them: marks.c */
	struct segment_header *header;
	struct segment_layout layout;
	size_t thread_bytes;
	_Atomic(char *) blocks[PROCESS_BLOCKS]; /* thread states by slot index */
	int pid;
	_Atomic uint32_t python;	  /* enum python_state */
	_Atomic uint64_t switch_word;	  /* as segment_switch_later has it; 0: on */
	_Atomic uint64_t threshold;	  /* which blocks have a stack: SEGMENT_ORDER_THRESHOLD */
	_Atomic uint32_t has_begun;	  /* something may have been recorded: frees count */
	_Atomic uint32_t questions;	  /* number of the last one */
	_Atomic uint32_t shortcut_shares; /* given out: shortcut.h */
	atomic_bool locks_future;	  /* the program has asked for it: lock.c */
	atomic_bool is_vain;		  /* to ask for a look: one was not answered in time */
	uint32_t own_module;		  /* libmidden.so itself: its frames are not shown */
};

/* Never NULL: threads that are not attached share a read-only, all-zero state. */
extern _Thread_local struct thread *thread_self __attribute__((tls_model("initial-exec")));
extern struct thread thread_none HIDDEN;

/* NULL until process_init; wiped in a fork child. */
extern struct process *process HIDDEN;

/* Maps the process state; once, at the first call of a hook. False: no memory, stay a pass-through.
 */
bool thread_init_process(void);

/* Wipes the state after fork where the kernel cannot. Only the calling thread exists. */
void thread_wipe(void);

/* Lets the calling thread be a new one: in a fork child it is the only one, and numbering starts
 * over. */
void thread_forget(void);

/* Gives the calling thread a slot and a buffer. False: it has none, the event is lost (and
 * counted). */
bool thread_attach(void);

/* Whether the calling thread, which is not attached, has been. */
bool thread_has_ended(void);

/* By which the kernel is to be asked about our own memory: the process id fails once its main
 * thread has ended. Takes no system call where the thread is attached. */
static inline int thread_tid(void)
{
	uint32_t tid = thread_self->slot ? thread_self->slot->tid : 0;

	return tid ? (int)tid : host_gettid();
}

/* What `limit` is while a hook whose caller's stack pointer is `frame` makes an event: less than
 * any address in the segment, which link.c maps above these 32 bits. */
static inline UNWATCHED uint64_t *thread_busy(uint64_t frame)
{
	__asm__("" : "+r"(frame)); /* gcc 16 crashes over half of the address of a frame */
	return (uint64_t *)(uintptr_t)(uint32_t)frame; /* NOLINT: not to be followed */
}

static inline bool thread_is_busy(const struct thread *t)
{
	return (t->state == THREAD_READY || t->state == THREAD_ORPHAN) &&
	       t->limit != t->chunk_limit && (uintptr_t)t->limit <= UINT32_MAX;
}

/* Lets go of a thread's slot and state, in whatever state a hook that was cut off has left them; it
 * can attach anew. */
void thread_abandon(struct thread *t);

/* What the calling thread, which is busy, is called from now on; NULL: as the kernel says. */
void thread_set_name(struct thread *t, const char *name);

/* Whether threads wait at their end until their stacks have been looked at. */
void thread_look_at_ends(bool wanted);

/* Makes the pthread key whose destructor ends a thread's slot. */
void thread_init_key(void);

/* Addresses inside the segment. */
static inline struct segment_slot *process_slot(uint32_t index)
{
	return (struct segment_slot *)((char *)process->header + process->layout.slots_offset) +
	       index;
}

static inline struct segment_chunk *process_chunk(uint32_t index)
{
	return (struct segment_chunk *)((char *)process->header + process->layout.chunks_offset) +
	       index;
}

static inline struct segment_node *process_node(uint32_t index)
{
	return (struct segment_node *)((char *)process->header + process->layout.nodes_offset) +
	       index;
}

/* Counters of the owner: no other writer, so a load and a store do; the collector reads them
 * whenever. */
static inline void thread_count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

#endif
