/* modules.c -- which loaded object an address belongs to, right across dlopen and dlclose.
 * Runs: any thread of the target, inside malloc. Called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0
 *
 * glibc 2.35 and later are asked through _dl_find_object, which takes no lock; elsewhere the list
 * that loaders keep for debuggers is read (loadlist.c). Between the answer and its use the object
 * may be unloaded by another thread, unless a live frame of it is on our own stack. So nothing here
 * follows a pointer into it, or into what the loader knows of it: all is copied (peek.h).
 *
 * Objects go away by dlclose, which is wrapped, and by libc's own hand (modules of iconv): then the
 * loader is seen to free what it knew of them. */
#include "capture/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "capture/cfi.h"
#include "capture/cfi_index.h"
#include "capture/host.h"
#include "capture/image.h"
#include "capture/loadlist.h"
#include "capture/peek.h"
#include "capture/python.h"
#include "capture/sections.h"
#include "capture/sieve.h"
#include "capture/texts.h"
#include "capture/thread.h"
#include "format/clock.h"

#ifndef DLFO_STRUCT_HAS_EH_DBASE
/* As glibc 2.35 declares it; the symbol is looked up weakly. */
struct dl_find_object {
	__extension__ unsigned long long int dlfo_flags;
	void *dlfo_map_start;
	void *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame;
	__extension__ unsigned long long int __dflo_reserved[7];
};
#endif
/* NOLINTNEXTLINE(readability-redundant-declaration): weak, because glibc before 2.35 has none */
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak));

#define PATH_ROOM  1024 /* longer ones are left out */
#define TRIES_MOST 100

_Static_assert(IMAGE_BUILD_ID_MAX == SEGMENT_BUILD_ID_MAX, "a build-id fits the segment");

_Atomic uint32_t modules_generation = 1;

struct modules_area modules_loader;

/* What is known of an object while it is being registered. */
struct object {
	struct image image;
	struct image_headers headers;
	char path[PATH_ROOM];
};

/* ---- registration ---------------------------------------------------------------------------- */

static struct segment_module *module_at(uint32_t id)
{
	return (struct segment_module *)((char *)process->header + process->layout.modules_offset) +
	       id;
}

/* The same file at the same place keeps its id when it is loaded again. */
static bool is_registered(const struct segment_module *m, const struct segment_module *wanted,
			  const char *path)
{
	const char *strings = (const char *)process->header + process->layout.strings_offset;

	return atomic_load_explicit(&m->ready, memory_order_acquire) &&
	       m->map_start == wanted->map_start && m->map_end == wanted->map_end &&
	       m->bias == wanted->bias && m->build_id_bytes == wanted->build_id_bytes &&
	       memcmp(m->build_id, wanted->build_id, sizeof(m->build_id)) == 0 &&
	       strcmp(strings + m->path_offset, path) == 0;
}

static uint32_t find_registered(const struct segment_module *wanted, const char *path)
{
	uint32_t used = atomic_load(&process->header->modules_used);

	for (uint32_t id = 1; id <= used && id < process->layout.module_count; id++)
		if (is_registered(module_at(id), wanted, path))
			return id;
	return 0;
}

static uint32_t register_object(const struct object *o)
{
	struct segment_header *h = process->header;
	const struct texts texts = texts_get();
	struct segment_module wanted = {.bias = o->image.bias,
					.map_start = o->image.map_start,
					.map_end = o->image.map_end};

	wanted.build_id_bytes = image_read_build_id(&o->image, &o->headers, wanted.build_id);
	uint32_t id = find_registered(&wanted, o->path);
	if (id)
		return id;
	id = atomic_fetch_add(&h->modules_used, 1) + 1;
	if (id >= process->layout.module_count) {
		atomic_fetch_sub(&h->modules_used, 1);
		return 0;
	}
	struct segment_module *m = module_at(id);
	m->bias = wanted.bias;
	m->map_start = wanted.map_start;
	m->map_end = wanted.map_end;
	m->build_id_bytes = wanted.build_id_bytes;
	memcpy(m->build_id, wanted.build_id, sizeof(m->build_id));
	m->load_ticks = clock_read(h->clock) - h->clock_base;
	m->path_offset = texts_add(&texts, o->path, strlen(o->path));
	/* Pairs with the acquire in is_registered and in the collector. */
	atomic_store_explicit(&m->ready, 1, memory_order_release);
	python_look_at(id, &o->image, &o->headers);
	return id;
}

