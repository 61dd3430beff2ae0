/* loadlist.c -- the loaded objects, as the loader lists them for debuggers.
 * Runs: any thread of the target, inside malloc. Called by modules.c where there is no
 * _dl_find_object (glibc < 2.35, musl).
 * SPDX-License-Identifier: Apache-2.0
 *
 * What was read is kept in one of two tables. One thread at a time fills the other and makes it the
 * current one; a reader that was overtaken twice looks again. Loaders put new objects at the end of
 * the list, so one look at what follows the last known one tells whether there are any. */
#include "capture/loadlist.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "capture/host.h"
#include "capture/image.h"
#include "capture/peek.h"

#define OBJECTS_MOST 1024
#define TRIES	     4

/* glibc's name for it. NOLINTNEXTLINE(readability-redundant-declaration): weak */
extern struct r_debug _r_debug __attribute__((weak));

#define WORDS 4 /* of a struct loaded */
_Static_assert(sizeof(struct loaded) == WORDS * sizeof(uint64_t), "words alone");

/* A reader may look at a table that is being filled anew. Its loads acquire and the stores release,
 * so whoever has seen a word of the next contents sees that the version has changed. */
struct table {
	_Atomic uint32_t generation;
	_Atomic uint32_t count;
	_Atomic uint64_t last; /* struct link_map of the last object; 0: not filled yet */
	_Atomic uint64_t at[OBJECTS_MOST][WORDS];
};

static struct table tables[2];
static _Atomic uint32_t version; /* tables[version % 2] is the current one */
static _Atomic uint32_t filling;
static uint64_t list; /* struct r_debug */

/* ---- the list -------------------------------------------------------------------------------- */

/* Where the program itself says that it is: its dynamic section has a slot for debuggers. */
static uint64_t find_by_program(void)
{
	const Elf64_Phdr *headers =
		(const void *)getauxval(AT_PHDR); /* NOLINT: the kernel's word */
	unsigned long count = getauxval(AT_PHNUM);
	const Elf64_Dyn *dynamic = NULL;
	uint64_t bias = 0;

	for (unsigned long i = 0; headers && i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = (uint64_t)(uintptr_t)headers - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(uintptr_t)(bias + headers[i].p_vaddr); /* NOLINT */
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
		if (dynamic->d_tag == DT_DEBUG)
			return dynamic->d_un.d_ptr;
	return 0;
}

bool loadlist_init(void)
{
	list = &_r_debug ? (uint64_t)(uintptr_t)&_r_debug : find_by_program();
	return list != 0;
}

uint64_t loadlist_loader(void)
{
	struct r_debug r;

	return list && peek_copy(list, &r, sizeof(r)) ? (uint64_t)r.r_ldbase : 0;
}

/* ---- objects --------------------------------------------------------------------------------- */

static void take_headers(struct loaded *o, const Elf64_Phdr *p, unsigned count, uint64_t bias)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t start = bias + p[i].p_vaddr;

		if (p[i].p_type == PT_GNU_EH_FRAME)
			o->eh_frame_hdr = start;
		if (p[i].p_type != PT_LOAD)
			continue;
		if (start < o->map_start)
			o->map_start = start & ~UINT64_C(4095);
		if (start + p[i].p_memsz > o->map_end)
			o->map_end = start + p[i].p_memsz;
	}
}

/* The program's headers are where the kernel says; those of a library follow its first byte. */
static bool describe(struct loaded *o, const struct link_map *map, bool is_program)
{
	const struct image image = {.map_start = map->l_addr};
	struct image_headers h;

	if (is_program)
		take_headers(o, (const void *)getauxval(AT_PHDR), /* NOLINT */
			     (unsigned)getauxval(AT_PHNUM), map->l_addr);
	else if (image_read_headers(&image, &h))
		take_headers(o, h.at, h.count, map->l_addr);
	return o->map_start < o->map_end;
}

static uint64_t first_map(void)
{
	struct r_debug r;

	return peek_copy(list, &r, sizeof(r)) ? (uint64_t)(uintptr_t)r.r_map : 0;
}

static uint64_t next_of(uint64_t map)
{
	struct link_map m;

	return peek_copy(map, &m, sizeof(m)) ? (uint64_t)(uintptr_t)m.l_next : 0;
}

/* Copies the text at `at`, cut where it is too long or cannot be read, page by page. */
static void copy_text(uint64_t at, char *text, size_t room)
{
	size_t length = 0;

	text[0] = '\0';
	while (length < room - 1 && strlen(text) == length) {
		size_t part = 4096 - (at + length) % 4096;

		if (part > room - 1 - length)
			part = room - 1 - length;
		if (!peek_copy(at + length, text + length, part))
			part = 0;
		length += part;
		text[length] = '\0';
		if (!part)
			return;
	}
}

