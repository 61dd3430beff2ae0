/* python_frames.c -- the frames of the calling thread's own Python code, read as they lie.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_frames.h"

#define FRAMES_MOST (1u << 20) /* sys.setrecursionlimit may allow more; who does is cut there */
#define OBJECT_TYPE 8	       /* of a PyObject */

void python_frames_begin(struct python_chain *c, const struct python_interpreter *i,
			 struct python_reads *reads, uint64_t thread)
{
	const struct python_offsets *o = i->o;
	uint64_t cframe = 0;

	*c = (struct python_chain){.i = i, .reads = reads, .left = FRAMES_MOST};
	if (unlikely(thread != reads->thread)) {
		if (!python_reads_has(reads, thread, 512))
			return;
		reads->thread = thread;
	}
	if (o->thread_cframe) {
		cframe = python_reads_word(thread + o->thread_cframe);
		c->cframe = cframe != thread + o->thread_root ? cframe : 0;
	}
	if (o->activation != PYTHON_ACTIVATION_ENTRY && o->activation != PYTHON_ACTIVATION_SHIM)
		c->at = python_reads_word(thread + o->thread_frame);
	else if (c->cframe && !(cframe & 7) && python_reads_has(reads, cframe, 24))
		c->at = python_reads_word(cframe + o->cframe_frame);
}

uint64_t python_frames_find_activation(const struct python_chain *c)
{
	uint64_t at = c->at;

	if (c->i->o->activation != PYTHON_ACTIVATION_ITSELF)
		return c->cframe;
	for (uint32_t left = c->left; left && python_frames_has(c, at); left--) {
		if (python_frames_is_shim(c, at))
			return at;
		at = python_reads_word(at + c->i->o->frame_previous);
	}
	return 0;
}

/* To the activation outside of the one that ends here. */
static void leave_activation(struct python_chain *c)
{
	const struct python_offsets *o = c->i->o;

	if (!c->cframe)
		return;
	if ((c->cframe & 7) || !python_reads_has(c->reads, c->cframe, 24))
		c->cframe = 0;
	else
		c->cframe = python_reads_word(c->cframe + o->cframe_previous);
}

static inline uint64_t turn(uint64_t word, unsigned by)
{
	return word << by | word >> (64 - by);
}

/* What tells a code object from another one that is made at the same address later. Three pointers
 * of less than 48 bits that differ in some of the lower ones, and a line. */
static inline uint64_t stamp_of(const struct python_offsets *o, uint64_t code)
{
	uint64_t line = python_reads_half(code + o->code_line);
	uint32_t version = o->code_version ? python_reads_half(code + o->code_version) : 0;

	if (version)
		return (uint64_t)version << 32 | line;
	return (python_reads_word(code + o->code_file) ^
		turn(python_reads_word(code + o->code_name), 21) ^
		turn(python_reads_word(code + o->code_table), 43)) +
	       line * UINT64_C(0x9e3779b97f4a7c15);
}

bool python_frames_read(const struct python_chain *c, uint64_t at, struct python_frame *f)
{
	const struct python_offsets *o = c->i->o;

	f->code = python_reads_word(at + o->frame_code) & ~(uint64_t)PYTHON_FRAMES_TAG;
	if (!python_reads_has(c->reads, f->code, o->code_bytes) ||
	    python_reads_word(f->code + OBJECT_TYPE) != c->i->code_type ||
	    !python_frames_find_offset(o, at, f->code, &f->offset))
		return false;
	f->stamp = stamp_of(o, f->code);
	return true;
}

/* Whether the frame at `at` is the outermost of its activation. */
static bool ends_activation(const struct python_chain *c, uint64_t at, uint64_t previous)
{
	const struct python_offsets *o = c->i->o;

	if (o->activation < PYTHON_ACTIVATION_ENTRY)
		return true;
	if (o->activation == PYTHON_ACTIVATION_ENTRY)
		return python_reads_byte(at + o->frame_entry) != 0;
	return !python_frames_has(c, previous) || python_frames_is_shim(c, previous);
}

bool python_frames_leave_bare(struct python_chain *c)
{
	if (!python_frames_has(c, c->at) || !python_frames_is_shim(c, c->at))
		return false;
	c->at = python_reads_word(c->at + c->i->o->frame_previous);
	leave_activation(c);
	return true;
}

/* Past the frame at `at`, and past the shim of its activation if that ends with it. */
static bool step_out(struct python_chain *c, uint64_t at)
{
	uint64_t previous = python_reads_word(at + c->i->o->frame_previous);
	bool last = ends_activation(c, at, previous);

	c->at = previous;
	if (last) {
		if (c->i->o->activation >= PYTHON_ACTIVATION_SHIM && python_frames_has(c, previous))
			c->at = python_reads_word(previous + c->i->o->frame_previous);
		leave_activation(c);
	}
	return last;
}

bool python_frames_next(struct python_chain *c, struct python_frame *out, bool *last)
{
	while (c->at) {
		uint64_t at = c->at;

		if (!c->left-- || !python_frames_has(c, at) ||
		    (!python_frames_is_shim(c, at) && !python_frames_read(c, at, out))) {
			c->at = 0;
			c->lost = true;
			return false;
		}
		if (python_frames_leave_bare(c))
			continue;
		*last = step_out(c, at);
		if (!python_frames_is_incomplete(c->i->o, at, out))
			return true;
	}
	return false;
}
