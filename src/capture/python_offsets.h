/* python_offsets.h -- where CPython keeps what a walk of its frames reads, by version.
 * Runs: any thread of the target, inside malloc. Called when an interpreter is found.
 * SPDX-License-Identifier: Apache-2.0
 *
 * CPython promises none of this, so nothing is believed before it is checked: the members that the
 * type of code objects itself names (python_offsets_check), the table that 3.13 has for debuggers,
 * and the first frames that are walked (python.c). */
#ifndef MIDDEN_CAPTURE_PYTHON_OFFSETS_H
#define MIDDEN_CAPTURE_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/python_lines.h"

/* What a frame says of the instruction that it is at. */
enum python_instruction {
	PYTHON_INSTRUCTION_BYTES, /* an int: bytes from the start (3.8, 3.9) */
	PYTHON_INSTRUCTION_UNITS, /* an int: units of two bytes (3.10) */
	PYTHON_INSTRUCTION_AT,	  /* a pointer to the last one begun (3.11 on) */
};

/* How the evaluation loop's own frame on the C stack is known. */
enum python_activation {
	PYTHON_ACTIVATION_CODE,	  /* by the function's address; one for each frame (3.8, 3.9) */
	PYTHON_ACTIVATION_FRAME,  /* a struct on the C stack for each frame (3.10) */
	PYTHON_ACTIVATION_ENTRY,  /* a struct there, for frames up to one marked (3.11) */
	PYTHON_ACTIVATION_SHIM,	  /* a struct there, for frames up to a shim (3.12) */
	PYTHON_ACTIVATION_ITSELF, /* the shim itself is there (3.13 on) */
};

#define PYTHON_OWNER_GENERATOR 1 /* in frames' owner */
#define PYTHON_OWNER_SHIM      3 /* this or more */

struct python_offsets {
	uint16_t version; /* 0x030b */
	uint16_t activation;
	uint16_t instruction;
	uint16_t lines;
	/* of a thread state */
	uint16_t thread_frame;	/* the innermost frame; unused where there is a cframe */
	uint16_t thread_cframe; /* 0: there is none */
	uint16_t thread_root;	/* the cframe that is not on the stack */
	uint16_t thread_id;
	/* of a cframe */
	uint16_t cframe_frame;
	uint16_t cframe_previous;
	/* of a frame */
	uint16_t frame_previous;
	uint16_t frame_code;
	uint16_t frame_instruction;
	uint16_t frame_entry;
	uint16_t frame_owner;
	uint16_t frame_bytes; /* so much of it is read */
	/* of a code object */
	uint16_t code_line;
	uint16_t code_file;
	uint16_t code_name;
	uint16_t code_table;
	uint16_t code_version; /* 0: it has none */
	uint16_t code_traceable;
	uint16_t code_start; /* 0: the instructions are elsewhere */
	uint16_t code_bytes; /* so much of it is read */
	/* of a str */
	uint16_t text_ascii;
	uint16_t text_compact;
};

/* Those of a version, 0x030b for 3.11; NULL if it is not known. */
const struct python_offsets *python_offsets_find(uint32_t version);

/* Compares them with what PyCode_Type at `code_type` says of its members. False: they differ, or
 * cannot be read. */
bool python_offsets_check(const struct python_offsets *o, uint64_t code_type);

/* Whether threads of the interpreter run without a GIL, which changes the place of everything. */
bool python_offsets_is_free_threaded(uint32_t version, uint64_t runtime);

/* Compares them with the table for debuggers that begins _PyRuntime, where it has one that is
 * known. False: they differ, or threads run without a GIL. */
bool python_offsets_check_runtime(const struct python_offsets *o, uint64_t runtime);

#endif
