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

struct memo_frame {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	/* The words read to step out of this frame; at 0: none was. */
	uint64_t ra_at;
	uint64_t ra_value; /* as it is in memory, maybe signed */
	uint64_t fp_at;
	uint64_t fp_value;
	uint64_t sp_at; /* where the CFA itself was read from memory (realigned stacks, signal
			   frames) */
	uint64_t sp_value;
	uint32_t module; /* with SEGMENT_NODE_* flags */
	uint32_t node;	 /* of the stack up to and with this frame; its caller's if the frame is
			    hidden */
	bool uses_fp;	 /* the step depends on fp */
	bool needs_fp;	 /* the remainder of the walk depends on fp */
	bool has_extra;	 /* more than the return address must be compared */
};

struct memo {
	uint32_t count;
	uint32_t room;
	uint32_t generation; /* of the modules that the frames were found with */
	uint32_t extra_count;
	uint64_t nothing; /* what a frame without a return address compares: always equal */
	struct memo_frame *frames; /* root first */
	struct memo_frame *fresh;  /* frames of the walk under way, leaf first */
	uint64_t *ra_at; /* the return address slots of `frames`, packed for the comparison */
	uint64_t *ra_value;
	uint32_t *extra; /* indices of frames with has_extra, ascending */
};

/* Bytes that a memo of `room` frames needs besides the struct. */
size_t memo_bytes(uint32_t room);

/* Lays the arrays out in `memory`, zeroed or not. */
void memo_init(struct memo *m, uint32_t room, void *memory);

static inline bool memo_is_frame(const struct memo_frame *f, uint64_t pc, uint64_t sp, uint64_t fp,
				 uint64_t exact)
{
	/* The flags of a frame fit 32 bits; only EXACT tells two frames at one pc apart. */
	return f->pc == pc && f->sp == sp && (!f->needs_fp || f->fp == fp) &&
	       ((f->module ^ exact) & 0x80000000u) == 0;
}

/* Compares the words of frames[top] and outwards. -1: all are unchanged; otherwise the innermost
 * frame whose step is no longer the same. The caller has made sure that the stack from
 * frames[top].sp on is mapped. */
int64_t memo_verify(const struct memo *m, uint32_t top);

/* Keeps the `kept` outermost frames and puts fresh[0..fresh_count), leaf first, on top. False: no
 * room. */
bool memo_replace(struct memo *m, uint32_t kept, uint32_t fresh_count);

#endif
