/* shadow.c -- which functions a thread is in, as they say themselves (-finstrument-functions).
 * Runs: any thread of the target, in the functions that its compiler calls on entry and exit, maybe
 * in a signal handler.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions are not exported: references to them are replaced at start-up (relink.c), so that a
 * program that is recorded without them never comes here, and another library that wants to know
 * is told as before.
 *
 * Nothing here keeps the thread busy (hot.h) but what is rare: a signal handler that interrupts us
 * may allocate, and is recorded with a stack that is walked. */
#include "capture/shadow.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "capture/cold.h"
#include "capture/host.h"
#include "capture/modules.h"
#include "capture/relink.h"
#include "capture/shadow_depth.h"

#define ROOM_FIRST 1024u	  /* frames: 64 KiB, touched as used */
#define ROOM_MOST  (1u << 20)	  /* of the least size they fill 48 MiB of stack */
#define PAGE_MASK  UINT64_C(4095) /* no system has smaller pages */

_Thread_local struct shadow *shadow_self __attribute__((tls_model("initial-exec")));
bool shadow_is_on;

/* That of threads that have ended: it is busy for good. */
static struct shadow no_shadow = {.busy = UINT64_MAX};

/* What was there before us, if it is more than libc's empty functions. */
typedef void notify(void *function, void *call_site);
static notify *next_enter;
static notify *next_leave;

/* ---- memory ---------------------------------------------------------------------------------- */

static void *map_frames(uint32_t room)
{
	size_t bytes = room * sizeof(struct shadow_frame);
	void *at = host_map(bytes);

	if (at)
		(void)HOST_CALL3(SYS_madvise, at, bytes, MADV_DONTDUMP);
	return at;
}

static void unmap_frames(struct shadow_frame *frames, uint32_t room)
{
	if (frames)
		(void)HOST_CALL2(SYS_munmap, frames, room * sizeof(*frames));
}

static void forget_process(struct shadow *s)
{
	s->known = s->same = s->deepest_count = 0;
	s->is_new = false;
	s->lowest = s->deepest_sp = s->told_sp =
		UINT64_MAX; /* how deep the parent was is its own */
	s->pid = process->pid;
	atomic_store_explicit(&process->header->entered, 1, memory_order_relaxed);
}

static NOINLINE struct shadow *new_shadow(void)
{
	struct shadow *s = host_map(sizeof(*s));

	if (!s)
		return NULL;
	s->frames = map_frames(ROOM_FIRST);
	s->deepest = map_frames(ROOM_FIRST);
	if (!s->frames || !s->deepest) {
		unmap_frames(s->frames, ROOM_FIRST);
		unmap_frames(s->deepest, ROOM_FIRST);
		(void)HOST_CALL2(SYS_munmap, s, sizeof(*s));
		return NULL;
	}
	s->room = ROOM_FIRST;
	forget_process(s);
	return s;
}

static bool move_frames(struct shadow_frame **frames, uint32_t room, uint32_t wanted)
{
	long at = HOST_CALL4(SYS_mremap, *frames, room * sizeof(**frames),
			     wanted * sizeof(**frames), MREMAP_MAYMOVE);

	if (at < 0 && at > -4096)
		return false;
	*frames = (struct shadow_frame *)at; /* NOLINT: the kernel's answer */
	return true;
}

