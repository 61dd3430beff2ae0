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
 * was: who has a frame of that one has synchronised with whoever freed this. */
static void count_and_free(void *code)
{
	atomic_fetch_add_explicit(&python_memo_codes_ended, 1, memory_order_relaxed);
	real_dealloc(code);
}

void python_memo_count_codes(uint64_t code_type)
{
	void (**slot)(void *) =
		(void (**)(void *))(uintptr_t)(code_type + TYPE_DEALLOC); /* NOLINT */

	if (*slot == count_and_free) /* in a fork child */
		return;
	real_dealloc = *slot;
	__atomic_store_n(slot, count_and_free, __ATOMIC_RELEASE);
}

/* ---- reading --------------------------------------------------------------------------------- */

void python_memo_init(struct python_memo *m, uint32_t room, void *memory)
{
	*m = (struct python_memo){.room = room};
	m->frames = memory;
	m->fresh = m->frames + room;
}

/* The memo's frame with this address, among the outermost `top`; -1: there is none. */
static inline int64_t find(const struct python_memo *m, int64_t top, uint64_t at)
{
	while (--top >= 0 && m->frames[top].at != at)
		;
	return top;
}

/* Whether the memo's frame is still what it was. Its page is one that python_reads knows. */
static inline bool is_unchanged(const struct python_offsets *o, const struct python_memo_frame *f)
{
	const uint64_t at = f->at;

	return ((python_reads_word(at + o->frame_code) ^ f->code) |
		(python_reads_word(at + o->frame_instruction) ^ f->instruction) |
		(python_reads_word(at + o->frame_previous) ^ f->previous) |
		(uint64_t)(python_reads_byte(at + o->frame_owner) ^ f->owner)) == 0;
}

/* Compares frames[top] and outwards. -1: all are unchanged; else the innermost that is not. */
static inline int64_t verify(const struct python_memo *m, const struct python_offsets *o,
			     int64_t top)
{
	while (top >= 0 && likely(is_unchanged(o, &m->frames[top])))
		top--;
	return top;
}

static bool name(const struct python_namer *n, struct python_memo_frame *f,
		 const struct python_frame *frame)
{
	struct python_name name = {.frame = *frame};

	f->stamp = frame->stamp;
	f->is_shown = !python_frames_is_incomplete(n->i->o, f->at, frame);
	if (f->is_shown) {
		python_names_find(n, &name);
		f->place = name.place;
	}
	return true;
}

/* Reads the frame at `at`; `before` is the memo's frame of the same address, or NULL. False: it is
 * not what it should be. */
static bool read_frame(const struct python_chain *c, const struct python_namer *n, uint64_t at,
		       const struct python_memo_frame *before, struct python_memo_frame *f)
{
	const struct python_offsets *o = c->i->o;
	struct python_frame frame;

	if (!before && !python_frames_has(c, at))
		return false;
	*f = (struct python_memo_frame){
		.at = at,
		.code = python_reads_word(at + o->frame_code),
		.instruction = python_reads_word(at + o->frame_instruction),
		.previous = python_reads_word(at + o->frame_previous),
		.owner = python_reads_byte(at + o->frame_owner),
	};
	if (python_frames_is_shim(c, at)) {
		f->is_shim = true;
		f->activation = at;
		return true;
	}
	if (before && before->code == f->code && before->stamp) { /* it is a code object */
		frame.code = f->code & ~(uint64_t)PYTHON_FRAMES_TAG;
		frame.stamp = before->stamp;
		return python_frames_find_offset(o, at, frame.code, &frame.offset) &&
		       name(n, f, &frame);
	}
	return python_frames_read(c, at, &frame) && name(n, f, &frame);
}

/* Frames `from` down to but without `to` of the memo are those of this walk too, below others. */
static void take_over(struct python_memo *m, struct python_memo_walk *w, int64_t from, int64_t to)
{
	for (; from > to; from--)
		m->fresh[w->fresh++] = m->frames[from];
}

/* What each fresh frame has of those outside of it: the shim that it runs on, and the path. */
static void settle(struct python_memo *m, const struct python_memo_walk *w)
{
	const struct python_memo_frame none = {0};
	const struct python_memo_frame *outer = w->kept ? &m->frames[w->kept - 1] : &none;

	for (uint32_t i = w->fresh; i-- > 0;) {
		struct python_memo_frame *f = &m->fresh[i];

		if (!f->is_shim)
			f->activation = outer->activation;
		f->hash = f->is_shown ? stacktree_hash(outer->hash, f->place) : outer->hash;
		outer = f;
	}
}

static bool has_shown(const struct python_memo *m, const struct python_memo_walk *w)
{
	if (w->kept && m->frames[w->kept - 1].node)
		return true;
	for (uint32_t i = 0; i < w->fresh; i++)
		if (m->fresh[i].is_shown)
			return true;
	return false;
}

bool python_memo_read(struct python_memo *m, const struct python_chain *c,
		      const struct python_namer *n, struct python_memo_walk *w)
{
	/* See count_and_free. */
	uint64_t ended = atomic_load_explicit(&python_memo_codes_ended, memory_order_relaxed);
	if (unlikely(m->codes_ended != ended))
		m->count = 0;
	m->codes_ended = ended;
	int64_t top = m->count;

	*w = (struct python_memo_walk){0};
	for (uint64_t at = c->at; at;) {
		const struct python_memo_frame *before = NULL;
		int64_t met = find(m, top, at);

		if (met >= 0) {
			int64_t changed = verify(m, c->i->o, met);

			if (likely(changed < 0)) {
				w->kept = (uint32_t)met + 1;
				break;
			}
			if (w->fresh + (uint32_t)(met - changed) >= m->room)
				return false;
			take_over(m, w, met, changed);
			before = &m->frames[changed];
			at = before->at;
			top = changed;
		}
		if (unlikely(w->fresh == m->room) ||
		    unlikely(!read_frame(c, n, at, before, &m->fresh[w->fresh])))
			return false;
		at = m->fresh[w->fresh++].previous;
	}
	settle(m, w);
	w->is_empty = !has_shown(m, w);
	return w->kept + w->fresh <= m->room;
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
	m->count = w->kept + w->fresh;
	for (uint32_t i = 0; i < w->fresh; i++) {
		struct python_memo_frame *f = &m->frames[m->count - 1 - i];

		*f = m->fresh[i];
		f->node = leaf;
		if (f->is_shown)
			leaf = segment_node_parent(nodes, leaf);
	}
}
