/* memo.h -- the last walk of a thread, kept so that the next one can stop where nothing has
 * changed. Runs: any thread of the target, inside malloc. Called by walk.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A walk is a pure function of where it starts (pc, sp, fp), the stack words it reads, and the
 * unwind tables. A memo holds the frames of the last walk, root first, with the words that led from
 * each to its caller. A new walk that comes to a frame with the same pc, sp and fp has the same
 * remainder if those words are unchanged: not probably, but because it would read the same.
 * docs/hotpath.md has the argument in full. */
#ifndef MIDDEN_CAPTURE_MEMO_H
#define MIDDEN_CAPTURE_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/host.h"

enum memo_flag {
	MEMO_USES_FP = 1,  /* the step out of the frame depends on fp */
	MEMO_NEEDS_FP = 2, /* so does the remainder of the walk */
	MEMO_EXACT = 4,	   /* pc itself was executing */
	MEMO_RECORD = 8,   /* the frame was left by its frame record */
};

/* A frame, with the words read to step out of it; `at` 0: none was. */
struct memo_frame {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint32_t place; /* as rules_find gives it */
	uint32_t node;	/* of the stack up to and with this frame; its caller's if the frame is
			  hidden */
	uint64_t ra_at;
	uint64_t ra_value; /* as it is in memory, maybe signed */
	uint64_t fp_at;
	uint64_t fp_value;
	uint64_t sp_at; /* where the CFA itself was read from memory (realigned stacks, signal
			   frames) */
	uint64_t sp_value;
	uint32_t flags;
	uint32_t hash; /* of the path to `node`: see stacktree.h */
};

/* A return address slot and what it held. */
struct memo_word {
	uint64_t at;
	uint64_t value;
};

#define MEMO_PADS 4 /* words before the first, always unchanged: for memo_is_unchanged */

struct memo {
	uint32_t count;
	uint32_t room;
	uint32_t generation; /* of the modules that the frames were found with */
	uint32_t extra_count;
	uint64_t serial;	   /* another one whenever `frames` change; never 0 with frames */
	uint64_t lasting;	   /* the same once memo_last has been called; 0 before */
	uint64_t nothing;	   /* what a frame without a return address compares: always 0 */
	struct memo_frame *frames; /* root first */
	struct memo_frame *fresh;  /* frames of the walk under way, leaf first */
	struct memo_word *returns; /* of `frames`, packed for the comparison */
	uint32_t *extra;	   /* indices of frames of which more must be compared, ascending */
};

/* Bytes that a memo of `room` frames needs besides the struct. */
size_t memo_bytes(uint32_t room);

/* Lays the arrays out in `memory`, zeroed or not. */
void memo_init(struct memo *m, uint32_t room, void *memory);

/* The frames are about to change. */
static inline void memo_renew(struct memo *m)
{
	m->serial++;
	m->lasting = 0;
}

/* The memo has served a later walk, and may serve more. */
static inline void memo_last(struct memo *m)
{
	m->lasting = m->serial;
}

static inline void memo_clear(struct memo *m)
{
	m->count = 0;
	m->extra_count = 0;
	memo_renew(m);
}

static inline bool memo_is_frame(const struct memo_frame *f, uint64_t pc, uint64_t sp, uint64_t fp,
				 uint32_t exact)
{
	return ((f->pc ^ pc) | (f->sp ^ sp) | ((f->flags ^ exact) & MEMO_EXACT)) == 0 &&
	       (f->fp == fp || !(f->flags & MEMO_NEEDS_FP));
}

/* The part of memo_verify for frames that read more than a return address. */
NOINLINE int64_t memo_verify_extra(const struct memo *m, uint32_t top, int64_t changed);

static inline uint64_t memo_read(uint64_t at)
{
	return *(const uint64_t *)(uintptr_t)at; /* NOLINT: a slot of the walked stack */
}

static inline uint64_t memo_difference(const struct memo_word *w)
{
	return memo_read(w->at) ^ w->value;
}

/* Compares the words of frames[top] and outwards. -1: all are unchanged; otherwise the innermost
 * frame whose step is no longer the same. The caller has made sure that the stack from
 * frames[top].sp on is mapped. Four at a time: nearly always none has changed. */
static inline int64_t memo_verify(const struct memo *m, uint32_t top)
{
	const struct memo_word *w = m->returns;
	int64_t i = top;

	for (; i >= 3; i -= 4)
		if (unlikely(memo_difference(&w[i]) | memo_difference(&w[i - 1]) |
			     memo_difference(&w[i - 2]) | memo_difference(&w[i - 3])))
			break;
	while (i >= 0 && memo_difference(&w[i]) == 0)
		i--;
	return likely(!m->extra_count) ? i : memo_verify_extra(m, top, i);
}

/* Whether what frames[i] reads besides its return address is unchanged. */
static inline bool memo_is_extra_unchanged(const struct memo *m, uint32_t i)
{
	const struct memo_frame *f = &m->frames[i];
	uint32_t caller_flags = i ? f[-1].flags : 0;

	return (!f->sp_at || memo_read(f->sp_at) == f->sp_value) &&
	       (!f->fp_at || !(caller_flags & MEMO_NEEDS_FP) || memo_read(f->fp_at) == f->fp_value);
}

/* memo_verify_extra where nothing else has changed: whether it would give -1. */
static inline bool memo_are_extra_unchanged(const struct memo *m, uint32_t top)
{
	for (uint32_t e = 0; e < m->extra_count && m->extra[e] <= top; e++)
		if (!memo_is_extra_unchanged(m, m->extra[e]))
			return false;
	return true;
}

/* The same of memo_verify, but for frames that read more. */
static inline bool memo_is_unchanged(const struct memo *m, uint32_t top)
{
	const struct memo_word *w = &m->returns[top];

	do {
		if (unlikely(memo_difference(w) | memo_difference(w - 1) | memo_difference(w - 2) |
			     memo_difference(w - 3)))
			return false;
		w -= 4;
	} while (w >= m->returns);
	return true;
}

/* Keeps the `kept` outermost frames and puts fresh[0..fresh_count), leaf first, on top. False: no
 * room. */
bool memo_replace(struct memo *m, uint32_t kept, uint32_t fresh_count);

#endif
