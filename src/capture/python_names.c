/* python_names.c -- frames of Python as named frames of the segment.
 * Runs: any thread of the target, inside malloc. Called by python.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_names.h"

#include <string.h>

#include "capture/named.h"
#include "capture/python_memo.h"
#include "capture/texts.h"

#define OBJECT_TYPE 8  /* of a PyObject */
#define BYTES_SIZE  16 /* of a bytes object */
#define BYTES_DATA  32
#define TEXT_LENGTH 16 /* of a str, in characters */
#define TEXT_STATE  32
#define TABLE_MOST  (1u << 20)
#define PIECE_BYTES 2048 /* read at once: at most two pages */
#define FROZEN	    "<frozen"

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whether any number of bytes can be read. */
static bool has_all(struct python_reads *r, uint64_t at, uint64_t bytes)
{
	while (bytes > PIECE_BYTES) {
		if (!python_reads_has(r, at, PIECE_BYTES))
			return false;
		at += PIECE_BYTES;
		bytes -= PIECE_BYTES;
	}
	return !bytes || python_reads_has(r, at, bytes);
}

static bool is_object(const struct python_namer *n, uint64_t at, uint64_t type, size_t bytes)
{
	return !(at & 7) && python_reads_has(n->reads, at, bytes) &&
	       python_reads_word(at + OBJECT_TYPE) == type;
}

/* ---- texts ----------------------------------------------------------------------------------- */

struct text {
	uint64_t data;
	uint64_t length; /* characters */
	uint32_t width;	 /* bytes of each */
};

static bool find_text(const struct python_namer *n, uint64_t at, struct text *t)
{
	const struct python_offsets *o = n->i->o;

	if (!is_object(n, at, n->i->text_type, 80))
		return false;
	uint32_t state = python_reads_half(at + TEXT_STATE);
	/* interned:2 kind:3 compact:1 ascii:1; interned may be of 16 bits since 3.14 */
	state >>= state & 0xfffc ? 2 : 16;
	t->width = state & 7;
	t->length = python_reads_word(at + TEXT_LENGTH);
	if (!(state & 8))
		t->data = python_reads_word(at + o->text_compact);
	else
		t->data = at + (state & 16 ? o->text_ascii : o->text_compact);
	if (t->width != 1 && t->width != 2 && t->width != 4)
		return false;
	/* More than is kept need not be there. */
	if (t->length > SEGMENT_TEXT_MAX)
		t->length = SEGMENT_TEXT_MAX;
	return has_all(n->reads, t->data, t->length * t->width);
}

static uint32_t get_character(const struct text *t, uint64_t i)
{
	uint64_t at = t->data + i * t->width;

	if (t->width == 1)
		return python_reads_byte(at);
	if (t->width == 4)
		return python_reads_half(at);
	return python_reads_byte(at) | (uint32_t)python_reads_byte(at + 1) << 8;
}

/* As UTF-8; what stands for a byte of a path that was none becomes that byte again. The number of
 * bytes. */
static size_t put_character(char *to, uint32_t c)
{
	if (c == 0 || c > 0x10ffff)
		c = '?';
	if (c >= 0xdc80 && c <= 0xdcff)
		c -= 0xdc00;
	else if (c >= 0x80) {
		unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

		to[0] = (char)((0xff00u >> (more + 1) & 0xffu) | c >> 6 * more);
		for (unsigned i = 1; i <= more; i++)
			to[i] = (char)(0x80 | (c >> 6 * (more - i) & 63));
		return more + 1;
	}
	to[0] = (char)c;
	return 1;
}