/* Whether the file's name at the end of the path at `path` begins so. */
static bool is_named(uint64_t path, const char *name)
{
	char text[512];

	copy_text(path, text, sizeof(text));
	const char *slash = strrchr(text, '/');
	return strncmp(slash ? slash + 1 : text, name, strlen(name)) == 0;
}

uint64_t loadlist_find_named(const char *name)
{
	struct link_map m;

	for (uint64_t at = list ? first_map() : 0; at && peek_copy(at, &m, sizeof(m));
	     at = (uint64_t)(uintptr_t)m.l_next)
		if (is_named((uint64_t)(uintptr_t)m.l_name, name))
			return (uint64_t)(uintptr_t)m.l_ld;
	return 0;
}

static struct loaded take(struct table *t, uint32_t i)
{
	uint64_t words[WORDS];
	struct loaded o;

	for (unsigned w = 0; w < WORDS; w++)
		words[w] = atomic_load_explicit(&t->at[i][w], memory_order_acquire);
	memcpy(&o, words, sizeof(o));
	return o;
}

static void put(struct table *t, const struct loaded *o)
{
	uint32_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
	uint64_t words[WORDS];

	if (count == OBJECTS_MOST)
		return;
	memcpy(words, o, sizeof(words));
	for (unsigned w = 0; w < WORDS; w++)
		atomic_store_explicit(&t->at[count][w], words[w], memory_order_release);
	atomic_store_explicit(&t->count, count + 1, memory_order_release);
}

/* Goes on where the table ends. */
static void fill(struct table *t)
{
	uint64_t last = atomic_load_explicit(&t->last, memory_order_relaxed);
	bool is_program = last == 0;
	uint64_t at = is_program ? first_map() : next_of(last);

	for (; at; is_program = false) {
		struct loaded o = {.map_start = UINT64_MAX, .map = at};
		struct link_map m;

		if (!peek_copy(at, &m, sizeof(m)))
			return;
		if (describe(&o, &m, is_program))
			put(t, &o);
		atomic_store_explicit(&t->last, at, memory_order_release);
		at = (uint64_t)(uintptr_t)m.l_next;
	}
}

/* ---- the question ---------------------------------------------------------------------------- */

/* Empties a table, or copies what the other one has for the same generation. */
static void begin(struct table *to, struct table *from, uint32_t generation)
{
	bool same = atomic_load(&from->generation) == generation;

	atomic_store_explicit(&to->generation, generation, memory_order_release);
	atomic_store_explicit(&to->count, 0, memory_order_release);
	for (uint32_t i = 0; same && i < atomic_load(&from->count); i++) {
		const struct loaded o = take(from, i);

		put(to, &o);
	}
	atomic_store_explicit(&to->last, same ? atomic_load(&from->last) : 0, memory_order_release);
}

/* Makes a table for this generation with all that is there now. False: another thread is at it. */
static bool update(uint32_t generation)
{
	uint64_t blocked = host_block_signals(); /* a handler may neither ask nor jump out */
	bool is_mine = !atomic_exchange(&filling, 1);

	if (is_mine) {
		uint32_t old = atomic_load(&version);
		struct table *to = &tables[(old + 1) % 2];

		begin(to, &tables[old % 2], generation);
		fill(to);
		/* Pairs with the acquire in look. */
		atomic_store_explicit(&version, old + 1, memory_order_release);
		atomic_store(&filling, 0);
	}
	host_set_signals(blocked);
	return is_mine;
}

enum found { FOUND, FOUND_NONE, FOUND_STALE };

static enum found look(uint64_t address, uint32_t generation, struct loaded *object)
{
	uint32_t seen = atomic_load_explicit(&version, memory_order_acquire);
	struct table *t = &tables[seen % 2];
	uint64_t last = atomic_load_explicit(&t->last, memory_order_acquire);
	enum found found = FOUND_NONE;

	if (last == 0 || atomic_load_explicit(&t->generation, memory_order_acquire) != generation)
		return FOUND_STALE;
	uint32_t count = atomic_load_explicit(&t->count, memory_order_acquire);
	for (uint32_t i = 0; i < count && found == FOUND_NONE; i++) {
		*object = take(t, i);
		if (address - object->map_start < object->map_end - object->map_start)
			found = FOUND;
	}
	if (found == FOUND_NONE && next_of(last) != 0)
		found = FOUND_STALE;
	/* While this is the current table, none other than the other one is being written. */
	return atomic_load(&version) == seen ? found : FOUND_STALE;
}

bool loadlist_find(uint64_t address, uint32_t generation, struct loaded *object)
{
	for (int try = 0; list && try < TRIES; try++) {
		enum found found = look(address, generation, object);

		if (found != FOUND_STALE)
			return found == FOUND;
		(void)update(generation);
	}
	return false;
}
