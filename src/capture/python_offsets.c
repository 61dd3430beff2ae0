/* python_offsets.c -- where CPython keeps what a walk of its frames reads, by version.
 * Runs: any thread of the target, inside malloc. Called when an interpreter is found.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Taken from the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0 and 3.14.10 with
 * offsetof; tests/e2e/python runs those that a machine has, tools/portability.py Debian's. */
#include "capture/python_offsets.h"

#include <string.h>

#include "capture/peek.h"

#define BEFORE_311                                                                    \
	.thread_frame = 24, .thread_id = 176, .frame_previous = 24, .frame_code = 32, \
	.frame_bytes = 112, .code_line = 40, .code_file = 104, .code_name = 112,      \
	.code_table = 120, .code_bytes = 128, .text_ascii = 48, .text_compact = 72

#define SINCE_312                                                                                \
	.instruction = PYTHON_INSTRUCTION_AT, .lines = PYTHON_LINES_PLACES, .frame_previous = 8, \
	.frame_code = 0, .frame_instruction = 56, .frame_bytes = 80, .code_line = 68,            \
	.code_file = 112, .code_name = 128, .code_table = 136, .code_version = 92,               \
	.text_ascii = 40, .text_compact = 56

static const struct python_offsets versions[] = {
	{.version = 0x0308,
	 .activation = PYTHON_ACTIVATION_CODE,
	 .instruction = PYTHON_INSTRUCTION_BYTES,
	 .lines = PYTHON_LINES_STEPS,
	 .frame_instruction = 104,
	 BEFORE_311},
	{.version = 0x0309,
	 .activation = PYTHON_ACTIVATION_CODE,
	 .instruction = PYTHON_INSTRUCTION_BYTES,
	 .lines = PYTHON_LINES_STEPS,
	 .frame_instruction = 104,
	 BEFORE_311},
	{.version = 0x030a,
	 .activation = PYTHON_ACTIVATION_FRAME,
	 .instruction = PYTHON_INSTRUCTION_UNITS,
	 .lines = PYTHON_LINES_RANGES,
	 .thread_cframe = 48,
	 .thread_root = 264,
	 .cframe_previous = 8,
	 .frame_instruction = 96,
	 BEFORE_311},
	{.version = 0x030b,
	 .activation = PYTHON_ACTIVATION_ENTRY,
	 .instruction = PYTHON_INSTRUCTION_AT,
	 .lines = PYTHON_LINES_PLACES,
	 .thread_cframe = 56,
	 .thread_root = 336,
	 .thread_id = 152,
	 .cframe_frame = 8,
	 .cframe_previous = 16,
	 .frame_previous = 48,
	 .frame_code = 32,
	 .frame_instruction = 56,
	 .frame_entry = 68,
	 .frame_owner = 69,
	 .frame_bytes = 72,
	 .code_line = 72,
	 .code_file = 112,
	 .code_name = 128,
	 .code_table = 136,
	 .code_traceable = 168,
	 .code_start = 184,
	 .code_bytes = 184,
	 .text_ascii = 48,
	 .text_compact = 72},
	{.version = 0x030c,
	 .activation = PYTHON_ACTIVATION_SHIM,
	 .thread_cframe = 56,
	 .thread_root = 272,
	 .thread_id = 136,
	 .cframe_frame = 0,
	 .cframe_previous = 8,
	 .frame_owner = 70,
	 .code_traceable = 176,
	 .code_start = 192,
	 .code_bytes = 192,
	 SINCE_312},
	{.version = 0x030d,
	 .activation = PYTHON_ACTIVATION_ITSELF,
	 .thread_frame = 72,
	 .thread_id = 152,
	 .frame_owner = 70,
	 .code_traceable = 184,
	 .code_start = 200,
	 .code_bytes = 200,
	 SINCE_312},
	{.version = 0x030e,
	 .activation = PYTHON_ACTIVATION_ITSELF,
	 .thread_frame = 72,
	 .thread_id = 152,
	 .frame_owner = 74,
	 .code_traceable = 192,
	 .code_start = 208,
	 .code_bytes = 208,
	 SINCE_312},
};

const struct python_offsets *python_offsets_find(uint32_t version)
{
	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (versions[i].version == version)
			return &versions[i];
	return NULL;
}

/* ---- what the type says ---------------------------------------------------------------------- */

#define TYPE_SIZE    32	 /* of a PyTypeObject: tp_basicsize */
#define TYPE_MEMBERS 240 /* tp_members */