/* ---- the loader ------------------------------------------------------------------------------ */

static bool ask_loader(uint64_t address, struct loaded *l)
{
	struct dl_find_object found;

	if (!_dl_find_object)
		return loadlist_find(address, atomic_load(&modules_generation), l);
	if (_dl_find_object((void *)(uintptr_t)address, &found) != 0) /* NOLINT */
		return false;
	*l = (struct loaded){.map_start = (uint64_t)(uintptr_t)found.dlfo_map_start,
			     .map_end = (uint64_t)(uintptr_t)found.dlfo_map_end,
			     .map = (uint64_t)(uintptr_t)found.dlfo_link_map,
			     .eh_frame_hdr = (uint64_t)(uintptr_t)found.dlfo_eh_frame};
	return true;
}

/* Whether the object has been there all the time: loaders forget it before they unmap it, and the
 * generation changes before another one can have its struct link_map. */
static bool is_there(const struct loaded *l, uint32_t generation)
{
	struct loaded now;

	return ask_loader(l->map_start, &now) && now.map == l->map &&
	       now.map_start == l->map_start && atomic_load(&modules_generation) == generation;
}

/* ---- what is known --------------------------------------------------------------------------- */

/* An object while it is loaded. */
struct facts {
	uint64_t map; /* struct link_map */
	uint64_t map_start;
	uint64_t map_end;
	uint64_t bias;
	uint64_t id;
	uint64_t tables;     /* .eh_frame_hdr, or what stands in for it */
	uint64_t read_start; /* as in struct image */
	uint64_t read_end;
	uint64_t code; /* first byte of code, and one past the last, from map_start: 32 bits each */
};

/* A cache of facts, shared by all threads, without locks. `check` covers the facts and the
 * generation, so what two writers tore, a signal cut, or an unloaded object left is not
 * believed. */
struct known {
	_Atomic uint64_t check;
	_Atomic uint64_t map;
	_Atomic uint64_t map_start;
	_Atomic uint64_t map_end;
	_Atomic uint64_t bias;
	_Atomic uint64_t id;
	_Atomic uint64_t tables;
	_Atomic uint64_t read_start;
	_Atomic uint64_t read_end;
	_Atomic uint64_t code;
};

#define KNOWN_SETS 256 /* by address */
#define KNOWN_WAYS 8
static struct known known[KNOWN_SETS][KNOWN_WAYS];

/* The generation in which known facts last had to make room for others. */
static _Atomic uint32_t known_overflow;

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint64_t check_of(const struct facts *f, uint32_t generation)
{
	uint64_t hash = mix(mix(mix(generation, f->map), f->map_start), f->map_end);

	hash = mix(mix(mix(mix(hash, f->bias), f->id), f->tables), f->code);
	hash = mix(mix(hash, f->read_start), f->read_end);
	return hash | 1; /* never that of an empty entry */
}

static bool take_facts(struct known *k, uint32_t generation, struct facts *f)
{
	/* Pairs with the release in put_facts: what the facts point to is there. */
	uint64_t check = atomic_load_explicit(&k->check, memory_order_acquire);

	f->map = atomic_load_explicit(&k->map, memory_order_relaxed);
	f->map_start = atomic_load_explicit(&k->map_start, memory_order_relaxed);
	f->map_end = atomic_load_explicit(&k->map_end, memory_order_relaxed);
	f->bias = atomic_load_explicit(&k->bias, memory_order_relaxed);
	f->id = atomic_load_explicit(&k->id, memory_order_relaxed);
	f->tables = atomic_load_explicit(&k->tables, memory_order_relaxed);
	f->read_start = atomic_load_explicit(&k->read_start, memory_order_relaxed);
	f->read_end = atomic_load_explicit(&k->read_end, memory_order_relaxed);
	f->code = atomic_load_explicit(&k->code, memory_order_relaxed);
	return check == check_of(f, generation);
}

static struct known *known_set(uint64_t map_start)
{
	return known[mix(0, map_start) % KNOWN_SETS];
}

