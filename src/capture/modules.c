/* modules.c -- which loaded object an address belongs to, right across dlopen and dlclose.
 * Runs: any thread of the target, inside malloc. Called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0
 *
 * glibc 2.35 and later are asked through _dl_find_object, which takes no lock. Elsewhere a table is
 * filled by dl_iterate_phdr at start-up and after dlclose, never inside malloc: the loader's lock
 * may be held by a thread that waits for a lock of ours' caller.
 *
 * Objects go away by dlclose, which is wrapped, and by libc's own hand (modules of iconv): then the
 * loader is seen to free what it knew of them. */
#include "capture/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "capture/cfi.h"
#include "capture/cfi_index.h"
#include "capture/host.h"
#include "capture/image.h"
#include "capture/sections.h"
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
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak));

/* What glibc's loader tells debuggers. */
extern struct r_debug _r_debug __attribute__((weak));

_Static_assert(IMAGE_BUILD_ID_MAX == SEGMENT_BUILD_ID_MAX, "a build-id fits the segment");

_Atomic uint32_t modules_generation = 1;

struct modules_loader modules_loader;

/* An object as the loader describes it. */
struct object {
	uint64_t map_start;
	uint64_t map_end;
	uint64_t bias;
	const char *path;
	const void *map;
	const uint8_t *eh_frame_hdr;
};

/* ---- registration ---------------------------------------------------------------------------- */

static uint32_t put_string(const char *text)
{
	struct segment_header *h = process->header;
	size_t bytes = strlen(text) + 1;
	uint32_t offset = atomic_fetch_add(&h->strings_used, (uint32_t)bytes) + 1;

	if (bytes > 4096 || offset + bytes > process->layout.string_bytes)
		return 0; /* the empty string */
	memcpy((char *)h + process->layout.strings_offset + offset, text, bytes);
	return offset;
}

static struct image image_of(const struct object *o)
{
	return (struct image){.map_start = o->map_start, .map_end = o->map_end, .bias = o->bias};
}

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
	const struct image image = image_of(o);
	struct segment_module wanted = {
		.bias = o->bias, .map_start = o->map_start, .map_end = o->map_end};

	wanted.build_id_bytes = image_read_build_id(&image, wanted.build_id);
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
	m->path_offset = put_string(o->path);
	/* Pairs with the acquire in is_registered and in the collector. */
	atomic_store_explicit(&m->ready, 1, memory_order_release);
	return id;
}

/* ---- what is known --------------------------------------------------------------------------- */

/* An object while it is loaded. */
struct facts {
	uint64_t map; /* struct link_map, or the program headers */
	uint64_t map_start;
	uint64_t map_end;
	uint64_t id;
	uint64_t tables; /* .eh_frame_hdr, or what stands in for it */
};

/* A cache of facts, shared by all threads, without locks. `check` covers the facts and the
 * generation, so what two writers tore, a signal cut, or an unloaded object left is not
 * believed. */
struct known {
	_Atomic uint64_t check;
	_Atomic uint64_t map;
	_Atomic uint64_t map_start;
	_Atomic uint64_t map_end;
	_Atomic uint64_t id;
	_Atomic uint64_t tables;
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

	return mix(mix(hash, f->id), f->tables) | 1; /* never that of an empty entry */
}

static bool take_facts(struct known *k, uint32_t generation, struct facts *f)
{
	/* Pairs with the release in put_facts: what the facts point to is there. */
	uint64_t check = atomic_load_explicit(&k->check, memory_order_acquire);

	f->map = atomic_load_explicit(&k->map, memory_order_relaxed);
	f->map_start = atomic_load_explicit(&k->map_start, memory_order_relaxed);
	f->map_end = atomic_load_explicit(&k->map_end, memory_order_relaxed);
	f->id = atomic_load_explicit(&k->id, memory_order_relaxed);
	f->tables = atomic_load_explicit(&k->tables, memory_order_relaxed);
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
	atomic_store_explicit(&k->map_start, f->map_start, memory_order_relaxed);
	atomic_store_explicit(&k->map_end, f->map_end, memory_order_relaxed);
	atomic_store_explicit(&k->id, f->id, memory_order_relaxed);
	atomic_store_explicit(&k->tables, f->tables, memory_order_relaxed);
	/* Pairs with the acquire in take_facts. */
	atomic_store_explicit(&k->check, check_of(f, generation), memory_order_release);
}

static bool find_facts(const struct object *o, uint32_t generation, struct facts *f)
{
	struct known *set = known_set(o->map_start);

	for (uint32_t way = 0; way < KNOWN_WAYS; way++)
		if (take_facts(&set[way], generation, f) && f->map == (uint64_t)(uintptr_t)o->map &&
		    f->map_start == o->map_start && f->map_end == o->map_end)
			return true;
	return false;
}