/* A first one that has become larger than is said does no harm. */
static NOINLINE bool grow(struct shadow *s)
{
	uint32_t wanted = s->room * 2;

	if (wanted > ROOM_MOST || !move_frames(&s->frames, s->room, wanted) ||
	    !move_frames(&s->deepest, s->room, wanted))
		return false;
	s->room = wanted;
	return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool read_word(uint64_t address, uint64_t low, uint64_t high, uint64_t *value)
{
	if ((address & 7) || address < low || address >= high - 7)
		return false;
	*value = *(const uint64_t *)(uintptr_t)address; /* NOLINT: checked above */
	return true;
}

bool shadow_step_out(struct shadow_step *at, const struct rule *r, uint64_t high)
{
	uint64_t low = at->sp, cfa, pc, fp = at->fp;

	if (r->kind == RULE_SP)
		cfa = at->sp + r->cfa;
	else if (r->kind == RULE_FP)
		cfa = at->fp + r->cfa;
	else if (r->kind != RULE_FP_DEREF || !read_word(at->fp - r->cfa, low, high, &cfa) ||
		 !read_word(at->fp, low, high, &fp))
		return false;
	if (cfa <= low || cfa > high)
		return false;
	if (!read_word(cfa - r->ra, low, high, &pc) ||
	    (r->fp && !read_word(cfa - r->fp, low, high, &fp)))
		return false;
	at->pc = arch_strip(pc);
	at->sp = cfa;
	at->fp = fp;
	return true;
}

/* The rule of an address that is not in the cache. A malloc that was interrupted may be at the same
 * work: then it stays unknown. */
static NOINLINE struct rule build_rule(struct thread *t, const struct shadow *s, uint64_t address,
				       uint32_t generation)
{
	uint32_t place;

	if (thread_is_busy(t))
		return (struct rule){.kind = RULE_NONE};
	t->limit = thread_busy(s->busy);
	atomic_signal_fence(memory_order_seq_cst);
	t->doubtful = false;
	uint64_t rule = rules_build(t, address, generation, &place);
	struct rule r = rule_kind(rule) == RULE_WIDE ? rules_unpack(t->wide_rule) : rule_get(rule);
	atomic_signal_fence(memory_order_seq_cst);
	t->limit = t->chunk_limit;
	return r;
}

static struct rule find_rule(struct thread *t, const struct shadow *s, uint64_t address,
			     uint32_t generation)
{
	uint64_t rule;

	for (uint32_t way = 0; way < RULES_WAYS; way++)
		if (rules_is_entry(rules_entry(address, way), address, generation, &rule))
			return rule_get(rule);
	return build_rule(t, s, address, generation);
}

static bool step_out(struct thread *t, const struct shadow *s, struct shadow_step *at)
{
	uint32_t generation = atomic_load_explicit(&modules_generation, memory_order_acquire);
	const struct rule r = find_rule(t, s, at->pc - 1, generation);

	return shadow_step_out(at, &r, t->stack.high);
}

/* Where the frame of the function begins, and that of its caller. */
static void measure(struct thread *t, const struct shadow *s, struct shadow_frame *f, uint64_t fp)
{
	struct shadow_step at = {.pc = f->pc, .sp = f->sp, .fp = fp};

	f->cfa = f->sp;
	if (!step_out(t, s, &at))
		return;
	f->cfa = at.sp;
	if (step_out(t, s, &at))
		f->caller_cfa = at.sp;
}

void shadow_pop(struct shadow *s)
{
	if (unlikely(s->is_new))
		shadow_depth_keep(s);
	s->count--;
	if (s->known > s->count)
		s->known = s->count;
	if (s->same > s->count)
		s->same = s->count;
}

/* Whether a function that begins where the innermost one does was inlined into it: they return to
 * the same place, and none of those in the frame was entered by the same instruction. If one was,
 * it has been left without a word, and this is the next time. */
static bool is_inlined(const struct shadow *s, const struct shadow_frame *f)
{
	uint32_t i = s->count;

	if (s->frames[i - 1].caller_pc != f->caller_pc)
		return false;
	for (; i && s->frames[i - 1].cfa == f->cfa; i--)
		if (s->frames[i - 1].pc == f->pc)
			return false;
	return true;
}

/* Nothing lies between a frame and that which called it. False: it is on a signal stack that lies
 * further out on the thread's own, and those are not gone. */
static bool drop_gone(struct shadow *s, const struct shadow_frame *f)
{
	uint64_t outer = f->caller_cfa ? f->caller_cfa : f->cfa + 1;

	if (unlikely(s->count && s->frames[s->count - 1].cfa < outer) &&
	    !(s->frames[s->count - 1].cfa == f->cfa && is_inlined(s, f)) &&
	    cold_is_on_signal_stack())
		return false;
	while (s->count && s->frames[s->count - 1].cfa < outer) {
		if (s->frames[s->count - 1].cfa == f->cfa && is_inlined(s, f))
			break;
		shadow_pop(s);
	}
	return true;
}

static void note_depth(struct shadow *s, uint64_t sp)
{
	if (unlikely(sp < s->lowest)) {
		s->lowest = sp;
		s->is_new = true;
	}
}

static void push(struct shadow *s, const struct shadow_frame *f)
{
	if (!drop_gone(s, f) || (unlikely(s->count == s->room) && !grow(s)))
		return; /* its exit will find that it is not there */
	s->frames[s->count] = *f;
	atomic_signal_fence(memory_order_seq_cst);
	s->count++;
	note_depth(s, f->sp);
}

static inline bool is_innermost(const struct shadow *s, uint64_t sp, uint64_t function)
{
	const struct shadow_frame *top = s->count ? &s->frames[s->count - 1] : NULL;

	return top && top->sp == sp && top->function == function;
}

/* One whose stack has grown since, by alloca, or that is not the innermost one we know; or that has
 * given up its frame and jumped to us, who return to its caller then. */
static NOINLINE void pop_slowly(struct thread *t, struct shadow *s, const struct walk_start *start,
				uint64_t function, uint64_t caller_pc)
{
	struct shadow_step at = {.pc = start->pc, .sp = start->sp, .fp = start->fp};
	uint64_t cfa = start->sp;

	if (start->pc != caller_pc)
		cfa = step_out(t, s, &at) ? at.sp : start->sp + 1;

	if (s->count && s->frames[s->count - 1].cfa < cfa && cold_is_on_signal_stack())
		return;
	while (s->count && s->frames[s->count - 1].cfa < cfa)
		shadow_pop(s);
	uint32_t i = s->count;
	while (i && s->frames[i - 1].cfa == cfa && s->frames[i - 1].function != function)
		i--;
	if (!i || s->frames[i - 1].cfa != cfa)
		return; /* not known, as it was entered before we were */
	note_depth(s, start->sp);
	while (s->count >= i)
		shadow_pop(s);
}

/* ---- the functions that are called ----------------------------------------------------------- */

/* Whether whoever was at work here will not come back: a signal handler that interrupted it has
 * jumped out, so that we are called from no further in than it was. */
static NOINLINE bool is_cut_off(const struct shadow *s, uint64_t sp)
{
	return sp >= s->busy && !cold_is_on_signal_stack();
}

static bool is_recording(void)
{
	return process &&
	       atomic_load_explicit(&process->state, memory_order_relaxed) == PROCESS_RECORDING;
}

/* Attaches a thread that has not allocated anything yet. One that has ended stays as it is. */
static NOINLINE bool begin_thread(void)
{
	return is_recording() && thread_self->state == THREAD_NEW && !thread_has_ended() &&
	       cold_attach();
}

/* Takes the right to change the calling thread's frames; NULL: they stay as they are. */
static inline struct shadow *take(uint64_t sp)
{
	if (unlikely(thread_self->state != THREAD_READY) && !begin_thread())
		return NULL;
	struct shadow *s = shadow_self;
	if (unlikely(!s)) {
		uint64_t blocked = host_block_signals();

		s = shadow_self = shadow_self ? shadow_self : new_shadow();
		host_set_signals(blocked);
		if (!s)
			return NULL;
	}
	if (unlikely(s->busy) && !is_cut_off(s, sp))
		return NULL;
	/* By whole pages, as each step downwards may be a question to the kernel. */
	if (unlikely(!stackrange_covers(&thread_self->stack, sp & ~PAGE_MASK)))
		return NULL;
	s->busy = sp;
	atomic_signal_fence(memory_order_seq_cst);
	if (unlikely(s->pid != process->pid))
		forget_process(s);
	return s;
}

static inline void give_back(struct shadow *s)
{
	if (unlikely(shadow_depth_is_due(s, thread_self->stack.high)))
		shadow_depth_tell(thread_self, s);
	atomic_signal_fence(memory_order_seq_cst);
	s->busy = 0;
}

static void enter(void *function, void *call_site)
{
	const struct walk_start start = WALK_START();
	struct shadow *s = take(start.sp);

	if (likely(s)) {
		struct shadow_frame f = {.sp = start.sp,
					 .function = (uint64_t)(uintptr_t)function,
					 .pc = start.pc,
					 .caller_pc = arch_strip((uint64_t)(uintptr_t)call_site)};

		measure(thread_self, s, &f, start.fp);
		push(s, &f);
		give_back(s);
	}
	if (unlikely(next_enter))
		next_enter(function, call_site);
}

static void leave(void *function, void *call_site)
{
	const struct walk_start start = WALK_START();
	struct shadow *s = take(start.sp);

	if (likely(s)) {
		if (likely(is_innermost(s, start.sp, (uint64_t)(uintptr_t)function)))
			shadow_pop(s);
		else
			pop_slowly(thread_self, s, &start, (uint64_t)(uintptr_t)function,
				   arch_strip((uint64_t)(uintptr_t)call_site));
		give_back(s);
	}
	if (unlikely(next_leave))
		next_leave(function, call_site);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void shadow_end(struct thread *t)
{
	struct shadow *s = shadow_self;

	if (!s || s == &no_shadow)
		return;
	shadow_tell_last(t);
	shadow_self = &no_shadow;
	atomic_signal_fence(memory_order_seq_cst);
	unmap_frames(s->frames, s->room);
	unmap_frames(s->deepest, s->room);
	(void)HOST_CALL2(SYS_munmap, s, sizeof(*s));
}

void shadow_tell_last(struct thread *t)
{
	struct shadow *s = shadow_self;

	if (!s || s->busy || t->state != THREAD_READY || s->pid != process->pid)
		return;
	s->busy = ARCH_CFA();
	if (s->is_new)
		shadow_depth_keep(s);
	if (s->deepest_sp < s->told_sp)
		shadow_depth_tell(t, s);
	s->busy = 0;
}

/* What libc has does nothing. */
static notify *find_next(void *found)
{
	Dl_info theirs, libc;
	notify *function;

	/* NOLINTNEXTLINE: some function of libc's */
	if (dladdr(found, &theirs) && dladdr((void *)(uintptr_t)getauxval, &libc) &&
	    theirs.dli_fbase == libc.dli_fbase)
		return NULL;
	memcpy(&function, &found, sizeof(function));
	return function;
}

void shadow_patch(void)
{
	void *entered = dlsym(RTLD_DEFAULT, "__cyg_profile_func_enter");
	void *left = dlsym(RTLD_DEFAULT, "__cyg_profile_func_exit");
	const struct relink_name names[] = {
		{"__cyg_profile_func_enter", entered, (void *)(uintptr_t)enter}, /* NOLINT */
		{"__cyg_profile_func_exit", left, (void *)(uintptr_t)leave},	 /* NOLINT */
	};

	if (!entered || !left) /* musl has none: whoever needs them brings them */
		return;
	next_enter = find_next(entered);
	next_leave = find_next(left);
	shadow_is_on = true;
	if (thread_self != &thread_none) {
		memo_clear(&thread_self->memo);
		thread_self->memo.generation = 0; /* see walk_helped */
	}
	relink_all(names, 2);
}