static void put_facts(const struct facts *f, uint32_t generation)
{
	struct known *set = known_set(f->map_start);
	struct facts other;
	uint32_t way = 0;

	while (way < KNOWN_WAYS && take_facts(&set[way], generation, &other))
		way++;
	if (way == KNOWN_WAYS) {
		way = (uint32_t)f->id % KNOWN_WAYS;
		atomic_store(&known_overflow, generation);
	}
	struct known *k = &set[way];
	atomic_store_explicit(&k->map, f->map, memory_order_relaxed);
	/* Stays so if the facts are overwritten: then any such free counts. */
	sieve_watch((const void *)(uintptr_t)f->map); /* NOLINT: not to be followed */
	atomic_store_explicit(&k->map_start, f->map_start, memory_order_relaxed);
	atomic_store_explicit(&k->map_end, f->map_end, memory_order_relaxed);
	atomic_store_explicit(&k->bias, f->bias, memory_order_relaxed);
	atomic_store_explicit(&k->id, f->id, memory_order_relaxed);
	atomic_store_explicit(&k->tables, f->tables, memory_order_relaxed);
	atomic_store_explicit(&k->read_start, f->read_start, memory_order_relaxed);
	atomic_store_explicit(&k->read_end, f->read_end, memory_order_relaxed);
	atomic_store_explicit(&k->code, f->code, memory_order_relaxed);
	/* Pairs with the acquire in take_facts. */
	atomic_store_explicit(&k->check, check_of(f, generation), memory_order_release);
}

static bool find_facts(const struct loaded *o, uint32_t generation, struct facts *f)
{
	struct known *set = known_set(o->map_start);

	for (uint32_t way = 0; way < KNOWN_WAYS; way++)
		if (take_facts(&set[way], generation, f) && f->map == o->map &&
		    f->map_start == o->map_start && f->map_end == o->map_end)
			return true;
	return false;
}

/* The object's own table of its unwind information, or one made for it, for which all of its
 * unwind information is read in place: not done, but *later set, for an object that may be gone. */
static const uint8_t *find_tables(struct object *o, const uint8_t *hdr, bool *later)
{
	uint64_t at = (uint64_t)(uintptr_t)hdr, start = 0, bytes;
	uint8_t head[CFI_HEADER_MOST] = {0};

	if (hdr && !peek_copy(at, head, sizeof(head)) && !peek_copy(at, head, CFI_HEADER_LEAST))
		return NULL;
	image_bound(&o->image, &o->headers, at);
	if (hdr && !cfi_is_within(&o->image, head, at))
		hdr = NULL;
	if (hdr)
		start = cfi_find_untabled(head, at);
	if (hdr && !start)
		return hdr;
	if (start)
		bytes = image_room(&o->image, start, PF_R);
	else if (!sections_find_eh_frame(&o->image, o->path, &start, &bytes))
		return NULL;
	*later = thread_self->doubtful;
	if (*later)
		return NULL;
	const uint8_t *index = cfi_index_find(&o->image, start, bytes);
	image_bound(&o->image, &o->headers, start);
	return index ? index : hdr;
}

/* From the first byte of code to the last; all of the object if its headers are not to be had. */
static uint64_t find_code(const struct object *o)
{
	uint64_t start = UINT32_MAX, end = 0;

	for (unsigned i = 0; i < o->headers.count; i++) {
		const Elf64_Phdr *p = &o->headers.at[i];
		uint64_t from = o->image.bias + p->p_vaddr - o->image.map_start;
		uint64_t to = from + p->p_filesz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		start = from < start ? from : start;
		end = to > end ? to : end;
	}
	if (o->headers.count == 0)
		return (uint64_t)UINT32_MAX << 32;
	return start | (end < UINT32_MAX ? end : UINT32_MAX) << 32;
}

/* Reads what the loader and the object itself say of it. */
static void describe(const struct loaded *l, struct object *o)
{
	struct link_map map = {0};

	o->image = (struct image){.map_start = l->map_start, .map_end = l->map_end};
	o->path[0] = 0;
	if (l->map && peek_copy(l->map, &map, sizeof(map))) {
		o->image.bias = map.l_addr;
		if (!peek_text((uint64_t)(uintptr_t)map.l_name, o->path, sizeof(o->path)))
			o->path[0] = 0;
	}
	(void)image_read_headers(&o->image, &o->headers);
}

