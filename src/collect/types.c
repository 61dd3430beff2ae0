/* types.c -- the live objects of a Python program by their type. Runs: in a copy of the collector,
 * beside the target, which goes on.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/types.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/map.h"
#include "base/utf8.h"

/* Of objects and types, the same from 3.8 to 3.14 where there is a GIL. */
#define OBJECT_TYPE	   8u
#define OBJECT_BYTES	   16u
#define TYPE_NAME	   24u
#define TYPE_BASIC_BYTES   32u
#define TYPE_FLAGS	   168u
#define TYPE_BYTES	   176u /* so much of one is read */
#define HEAP_TYPE_BYTES	   424u /* a block that a type is in has more */

#define FLAG_SUBCLASS_TYPE (UINT64_C(1) << 31) /* its instances are types */
#define FLAG_GC		   (UINT64_C(1) << 14) /* they have two words in front */
#define FLAG_PREHEADER	   (UINT64_C(3) << 3)  /* and two more: dicts, weak references */

#define FLAG_SUBCLASS_TEXT (UINT64_C(1) << 28) /* they may have less than the basic size */
#define TEXT_BYTES	   40u

#define HEAD_BYTES	   48u /* of each block: two and two words, and an object */
#define BATCH		   512u
#define METATYPES_MOST	   8u /* types of types of types */
#define TYPES_MOST	   100000u
#define ROWS_MOST	   4096u

struct block {
	uint64_t ptr;
	uint64_t size;
	struct weight weight;
};

/* A type, or what was taken for one. */
struct kind {
	uint64_t basic_bytes;
	uint64_t flags;
	uint32_t row; /* plus one; 0: it is none */
};

/* Most objects are of few types. */
#define RECENT_BITS 10u

struct look {
	struct types *types;
	struct account *account;
	int pid;
	VEC(struct block) blocks;
	VEC(struct kind) kinds;
	struct map known; /* address of what may be a type to its kind plus one */
	struct {
		uint64_t at;
		struct kind kind;
	} recent[1u << RECENT_BITS];
};

/* ---- reading --------------------------------------------------------------------------------- */