struct member {
	uint64_t name;
	uint64_t type;
	uint64_t offset;
	uint64_t flags;
	uint64_t doc;
};

#define MEMBERS_MOST 32
#define NAME_ROOM    32

/* Whether the member, if it is one of those that are used, is where it should be. Counts them. */
static bool is_in_place(const struct python_offsets *o, const struct member *m, unsigned *known)
{
	const struct {
		const char *name;
		uint16_t offset;
	} wanted[] = {
		{"co_firstlineno", o->code_line},
		{"co_filename", o->code_file},
		{o->code_start ? "co_qualname" : "co_name", o->code_name},
		{o->version >= 0x030a ? "co_linetable" : "co_lnotab", o->code_table},
	};
	char name[NAME_ROOM] = "";

	if (!peek_text(m->name, name, sizeof(name)))
		return true; /* a longer one than any of these */
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (strcmp(name, wanted[i].name) != 0)
			continue;
		++*known;
		return m->offset == wanted[i].offset;
	}
	return true;
}

bool python_offsets_check(const struct python_offsets *o, uint64_t code_type)
{
	uint64_t size, at;
	unsigned known = 0;

	if (!peek_strictly(code_type + TYPE_SIZE, &size, sizeof(size)) ||
	    !peek_strictly(code_type + TYPE_MEMBERS, &at, sizeof(at)))
		return false;
	if (o->code_start && size != o->code_start)
		return false;
	for (unsigned i = 0; i < MEMBERS_MOST; i++, at += sizeof(struct member)) {
		struct member m;

		if (!peek_strictly(at, &m, sizeof(m)))
			return false;
		if (!m.name)
			break;
		if (!is_in_place(o, &m, &known))
			return false;
	}
	/* 3.10 and 3.8 have no member for one of them: it has a getter. */
	return known >= 3;
}

/* ---- what debuggers are told ----------------------------------------------------------------- */

#define COOKIE	    "xdebugpy"
#define DEBUG_SINCE 0x030d

#define DEBUG_WORDS 81 /* as far as they are used */

/* Where _Py_DebugOffsets has what, in words from its start: each version has a table of its own. */
struct debug_table {
	uint32_t version;
	uint8_t thread_frame;
	uint8_t frame_previous;
	uint8_t frame_code;
	uint8_t frame_instruction;
	uint8_t frame_owner;
	uint8_t code_file;
	uint8_t code_qualname;
	uint8_t code_table;
	uint8_t code_line;
	uint8_t code_start;
	uint8_t text_ascii;
};

#define DEBUG_FREE_THREADED 2 /* in all of them */

static const struct debug_table debug_tables[] = {
	{0x030d, 23, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70},
	{0x030e, 26, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80},
};

static const struct debug_table *find_debug_table(uint32_t version)
{
	for (unsigned i = 0; i < sizeof(debug_tables) / sizeof(debug_tables[0]); i++)
		if (debug_tables[i].version == version)
			return &debug_tables[i];
	return NULL;
}

static bool is_as_said(const struct python_offsets *o, const struct debug_table *t,
		       const uint64_t *words)
{
	return words[t->thread_frame] == o->thread_frame &&
	       words[t->frame_previous] == o->frame_previous &&
	       words[t->frame_code] == o->frame_code &&
	       words[t->frame_instruction] == o->frame_instruction &&
	       words[t->frame_owner] == o->frame_owner && words[t->code_file] == o->code_file &&
	       words[t->code_qualname] == o->code_name && words[t->code_table] == o->code_table &&
	       words[t->code_line] == o->code_line && words[t->code_start] == o->code_start &&
	       words[t->text_ascii] == o->text_ascii;
}

bool python_offsets_is_free_threaded(uint32_t version, uint64_t runtime)
{
	uint64_t words[DEBUG_FREE_THREADED + 1];

	return version >= DEBUG_SINCE && peek_strictly(runtime, words, sizeof(words)) &&
	       memcmp(words, COOKIE, sizeof(words[0])) == 0 && words[DEBUG_FREE_THREADED];
}

bool python_offsets_check_runtime(const struct python_offsets *o, uint64_t runtime)
{
	const struct debug_table *t = find_debug_table(o->version);
	uint64_t words[DEBUG_WORDS];

	if (!t)
		return true;
	return peek_strictly(runtime, words, sizeof(words)) &&
	       memcmp(words, COOKIE, sizeof(words[0])) == 0 && !words[DEBUG_FREE_THREADED] &&
	       is_as_said(o, t, words);
}
