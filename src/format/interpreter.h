/* interpreter.h -- what the target and the collector tell each other about Python. Part of
 * segment.h: pure contract.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_FORMAT_INTERPRETER_H
#define MIDDEN_FORMAT_INTERPRETER_H

/* How frames of Python and native ones are put together. */
enum segment_python {
	/* Python's frames, and the native ones below the innermost of them */
	SEGMENT_PYTHON_MIXED = 0,
	SEGMENT_PYTHON_ONLY = 1, /* Python's frames */
	/* all native frames, with Python's in place of the evaluation loop's */
	SEGMENT_PYTHON_FULL = 2,
	/* Python's frames where the interpreter itself allocates, native ones elsewhere */
	SEGMENT_PYTHON_DOMAINS = 3,
	SEGMENT_PYTHON_OFF = 4,
	SEGMENT_PYTHON_MODES = 5
};

/* What becomes of the small objects that Python's own allocator cuts out of arenas. */
enum segment_pymalloc {
	SEGMENT_PYMALLOC_SAMPLED = 0, /* one block per sample_period bytes is an event */
	SEGMENT_PYMALLOC_EXACT = 1,
	SEGMENT_PYMALLOC_OFF = 2,
	SEGMENT_PYMALLOC_MODES = 3
};

/* What the target found there. */
enum segment_small {
	SEGMENT_SMALL_NONE = 0, /* no Python, or none that was to be looked at */
	SEGMENT_SMALL_HOOKED =
		1, /* its small objects are events, as enum segment_pymalloc has it */
	SEGMENT_SMALL_MALLOC = 2,   /* it has no allocator of its own: PYTHONMALLOC=malloc */
	SEGMENT_SMALL_MIMALLOC = 3, /* another one, without the GIL: not seen */
};

#endif