/* The number of a str in the segment; 0 if it is none. */
static uint32_t copy_text(const struct python_namer *n, const struct texts *texts, uint64_t at)
{
	size_t bytes = 0;
	struct text t;

	if (!find_text(n, at, &t))
		return 0;
	for (uint64_t i = 0; i < t.length && bytes < SEGMENT_TEXT_MAX; i++)
		bytes += put_character(n->text + bytes, get_character(&t, i));
	return texts_add(texts, n->text, bytes);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool find_lines(const struct python_namer *n, uint64_t code, struct python_lines *l)
{
	const struct python_offsets *o = n->i->o;
	uint64_t table = python_reads_word(code + o->code_table);

	if (!is_object(n, table, n->i->bytes_type, BYTES_DATA))
		return false;
	*l = (struct python_lines){
		.kind = o->lines,
		.table = (const uint8_t *)(uintptr_t)(table + BYTES_DATA), /* NOLINT */
		.bytes = python_reads_word(table + BYTES_SIZE),
		.first_line = (int32_t)python_reads_half(code + o->code_line)};
	return l->bytes <= TABLE_MOST && has_all(n->reads, table + BYTES_DATA, l->bytes);
}

/* A hash of the line table of what was compiled from a text, which has no file; else 0. */
static uint64_t hash_table(const struct python_namer *n, uint64_t code)
{
	struct python_lines lines;
	struct text file;
	uint64_t hash = 1;

	if (n->i->o->code_version || !find_lines(n, code, &lines) ||
	    !find_text(n, python_reads_word(code + n->i->o->code_file), &file) || !file.length ||
	    get_character(&file, 0) != '<')
		return 0;
	/* Frozen ones stay where they are. */
	if (file.width == 1 && file.length >= sizeof(FROZEN) - 1 &&
	    memcmp((const char *)(uintptr_t)file.data, FROZEN, sizeof(FROZEN) - 1) ==
		    0) /* NOLINT */
		return 0;
	for (size_t i = 0; i < lines.bytes; i++)
		hash = (hash ^ lines.table[i]) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Shared by all threads, without locks: `check` covers the other words, and which segment the place
 * is in, so what two writers tore or a fork left is not believed. */
struct entry {
	_Atomic uint64_t check;
	_Atomic uint64_t code;
	_Atomic uint64_t stamp;
	_Atomic uint64_t offset;
	_Atomic uint64_t table;
	_Atomic uint64_t place;
};

#define ENTRY_BITS 13 /* 8192 x 48 bytes; pages that nothing maps to are never touched */
static struct entry entries[1u << ENTRY_BITS];

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static struct entry *entry_of(const struct python_frame *f)
{
	return &entries[mix(mix(1, f->code), (uint64_t)f->offset) >> (64 - ENTRY_BITS)];
}

static uint64_t check_of(const struct python_name *name)
{
	uint64_t hash = mix(process->header->clock_base, (uint64_t)process->pid);

	hash = mix(mix(mix(hash, name->frame.code), name->frame.stamp),
		   (uint64_t)name->frame.offset);
	return mix(mix(hash, name->table), name->place) | 1;
}

static bool take(struct entry *e, const struct python_frame *f, struct python_name *name)
{
	/* Pairs with the release in put: whoever publishes a node with the place has seen it. */
	uint64_t check = atomic_load_explicit(&e->check, memory_order_acquire);

	name->frame = *f;
	name->table = atomic_load_explicit(&e->table, memory_order_relaxed);
	name->place = (uint32_t)atomic_load_explicit(&e->place, memory_order_relaxed);
	return atomic_load_explicit(&e->code, memory_order_relaxed) == f->code &&
	       atomic_load_explicit(&e->stamp, memory_order_relaxed) == f->stamp &&
	       atomic_load_explicit(&e->offset, memory_order_relaxed) == (uint64_t)f->offset &&
	       check == check_of(name);
}

static void put(struct entry *e, const struct python_name *name)
{
	atomic_store_explicit(&e->code, name->frame.code, memory_order_relaxed);
	atomic_store_explicit(&e->stamp, name->frame.stamp, memory_order_relaxed);
	atomic_store_explicit(&e->offset, (uint64_t)name->frame.offset, memory_order_relaxed);
	atomic_store_explicit(&e->table, name->table, memory_order_relaxed);
	atomic_store_explicit(&e->place, name->place, memory_order_relaxed);
	/* Pairs with the acquire in take. */
	atomic_store_explicit(&e->check, check_of(name), memory_order_release);
}

/* Of another code object at this address, that has been freed: it begins anew. */
static struct python_lines_mark *find_mark(const struct python_namer *n, uint64_t code)
{
	uint64_t ended = atomic_load_explicit(&python_memo_codes_ended, memory_order_relaxed);
	struct python_names_mark *m = &n->marks[mix(1, code) >> (64 - PYTHON_NAMES_MARK_BITS)];

	if (m->code != code || m->ended != ended)
		*m = (struct python_names_mark){.code = code, .ended = ended};
	return &m->mark;
}

static NOINLINE void make(const struct python_namer *n, struct python_name *name)
{
	const struct python_offsets *o = n->i->o;
	const struct texts texts = texts_get();
	const struct named named = named_get();
	struct segment_named wanted = {.kind = SEGMENT_NAMED_PYTHON};
	uint64_t code = name->frame.code;
	struct python_lines lines;

	wanted.function = copy_text(n, &texts, python_reads_word(code + o->code_name));
	wanted.file = copy_text(n, &texts, python_reads_word(code + o->code_file));
	if (find_lines(n, code, &lines))
		wanted.line =
			python_lines_find_from(&lines, name->frame.offset, find_mark(n, code));
	name->place = named_add(&named, &wanted);
}

void python_names_find(const struct python_namer *n, struct python_name *name)
{
	const struct python_frame frame = name->frame;
	struct entry *e = entry_of(&frame);

	if (take(e, &frame, name) && (!name->table || python_names_has_table(n, name)))
		return;
	name->table = hash_table(n, frame.code);
	make(n, name);
	put(e, name);
}

NOINLINE bool python_names_has_table(const struct python_namer *n, const struct python_name *name)
{
	return name->table == hash_table(n, name->frame.code);
}

bool python_names_check(const struct python_namer *n, uint64_t code)
{
	const struct python_offsets *o = n->i->o;
	struct python_lines lines;
	struct text text;

	return find_text(n, python_reads_word(code + o->code_name), &text) && text.length &&
	       find_text(n, python_reads_word(code + o->code_file), &text) &&
	       find_lines(n, code, &lines) && lines.first_line >= 0;
}