/* False: it was unloaded meanwhile, or another one was and it cannot be told: what was read may be
 * anything, and it has no id. */
static NOINLINE bool find_out(const struct loaded *l, uint32_t generation, struct facts *f)
{
	struct object o;
	bool later = false;

	describe(l, &o);
	*f = (struct facts){.map = l->map,
			    .map_start = l->map_start,
			    .map_end = l->map_end,
			    .bias = o.image.bias,
			    .code = find_code(&o)};
	const uint8_t *hdr = (const uint8_t *)(uintptr_t)l->eh_frame_hdr; /* NOLINT */
	f->tables = (uint64_t)(uintptr_t)find_tables(&o, hdr, &later);
	f->read_start = o.image.read_start;
	f->read_end = o.image.read_end;
	if (!is_there(l, generation))
		return false;
	f->id = register_object(&o);
	if (!later)
		put_facts(f, generation);
	return true;
}

/* Two threads may register the same object at once: both entries are then found under either id,
 * which is harmless, and find_registered makes it rare. */
static bool give_span(const struct loaded *l, struct module_span *span)
{
	uint32_t generation = atomic_load(&modules_generation);
	struct facts f;
	bool sure = find_facts(l, generation, &f) || find_out(l, generation, &f);

	*span = (struct module_span){
		.id = (uint32_t)f.id,
		.map_start = f.map_start,
		.map_end = f.map_end,
		.map = f.map,
		.read_start = f.read_start,
		.read_end = f.read_end,
		.code_start = f.map_start + (uint32_t)f.code,
		.code_end = f.map_start + (f.code >> 32),
		.has_build_id = f.id && module_at((uint32_t)f.id)->build_id_bytes,
		.eh_frame_hdr = (const uint8_t *)(uintptr_t)f.tables}; /* NOLINT */
	return sure;
}

void modules_note_free(const void *block)
{
	uint32_t generation = atomic_load(&modules_generation);
	bool gone = atomic_load(&known_overflow) == generation;
	struct facts f;

	for (uint32_t i = 0; i < KNOWN_SETS * KNOWN_WAYS && !gone; i++) {
		struct known *k = &known[i / KNOWN_WAYS][i % KNOWN_WAYS];

		gone = atomic_load_explicit(&k->map, memory_order_relaxed) ==
			       (uint64_t)(uintptr_t)block &&
		       take_facts(k, generation, &f);
	}
	if (gone)
		atomic_fetch_add(&modules_generation, 1);
}

/* ---- the question ---------------------------------------------------------------------------- */

bool modules_find(uint64_t address, struct module_span *span)
{
	struct loaded l;

	/* Other threads may unload something whenever we look; without its id a place would be
	 * another one than it was before. */
	for (unsigned tries = 0; ask_loader(address, &l); tries++)
		if (give_span(&l, span) || tries == TRIES_MOST)
			return true;
	return false;
}

bool modules_is_loaded(const struct module_span *span, uint32_t generation)
{
	const struct loaded l = {.map = span->map, .map_start = span->map_start};

	return is_there(&l, generation);
}

struct modules_area modules_find_area(uint64_t address)
{
	struct loaded l = {0};

	(void)ask_loader(address, &l);
	return (struct modules_area){.start = l.map_start, .bytes = l.map_end - l.map_start};
}

/* musl's loader is libc itself, and unloads nothing: no free of its is to be looked at. */
void modules_init(void)
{
	if (!loadlist_init())
		return;
	struct modules_area loader = modules_find_area(loadlist_loader());
	if (!modules_area_holds(&loader, (uint64_t)(uintptr_t)dlsym))
		modules_loader = loader;
}

uint32_t modules_find_own(void)
{
	struct module_span span;
	bool found = modules_find((uint64_t)(uintptr_t)modules_find_own, &span);

	return found && span.id ? span.id : UINT32_MAX;
}

void modules_reset(void)
{
	/* The numbers are those of the parent's segment. */
	atomic_fetch_add(&modules_generation, 1);
}
