/* python_frames.h -- the frames of the calling thread's own Python code, read as they lie.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread's frames are changed by that thread alone, and each holds its code object, so both stay
 * as they are while the thread is in malloc, whoever has the GIL. Nothing is allocated, counted or
 * called here. */
#ifndef MIDDEN_CAPTURE_PYTHON_FRAMES_H
#define MIDDEN_CAPTURE_PYTHON_FRAMES_H

#include "capture/python_offsets.h"
#include "capture/python_reads.h"

/* An interpreter in this process. */
struct python_interpreter {
	const struct python_offsets *o;
	uint32_t module;     /* that it is in */
	uint64_t runtime;    /* _PyRuntime */
	uint64_t code_type;  /* PyCode_Type */
	uint64_t text_type;  /* PyUnicode_Type */
	uint64_t bytes_type; /* PyBytes_Type */
	uint64_t eval_start; /* _PyEval_EvalFrameDefault */
	uint64_t eval_bytes;
	void *(*get_own)(void);	    /* PyGILState_GetThisThreadState */
	void *(*get_current)(void); /* the thread state that holds the GIL; or NULL */
	int (*is_finalizing)(void); /* or NULL */
};

/* A frame: equal if and only if it is the same instruction of the same code, as far as `stamp` can
 * tell a code object from one that took its place. */
struct python_frame {
	uint64_t code;
	uint64_t stamp;
	int64_t offset; /* of the instruction in bytes; less than 0: not begun */
};

/* Where a walk of them stands. */
struct python_chain {
	const struct python_interpreter *i;
	struct python_reads *reads;
	uint64_t at;	 /* the next frame, 0: there is none */
	uint64_t cframe; /* of its activation, 0: there is none */
	uint32_t left;	 /* frames that may still be looked at */
	bool lost;	 /* something was not as it should be: it ended there */
};

/* Begins at the innermost frame of a thread state. */
void python_frames_begin(struct python_chain *c, const struct python_interpreter *i,
			 struct python_reads *reads, uint64_t thread);

/* Leaves an activation that has no frame, since its function is about to begin or has ended. False:
 * it has one. */
bool python_frames_leave_bare(struct python_chain *c);

/* An address on the C stack inside the frame of the evaluation loop that runs the next frame; 0:
 * not known. */
uint64_t python_frames_find_activation(const struct python_chain *c);

/* The next frame outwards. *last: the evaluation loop's C frame ends with it. False: there is
 * none. */
bool python_frames_next(struct python_chain *c, struct python_frame *out, bool *last);

/* ---- one of them ----------------------------------------------------------------------------- */

#define PYTHON_FRAMES_TAG  7u /* bits in pointers to code objects, since 3.14 */
#define PYTHON_FRAMES_SIZE 16 /* of a PyVarObject: ob_size */

/* Whether a frame can be at `at`. */
static inline bool python_frames_has(const struct python_chain *c, uint64_t at)
{
	return at && !(at & 7) && python_reads_has(c->reads, at, c->i->o->frame_bytes);
}

static inline bool python_frames_is_shim(const struct python_chain *c, uint64_t at)
{
	const struct python_offsets *o = c->i->o;

	return o->activation >= PYTHON_ACTIVATION_SHIM &&
	       python_reads_byte(at + o->frame_owner) >= PYTHON_OWNER_SHIM;
}

/* The offset of the instruction that the frame at `at` is at. False: it is not in the code. */
static inline bool python_frames_find_offset(const struct python_offsets *o, uint64_t at,
					     uint64_t code, int64_t *offset)
{
	uint64_t where = at + o->frame_instruction;

	if (o->instruction != PYTHON_INSTRUCTION_AT) {
		int32_t value = (int32_t)python_reads_half(where);

		*offset = o->instruction == PYTHON_INSTRUCTION_UNITS ? 2 * (int64_t)value : value;
		return *offset >= -2;
	}
	*offset = (int64_t)(python_reads_word(where) - (code + o->code_start));
	return *offset >= -2 &&
	       *offset / 2 <= (int64_t)python_reads_word(code + PYTHON_FRAMES_SIZE);
}

/* Before the first instruction that belongs to a line. */
static inline bool python_frames_is_early(const struct python_offsets *o,
					  const struct python_frame *f)
{
	return o->code_start &&
	       f->offset < 2 * (int64_t)(int32_t)python_reads_half(f->code + o->code_traceable);
}

/* A frame that is being made: its function has not begun, and Python itself does not show it. */
static inline bool python_frames_is_incomplete(const struct python_offsets *o, uint64_t at,
					       const struct python_frame *f)
{
	return python_frames_is_early(o, f) &&
	       python_reads_byte(at + o->frame_owner) != PYTHON_OWNER_GENERATOR;
}

/* Reads the frame at `at`, which can be one and is no shim. False: it is none. */
bool python_frames_read(const struct python_chain *c, uint64_t at, struct python_frame *f);

#endif