static size_t read_some(const struct look *l, uint64_t at, void *to, size_t bytes)
{
	const struct iovec here = {to, bytes};
	const struct iovec there = {(void *)(uintptr_t)at, bytes}; /* NOLINT: the target's */
	ssize_t n = process_vm_readv(l->pid, &here, 1, &there, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

static uint64_t word_at(const char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool can_be_address(uint64_t at)
{
	return at >= 4096 && at % 8 == 0 && at < UINT64_C(1) << 56;
}

/* What points to an object that is known, and too small to be a type, need not be read. */
static bool can_be_type(const struct look *l, uint64_t at)
{
	const struct live *live = &l->account->live;

	if (!can_be_address(at))
		return false;
	if (live_find(live, live_hash(at), at) || live_find(live, live_hash(at - 32), at - 32))
		return false;
	const struct live_block *b = live_find(live, live_hash(at - 16), at - 16);
	return !b || account_is_sample(b) || b->size > HEAP_TYPE_BYTES;
}

static bool read_type(const struct look *l, uint64_t at, char bytes[TYPE_BYTES])
{
	return can_be_address(at) && read_some(l, at, bytes, TYPE_BYTES) == TYPE_BYTES;
}

/* The name, cut where it is too long or is no text. False: there is none. */
static bool read_name(const struct look *l, uint64_t at, char name[TYPES_NAME_BYTES])
{
	size_t n = read_some(l, at, name, TYPES_NAME_BYTES - 1), i = 0;
	uint32_t code;

	name[n] = '\0';
	while (name[i]) {
		size_t bytes = utf8_decode(name + i, &code);

		if (!bytes || utf8_is_unsafe(code))
			break;
		i += bytes;
	}
	name[i] = '\0';
	return i > 0;
}

/* Whether types lead from `type` to the one that is its own. */
static bool leads_to_root(const struct look *l, uint64_t type)
{
	char bytes[TYPE_BYTES], name[TYPES_NAME_BYTES];

	for (unsigned i = 0; i < METATYPES_MOST; i++) {
		if (!read_type(l, type, bytes) ||
		    !(word_at(bytes, TYPE_FLAGS) & FLAG_SUBCLASS_TYPE))
			return false;
		uint64_t next = word_at(bytes, OBJECT_TYPE);
		if (next == type)
			return read_name(l, word_at(bytes, TYPE_NAME), name) &&
			       strcmp(name, "type") == 0;
		type = next;
	}
	return false;
}

static struct kind make_kind(struct look *l, uint64_t at)
{
	struct types_row row = {0};
	char bytes[TYPE_BYTES];

	if (l->types->rows.count >= TYPES_MOST || !read_type(l, at, bytes) ||
	    !leads_to_root(l, word_at(bytes, OBJECT_TYPE)) ||
	    !read_name(l, word_at(bytes, TYPE_NAME), row.name))
		return (struct kind){0};
	*vec_push(&l->types->rows) = row;
	return (struct kind){.basic_bytes = word_at(bytes, TYPE_BASIC_BYTES),
			     .flags = word_at(bytes, TYPE_FLAGS),
			     .row = (uint32_t)l->types->rows.count};
}

static struct kind find_kind(struct look *l, uint64_t at)
{
	size_t place = (size_t)(at * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_BITS));

	if (l->recent[place].at == at)
		return l->recent[place].kind;
	if (!can_be_type(l, at))
		return (struct kind){0};
	uint32_t *number = map_reserve(&l->known, at);
	if (!*number) {
		*number = (uint32_t)l->kinds.count + 1;
		const struct kind made = make_kind(l, at);
		*vec_push(&l->kinds) = made;
	}
	l->recent[place].at = at;
	l->recent[place].kind = l->kinds.at[*number - 1];
	return l->recent[place].kind;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* How far into its block an object of the type begins. */
static size_t get_front(const struct kind *k)
{
	return (k->flags & FLAG_GC ? 16u : 0) + (k->flags & FLAG_PREHEADER ? 16u : 0);
}

/* The least that an object of the type takes. */
static uint64_t get_least(const struct kind *k)
{
	return k->flags & FLAG_SUBCLASS_TEXT && k->basic_bytes > TEXT_BYTES ? TEXT_BYTES
									    : k->basic_bytes;
}

/* Whether an object can begin with this word, its count of references. In a table of pointers it is
 * one: an address above 4 GiB, or that of a type. (3.14 has flags in the upper 16 bits.) */
static bool can_be_count(struct look *l, uint64_t word)
{
	if (word >> 32 && !(word >> 48))
		return false;
	return (uint32_t)word && !find_kind(l, word).row;
}

/* The row of the object that a block with these first bytes is; 0: it is none. */
static uint32_t find_row(struct look *l, const struct block *b, const char head[HEAD_BYTES],
			 size_t bytes)
{
	for (size_t front = 0; front + OBJECT_BYTES <= bytes; front += 16) {
		const struct kind k = find_kind(l, word_at(head, front + OBJECT_TYPE));

		if (k.row && get_front(&k) == front && can_be_count(l, word_at(head, front)) &&
		    k.basic_bytes >= OBJECT_BYTES && get_least(&k) <= b->size - front)
			return k.row;
	}
	return 0;
}

static void add(struct types_row *row, const struct weight *w)
{
	row->objects += w->blocks;
	row->bytes += w->bytes;
	row->objects_variance += w->blocks_variance;
	row->bytes_variance += w->bytes_variance;
}

static size_t get_head_bytes(const struct block *b)
{
	return b->size < HEAD_BYTES ? b->size : HEAD_BYTES;
}

/* Reads the heads of blocks from `first` on, as many as can be; their number. Where one cannot be
 * read the kernel stops in front of it. */
static size_t read_heads(const struct look *l, size_t first, size_t count,
			 char heads[BATCH][HEAD_BYTES])
{
	struct iovec here[BATCH], there[BATCH];
	size_t done = 0;

	for (size_t i = 0; i < count; i++) {
		const struct block *b = &l->blocks.at[first + i];

		here[i] = (struct iovec){heads[i], get_head_bytes(b)};
		there[i] =
			(struct iovec){(void *)(uintptr_t)b->ptr, get_head_bytes(b)}; /* NOLINT */
	}
	ssize_t n = process_vm_readv(l->pid, here, count, there, count, 0);
	for (size_t bytes = n > 0 ? (size_t)n : 0; done < count; done++) {
		size_t need = here[done].iov_len;

		if (bytes < need)
			break;
		bytes -= need;
	}
	return done;
}

static void look_at_blocks(struct look *l, struct types_row *none)
{
	static char heads[BATCH][HEAD_BYTES];

	for (size_t first = 0; first < l->blocks.count;) {
		size_t left = l->blocks.count - first;
		size_t count = read_heads(l, first, left < BATCH ? left : BATCH, heads);

		for (size_t i = 0; i < count; i++) {
			const struct block *b = &l->blocks.at[first + i];
			uint32_t row = find_row(l, b, heads[i], get_head_bytes(b));

			add(row ? &l->types->rows.at[row - 1] : none, &b->weight);
		}
		first += count;
		if (!count && first < l->blocks.count)
			add(none, &l->blocks.at[first++].weight);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void add_block(void *context, struct live_block *block)
{
	struct look *l = context;
	struct block b = {.ptr = block->ptr,
			  .size = block->size,
			  .weight = {.bytes = block->size, .blocks = 1}};

	if (account_is_sample(block)) {
		const struct sample *s = &l->account->sampling->samples.at[(uint32_t)block->size];

		b.size = s->size;
		b.weight = s->weight;
	}
	*vec_push(&l->blocks) = b;
}

static int compare_rows(const void *left, const void *right)
{
	const struct types_row *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	if (a->objects != b->objects)
		return a->objects < b->objects ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void sum_up(struct types_row *sum, const struct types_row *more)
{
	sum->objects += more->objects;
	sum->bytes += more->bytes;
	sum->objects_variance += more->objects_variance;
	sum->bytes_variance += more->bytes_variance;
}

/* Types without an object here are left out: those that are static, mostly. */
static void finish(struct types *t, const struct types_row *none)
{
	struct types_row rest = {.name = "(other types)"};
	size_t kept = 0;

	for (size_t i = 0; i < t->rows.count; i++)
		if (t->rows.at[i].objects)
			t->rows.at[kept++] = t->rows.at[i];
	t->rows.count = kept;
	if (!kept)
		return;
	qsort(t->rows.at, kept, sizeof(t->rows.at[0]), compare_rows);
	for (size_t i = ROWS_MOST; i < kept; i++)
		sum_up(&rest, &t->rows.at[i]);
	if (kept > ROWS_MOST) {
		t->rows.count = ROWS_MOST;
		*vec_push(&t->rows) = rest;
	}
	*vec_push(&t->rows) = *none;
}

void types_take(struct types *t, struct account *a, int pid)
{
	struct look *l = mem_new(1, sizeof(*l));
	struct types_row none = {0};

	l->types = t;
	l->account = a;
	l->pid = pid;
	live_visit(&a->live, add_block, l);
	look_at_blocks(l, &none);
	finish(t, &none);
	vec_free(&l->blocks);
	vec_free(&l->kinds);
	map_free(&l->known);
	free(l);
}

void types_fini(struct types *t)
{
	vec_free(&t->rows);
}