/* The object's own table of its unwind information, or one made for it. */
static const uint8_t *find_tables(const struct object *o)
{
	const struct image image = image_of(o);
	const uint8_t *hdr = cfi_is_within(&image, o->eh_frame_hdr) ? o->eh_frame_hdr : NULL;
	uint64_t start = hdr ? cfi_find_untabled(hdr) : 0;
	uint64_t bytes;

	if (hdr && !start)
		return hdr;
	if (start)
		bytes = image_room(&image, start, PF_R);
	else if (!sections_find_eh_frame(&image, o->path, &start, &bytes))
		return NULL;
	const uint8_t *index = cfi_index_find(&image, start, bytes);
	return index ? index : hdr;
}

/* Two threads may register the same object at once: both entries are then found under either id,
 * which is harmless, and find_registered makes it rare. */
static void give_span(const struct object *o, struct module_span *span)
{
	uint32_t generation = atomic_load(&modules_generation);
	struct facts f;

	if (!find_facts(o, generation, &f)) {
		f = (struct facts){.map = (uint64_t)(uintptr_t)o->map,
				   .map_start = o->map_start,
				   .map_end = o->map_end,
				   .id = register_object(o),
				   .tables = (uint64_t)(uintptr_t)find_tables(o)};
		put_facts(&f, generation);
	}
	*span = (struct module_span){
		.id = (uint32_t)f.id,
		.map_start = f.map_start,
		.map_end = f.map_end,
		.bias = o->bias,
		.has_build_id = f.id && module_at((uint32_t)f.id)->build_id_bytes,
		.eh_frame_hdr = (const uint8_t *)(uintptr_t)f.tables}; /* NOLINT */
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

/* ---- without _dl_find_object ----------------------------------------------------------------- */

#define TABLE_COUNT 1024
static struct object table[TABLE_COUNT];
static _Atomic uint32_t table_count;

static int add_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct object o = {
		.map_start = UINT64_MAX, .bias = info->dlpi_addr, .path = info->dlpi_name};
	uint32_t *count = context;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = o.bias + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			o.eh_frame_hdr = (const uint8_t *)(uintptr_t)start; /* NOLINT */
		if (p->p_type != PT_LOAD)
			continue;
		if (start < o.map_start)
			o.map_start = start & ~UINT64_C(4095);
		if (start + p->p_memsz > o.map_end)
			o.map_end = start + p->p_memsz;
	}
	o.map = info->dlpi_phdr;
	if (*count < TABLE_COUNT)
		table[(*count)++] = o;
	return 0;
}

static void find_loader(void)
{
	struct dl_find_object found;

	if (!&_r_debug ||
	    _dl_find_object((void *)(uintptr_t)_r_debug.r_ldbase, &found) != 0) /* NOLINT */
		return;
	modules_loader.start = (uint64_t)(uintptr_t)found.dlfo_map_start;
	modules_loader.bytes = (uint64_t)(uintptr_t)found.dlfo_map_end - modules_loader.start;
}

void modules_refresh(void)
{
	uint32_t count = 0;

	if (_dl_find_object) {
		find_loader();
		return;
	}
	atomic_store(&table_count, 0);
	(void)dl_iterate_phdr(add_object, &count);
	/* Pairs with the acquire in find_in_table. */
	atomic_store_explicit(&table_count, count, memory_order_release);
}

static bool find_in_table(uint64_t address, struct module_span *span)
{
	uint32_t count = atomic_load_explicit(&table_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		if (address - table[i].map_start < table[i].map_end - table[i].map_start) {
			give_span(&table[i], span);
			return true;
		}
	}
	return false;
}

/* ---- the question ---------------------------------------------------------------------------- */

bool modules_find(uint64_t address, struct module_span *span)
{
	struct dl_find_object found;

	if (!_dl_find_object)
		return find_in_table(address, span);
	if (_dl_find_object((void *)(uintptr_t)address, &found) != 0) /* NOLINT */
		return false;
	const struct object o = {
		.map_start = (uint64_t)(uintptr_t)found.dlfo_map_start,
		.map_end = (uint64_t)(uintptr_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map ? found.dlfo_link_map->l_addr : 0,
		.path = found.dlfo_link_map && found.dlfo_link_map->l_name
				? found.dlfo_link_map->l_name
				: "",
		.map = found.dlfo_link_map,
		.eh_frame_hdr = found.dlfo_eh_frame,
	};
	give_span(&o, span);
	return true;
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
