/* python_memo.c -- the last walk of a thread's Python frames, kept so that the next one can stop
 * where nothing has changed. Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_memo.h"

#include "capture/stacktree.h"

/* ---- code objects ---------------------------------------------------------------------------- */

#define TYPE_DEALLOC 48 /* of a PyTypeObject: tp_dealloc */

_Atomic uint64_t python_memo_codes_ended;
static void (*real_dealloc)(void *code);

/* In the place of the function that frees a code object. Counted before another can be where it
 * was: who has a frame of that one has synchronised with whoever freed this. And again when it is
 * gone: what runs meanwhile (callbacks of weak references) may have walked and met it. */
static void count_and_free(void *code)
{
	atomic_fetch_add_explicit(&python_memo_codes_ended, 1, memory_order_relaxed);
	real_dealloc(code);
	atomic_fetch_add_explicit(&python_memo_codes_ended, 1, memory_order_relaxed);
}

typedef void (*dealloc)(void *code);

static dealloc *slot_of(uint64_t code_type)
{
	return (dealloc *)(uintptr_t)(code_type + TYPE_DEALLOC); /* NOLINT */
}

bool python_memo_counts(uint64_t code_type)
{
	return *slot_of(code_type) == count_and_free;
}

bool python_memo_count_codes(uint64_t code_type)
{
	dealloc *slot = slot_of(code_type);

	if (*slot == count_and_free) /* in a fork child */
		return true;
	/* Of a second interpreter in the process: there is one such function of ours. */
	if (real_dealloc && real_dealloc != *slot)
		return false;
	real_dealloc = *slot;
	__atomic_store_n(slot, count_and_free, __ATOMIC_RELEASE);
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void note(struct python_memo *m, uint32_t outer, struct python_memo_frame f)
{
	f.instruction = python_memo_instruction(&f);
	struct python_memo_step *s = python_memo_steps(m, outer, &f);

	s[1] = s[0];
	s[0] = (struct python_memo_step){.code = f.code,
					 .instruction = f.instruction,
					 .stamp = f.stamp,
					 .ended = (uint32_t)m->codes_ended,
					 .outer = outer,
					 .node = f.node,
					 .hash = f.hash,
					 .place = f.place,
					 .early = f.early,
					 .is_shown = f.is_shown};
}

/* ---- reading --------------------------------------------------------------------------------- */

void python_memo_init(struct python_memo *m, uint32_t room, void *memory)
{
	*m = (struct python_memo){.room = room};
	m->frames = memory;
	m->fresh = m->frames + room;
	m->links = (struct python_memo_link *)(void *)(m->fresh + room) + 1;
	m->links[-1] = (struct python_memo_link){.at = PYTHON_MEMO_NOWHERE};
	python_memo_keep(m, 0);
}

/* The memo's frame with this address, among the outermost `top`; -1: there is none. */
static inline int64_t find(const struct python_memo *m, int64_t top, uint64_t at)
{
	const struct python_memo_link *l = m->links + top;

	while (--l >= m->links && l->at != at)
		;
	return l - m->links;
}

/* After so many fresh frames in a row, it is another stack: looking for each of a deep one in all
 * of the last one would take its depth squared. */
#define STRANGERS_MOST 32

/* Compares frames[top] and outwards, whose pages python_reads knows. -1: all are unchanged; else
 * the innermost that is not. */
static inline int64_t verify(const struct python_memo *m, const struct python_offsets *o,
			     int64_t top)
{
	const struct python_memo_frame *f = m->frames + top;
	const struct python_memo_link *l = m->links + top;
	const uint64_t code = o->frame_code, instruction = o->frame_instruction,
		       previous = o->frame_previous;

	for (; f >= m->frames && likely(!l->is_stale); f--, l--)
		if (unlikely((python_reads_word(f->at + code) ^ f->code) |
			     (python_reads_word(f->at + instruction) ^ f->instruction) |
			     (python_reads_word(f->at + previous) ^ f->previous)))
			break;
	return f - m->frames;
}

/* What is in the frame at `at`; `before` is the memo's frame of the same address, or NULL. False:
 * there is none. */
static inline bool look(const struct python_chain *c, uint64_t at,
			const struct python_memo_frame *before, struct python_memo_frame *f)
{
	const struct python_offsets *o = c->i->o;

	if (!before && !python_frames_has(c, at))
		return false;
	*f = (struct python_memo_frame){
		.at = at,
		.code = python_reads_word(at + o->frame_code),
		.instruction = python_reads_word(at + o->frame_instruction),
		.previous = python_reads_word(at + o->frame_previous),
		.is_shim = python_frames_is_shim(c, at),
	};
	if (before && before->code == f->code)
		f->stamp = before->stamp;
	return true;
}

/* What a frame's code object says. False: it is none. */
static NOINLINE bool read_code(const struct python_chain *c, const struct python_namer *n,
			       struct python_memo_frame *f)
{
	const struct python_offsets *o = c->i->o;
	struct python_name name = {
		.frame = {.code = f->code & ~(uint64_t)PYTHON_FRAMES_TAG, .stamp = f->stamp}};

	if (f->stamp ? !python_frames_find_offset(o, f->at, name.frame.code, &name.frame.offset)
		     : !python_frames_read(c, f->at, &name.frame))
		return false;
	f->stamp = name.frame.stamp;
	f->is_shown = !python_frames_is_incomplete(o, f->at, &name.frame);
	f->is_read = true;
	if (f->is_shown) {
		python_names_find(n, &name);
		f->place = name.place;
	}
	/* Where its owner decides what is shown, which is not compared, it is not to be met. */
	if (python_frames_is_early(o, &name.frame)) {
		f->instruction = ~f->instruction;
		f->early = (uint8_t)(python_reads_byte(f->at + o->frame_owner) + 1);
	}
	return true;
}

/* Frames `from` down to but without `to` of the memo are those of this walk too, below others. */
static void take_over(struct python_memo *m, struct python_memo_walk *w, int64_t from, int64_t to)
{
	for (; from > to; from--)
		m->fresh[w->fresh++] = m->frames[from];
}

/* Gives each fresh frame what follows from those outside of it: the shim that it runs on, its path
 * and, as far as it is known, its node. False: one is not what it should be. */
static bool settle(struct python_memo *m, const struct python_chain *c,
		   const struct python_namer *n, struct python_memo_walk *w)
{
	const struct python_memo_frame none = {0};
	const struct python_memo_frame *outer = w->kept ? &m->frames[w->kept - 1] : &none;

	w->is_known = true;
	w->is_empty = !outer->node;
	for (uint32_t i = w->fresh; i-- > 0; outer = &m->fresh[i]) {
		struct python_memo_frame *f = &m->fresh[i];

		f->hash = outer->hash;
		f->node = outer->node;
		if (f->is_shim)
			continue;
		f->activation = outer->activation;
		if (likely(w->is_known &&
			   python_memo_follow(m, outer->node, f, f->at + c->i->o->frame_owner))) {
			w->is_empty = false;
			continue;
		}
		if (!f->is_read && !read_code(c, n, f))
			return false;
		if (!f->is_shown)
			continue;
		f->hash = stacktree_hash(outer->hash, f->place);
		w->is_known = w->is_empty = false;
	}
	return true;
}

bool python_memo_read(struct python_memo *m, const struct python_chain *c,
		      const struct python_namer *n, struct python_memo_walk *w)
{
	/* See count_and_free. */
	uint64_t ended = atomic_load_explicit(&python_memo_codes_ended, memory_order_relaxed);
	if (unlikely(m->codes_ended != ended))
		python_memo_keep(m, 0);
	m->codes_ended = ended;
	int64_t top = python_memo_count(m);
	uint32_t taken = 0; /* fresh ones until the last that was met */

	*w = (struct python_memo_walk){0};
	for (uint64_t at = c->at; at;) {
		const struct python_memo_frame *before = NULL;
		int64_t met = w->fresh - taken < STRANGERS_MOST ? find(m, top, at) : -1;

		if (met >= 0) {
			int64_t changed = verify(m, c->i->o, met);

			if (likely(changed < 0)) {
				w->kept = (uint32_t)met + 1;
				break;
			}
			if (w->fresh + (uint32_t)(met - changed) >= m->room)
				return false;
			take_over(m, w, met, changed);
			taken = w->fresh;
			if (!m->links[changed].is_stale)
				before = &m->frames[changed];
			at = m->links[changed].at;
			top = changed;
		}
		if (unlikely(w->fresh == m->room) ||
		    unlikely(!look(c, at, before, &m->fresh[w->fresh])))
			return false;
		if (m->fresh[w->fresh].is_shim)
			m->fresh[w->fresh].activation = at;
		at = m->fresh[w->fresh++].previous;
	}
	return settle(m, c, n, w) && w->kept + w->fresh <= m->room;
}

/* ---- keeping --------------------------------------------------------------------------------- */

uint32_t python_memo_list(const struct python_memo *m, const struct python_memo_walk *w,
			  uint32_t *places)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->fresh; i++)
		if (m->fresh[i].is_shown)
			places[count++] = m->fresh[i].place;
	return count;
}

void python_memo_commit(struct python_memo *m, const struct python_memo_walk *w,
			const struct segment_node *nodes, uint32_t leaf)
{
	uint32_t at = w->kept + w->fresh;

	python_memo_keep(m, at);
	for (uint32_t i = 0; i < w->fresh; i++) {
		struct python_memo_frame *f = &m->frames[--at];

		*f = m->fresh[i];
		if (!w->is_known)
			f->node = leaf;
		m->links[at] = python_memo_link_to(f);
		if (w->is_known || f->is_shim)
			continue;
		if (f->is_shown)
			leaf = segment_node_parent(nodes, leaf);
		note(m, leaf, *f);
	}
}
