/* python_memo.h -- the last walk of a thread's Python frames, kept so that the next one can stop
 * where nothing has changed. Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a walk shows of a frame is a function of three words in it (its code object, its
 * instruction, the frame outside of it) and of the code object. A walk that comes to the address of
 * a frame of the last one, and finds these unchanged there and in all frames further out, would go
 * on to find what that one has found, as long as the code objects are the same. They are: each was
 * alive then, and python_memo_codes_ended says whether any has been freed since.
 *
 * Frames that are new are mostly so because they have gone on to another instruction, where they
 * have been before: which node that led to is remembered too. */
#ifndef MIDDEN_CAPTURE_PYTHON_MEMO_H
#define MIDDEN_CAPTURE_PYTHON_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/python_frames.h"
#include "capture/python_names.h"

/* A frame of the interpreter's, shown or not. */
struct python_memo_frame {
	uint64_t at;
	uint64_t code; /* this and the next two: words of the frame, as they are there */
	uint64_t previous;
	uint64_t instruction;
	uint64_t stamp;	     /* of the code object; see python_frame */
	uint64_t activation; /* where the shim is that it runs on, if that is how they are found */
	uint32_t node;	     /* of the stack up to it; its caller's if it is not shown */
	uint32_t hash;	     /* of the path there: see stacktree.h */
	uint32_t place;
	bool is_shown;
	bool is_shim;
	bool is_read;  /* what is said of its code object is */
	uint8_t early; /* one more than its owner, on which it depends whether it is shown; or 0 */
};

_Static_assert(sizeof(struct python_memo_frame) == 64, "a cache line");

/* What walks that are done by comparing alone (python_quick.h) need of a frame of the memo, and
 * change: so little that two are in a cache line. */
struct python_memo_link {
	uint64_t at;
	uint64_t instruction; /* of one that is early, none that there is */
	uint64_t activation;
	uint32_t node;
	uint8_t early;
	bool is_shim;
	bool is_stale; /* the memo's frame is of another instruction, or another one */
};

_Static_assert(sizeof(struct python_memo_link) == 32, "two in a cache line");

static inline struct python_memo_link python_memo_link_to(const struct python_memo_frame *f)
{
	return (struct python_memo_link){.at = f->at,
					 .instruction = f->instruction,
					 .activation = f->activation,
					 .node = f->node,
					 .early = f->early,
					 .is_shim = f->is_shim};
}

/* No frame has this address, and none has it outside. */
#define PYTHON_MEMO_NOWHERE UINT64_C(0x9e3779b97f4a7c15)

/* A frame below a node, and the node that it led to. */
struct python_memo_step {
	uint64_t code;
	uint64_t instruction;
	uint64_t stamp;
	uint32_t ended; /* of python_memo_codes_ended, then */
	uint32_t outer;
	uint32_t node; /* 0: nothing is here */
	uint32_t hash;
	uint32_t place;
	uint8_t early;
	bool is_shown;
};

#define PYTHON_MEMO_STEP_BITS 10 /* of pairs, the one noted last first */

struct python_memo {
	uint64_t codes_ended;
	uint32_t room;
	struct python_memo_frame *frames; /* root first */
	struct python_memo_frame *fresh;  /* of a walk under way, leaf first */
	struct python_memo_link *links;	  /* one for each of `frames`; links[-1] is nowhere */
	struct python_memo_link *leaf;	  /* the innermost one; links - 1: there is none */
	struct python_memo_step steps[1 << PYTHON_MEMO_STEP_BITS][2];
};

/* A walk: the outermost `kept` frames of the memo, and `fresh` new ones in front of them. */
struct python_memo_walk {
	uint32_t kept;
	uint32_t fresh;
	bool is_empty; /* no frame is shown */
	bool is_known; /* all fresh ones have nodes */
};

/* How many code objects have been freed, as far as they are counted. */
extern _Atomic uint64_t python_memo_codes_ended HIDDEN;

/* Has the interpreter whose PyCode_Type is at `code_type` count them. False: another one does. */
bool python_memo_count_codes(uint64_t code_type);

/* Whether it still does. */
bool python_memo_counts(uint64_t code_type);

/* Bytes that a memo of `room` frames needs besides the struct. */
static inline size_t python_memo_bytes(uint32_t room)
{
	return 2 * (size_t)room * sizeof(struct python_memo_frame) +
	       ((size_t)room + 1) * sizeof(struct python_memo_link);
}

static inline uint32_t python_memo_count(const struct python_memo *m)
{
	return (uint32_t)(m->leaf + 1 - m->links);
}

/* The memo is that of its outermost `count` frames from now on. */
static inline void python_memo_keep(struct python_memo *m, uint32_t count)
{
	m->leaf = m->links + count - 1;
}

/* The two places where it can be remembered what a frame leads to below `outer`. */
static inline struct python_memo_step *python_memo_steps(struct python_memo *m, uint32_t outer,
							 const struct python_memo_frame *f)
{
	uint64_t hash = (f->instruction ^ f->code << 20 ^ (uint64_t)outer << 40) *
			UINT64_C(0x9e3779b97f4a7c15);

	return m->steps[hash >> (64 - PYTHON_MEMO_STEP_BITS)];
}

static inline bool python_memo_is_step(const struct python_memo *m,
				       const struct python_memo_step *s, uint32_t outer,
				       const struct python_memo_frame *f)
{
	return s->instruction == f->instruction && s->outer == outer && s->code == f->code &&
	       s->ended == (uint32_t)m->codes_ended && s->node;
}

/* A frame that is early is never met as one that has not changed. */
static inline uint64_t python_memo_instruction(const struct python_memo_frame *f)
{
	return f->early ? ~f->instruction : f->instruction;
}

/* Whether it is known what the frame, whose owner is at `owner`, leads to below `outer`; then it
 * has it. */
static inline bool python_memo_follow(struct python_memo *m, uint32_t outer,
				      struct python_memo_frame *f, uint64_t owner)
{
	const struct python_memo_step *s = python_memo_steps(m, outer, f);

	if (!python_memo_is_step(m, s, outer, f) && !python_memo_is_step(m, ++s, outer, f))
		return false;
	if (unlikely(s->early)) {
		if (python_reads_byte(owner) + 1 != s->early)
			return false;
		f->instruction = ~f->instruction;
	}
	f->stamp = s->stamp;
	f->node = s->node;
	f->hash = s->hash;
	f->place = s->place;
	f->early = s->early;
	f->is_shown = s->is_shown;
	f->is_read = true;
	return true;
}

void python_memo_init(struct python_memo *m, uint32_t room, void *memory);

/* Walks all frames from where the chain stands. False: there are more than there is room for, or
 * something was not as it should be; nothing is known then. */
bool python_memo_read(struct python_memo *m, const struct python_chain *c,
		      const struct python_namer *n, struct python_memo_walk *w);

/* The innermost frame of a walk, which has one. */
static inline const struct python_memo_frame *python_memo_leaf(const struct python_memo *m,
							       const struct python_memo_walk *w)
{
	return w->fresh ? &m->fresh[0] : &m->frames[w->kept - 1];
}

/* Puts the places of the fresh frames that are shown at `places`, leaf first; their number. */
uint32_t python_memo_list(const struct python_memo *m, const struct python_memo_walk *w,
			  uint32_t *places);

/* The memo becomes that walk. Unless they are known, the nodes of its fresh frames are those on the
 * way up from `leaf`, which is that of the innermost one. */
void python_memo_commit(struct python_memo *m, const struct python_memo_walk *w,
			const struct segment_node *nodes, uint32_t leaf);

#endif
