/* symbol.c -- from an address in an ELF file to functions and source lines.
 * Runs: offline; the face of this room.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <elfutils/libdwelf.h>

#include "base/mem.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/notes.h"
#include "symbol/pool.h"
#include "symbol/object.h"
#include "symbol/symtab.h"
#include "symbol/units.h"
#include "symbol/variables.h"

struct symbol_module {
	struct object *object;
	struct object *debug;	 /* the separate debug file, or NULL */
	struct object *alt;	 /* what dwz moved out of several debug files, or NULL */
	struct object *embedded; /* mini debug info, or NULL */
	Dwarf *dwarf;		 /* of debug or object; NULL: no DWARF */
	Dwarf *alt_dwarf;
	struct units *units;	  /* NULL: not read */
	struct symtab *symtab;	  /* NULL: not read */
	struct symtab *variables; /* so too */
	struct variables all;	  /* as last listed */
	struct notes names;
	struct units_frames frames;
	bool was_open;		  /* taken from the pool */
	bool is_modest;		  /* in memory */
	struct symbol_pool *pool; /* where it goes when it is closed, or NULL */
	struct pool_key key;	  /* of these: */
	char *path;
	uint8_t *build_id;
};

/* ---- opening --------------------------------------------------------------------------------- */

static unsigned count_threads(const struct symbol_options *options)
{
	return options && options->modest ? 1 : 2;
}

/* libdw itself follows the link's path and /usr/lib/debug; it does not know the user's directories.
 */
static void open_alt(struct symbol_module *m, const struct symbol_options *options)
{
	const char *name;
	const void *id;
	ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(m->dwarf, &name, &id);

	if (bytes <= 0)
		return;
	m->alt = debugfile_find_by_id(id, (size_t)bytes, options);
	if (!m->alt)
		return;
	m->alt_dwarf = object_begin_dwarf(m->alt, count_threads(options));
	if (m->alt_dwarf)
		dwarf_setalt(m->dwarf, m->alt_dwarf);
}

/* False: that would not be modest. */
static bool open_dwarf(struct symbol_module *m, const struct symbol_options *options)
{
	struct object *from = m->object;

	if (!object_has_dwarf(from) && options && options->object_only) {
		from = NULL;
	} else if (!object_has_dwarf(from)) {
		m->debug = debugfile_find(from, options);
		from = m->debug;
	}
	m->is_modest = !from || object_has_modest_dwarf(from);
	if (options && options->modest && (!m->is_modest || (!from && debugfile_has_server())))
		return false;
	if (from)
		m->dwarf = object_begin_dwarf(from, count_threads(options));
	if (m->dwarf)
		open_alt(m, options);
	return true;
}

static void free_module(struct symbol_module *m);

/* Takes the object over. NULL: only if it was to be modest. */
static struct symbol_module *new_module(struct object *o, const struct symbol_options *options)
{
	struct symbol_module *m = mem_new(1, sizeof(*m));

	m->object = o;
	if (!open_dwarf(m, options)) {
		free_module(m);
		return NULL;
	}
	object_close_fd(o);
	if (m->debug)
		object_close_fd(m->debug);
	if (m->alt)
		object_close_fd(m->alt);
	return m;
}

static int check_object(const struct object *o, const uint8_t *id, size_t id_bytes, struct error *e)
{
	const char *path = object_get_path(o);

	if (!object_is_loadable(o))
		return error_set(e, "%s: neither a program nor a shared object", path);
	if (id && id_bytes && !object_has_build_id(o, id, id_bytes))
		return error_set(e, "%s: not the file that was recorded (its build-id differs)",
				 path);
	return 0;
}

static struct symbol_module *open_file(const char *path, const uint8_t *build_id,
				       size_t build_id_bytes, const struct symbol_options *options,
				       struct error *e)
{
	const char *sysroot = options && options->sysroot ? options->sysroot : "";
	char *full = mem_format("%s%s", sysroot, path);
	struct error why = {0};
	struct object *o = object_open(full, &why);

	free(full);
	if (o && check_object(o, build_id, build_id_bytes, &why) < 0) {
		object_close(o);
		o = NULL;
	}
	if (!o)
		o = debugfile_find_stand_in(path, build_id, build_id ? build_id_bytes : 0, options);
	if (o)
		return new_module(o, options);
	error_set(e, "%s", why.text);
	return NULL;
}

/* What is written over in place is no longer what the build-id says. */
static bool is_unchanged(const struct symbol_module *m)
{
	return object_is_unchanged(m->object) && (!m->debug || object_is_unchanged(m->debug)) &&
	       (!m->alt || object_is_unchanged(m->alt));
}

static struct symbol_module *take_open(struct symbol_pool *pool, const struct pool_key *key)
{
	struct symbol_module *m;

	while ((m = pool_take(pool, key)) && !is_unchanged(m))
		free_module(m);
	return m;
}

struct symbol_module *symbol_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
				  const struct symbol_options *options, struct error *e)
{
	struct symbol_pool *pool = build_id && options ? options->pool : NULL;
	const struct pool_key key = {path, build_id, build_id_bytes,
				     options && options->object_only};
	struct symbol_module *m = pool ? take_open(pool, &key) : NULL;

	if (m) {
		m->was_open = true;
		return m;
	}
	m = open_file(path, build_id, build_id_bytes, options, e);
	if (m && pool) {
		m->pool = pool;
		m->path = mem_copy_string(path);
		m->build_id = mem_new(build_id_bytes, 1);
		memcpy(m->build_id, build_id, build_id_bytes);
		m->key = (struct pool_key){m->path, m->build_id, build_id_bytes, key.object_only};
	}
	return m;
}

/* The mapping that starts at `start`; its size in bytes, 0 if there is none. The section headers
 * lie beyond what the program headers describe, so only the kernel knows where the image ends. */
static size_t find_mapping(uintptr_t start)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t bytes = 0;
	uintptr_t low, high;

	while (maps && !bytes && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &low, &high) == 2 && low == start)
			bytes = high - low;
	if (maps)
		fclose(maps);
	return bytes;
}

struct symbol_module *symbol_open_vdso(const uint8_t *build_id, size_t build_id_bytes,
				       struct error *e)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	size_t bytes = start ? find_mapping(start) : 0;

	if (!bytes) {
		error_set(e, "this process has no vdso");
		return NULL;
	}
	void *image = mem_new(bytes, 1);
	memcpy(image, (const void *)start, bytes);
	struct object *o = object_open_memory(image, bytes, e);
	if (o && build_id && !object_has_build_id(o, build_id, build_id_bytes)) {
		error_set(e, "the vdso of this kernel is not the one that was recorded");
		object_close(o);
		o = NULL;
	}
	return o ? new_module(o, NULL) : NULL;
}

static void free_module(struct symbol_module *m)
{
	if (!m)
		return;
	free(m->path);
	free(m->build_id);
	units_free(m->units);
	symtab_free(m->symtab);
	symtab_free(m->variables);
	variables_fini(&m->all);
	notes_free(&m->names);
	vec_free(&m->frames.list);
	dwarf_end(m->dwarf);
	dwarf_end(m->alt_dwarf);
	object_close(m->embedded);
	object_close(m->alt);
	object_close(m->debug);
	object_close(m->object);
	free(m);
}

void symbol_close(struct symbol_module *m)
{
	bool is_kept = m && m->pool && (m->is_modest || !pool_is_modest(m->pool));

	free_module(is_kept ? pool_give(m->pool, &m->key, m) : m);
}

struct symbol_pool *symbol_pool_new(size_t most)
{
	return pool_new(most);
}

void symbol_pool_keep_modest(struct symbol_pool *pool)
{
	pool_keep_modest(pool);
}

void symbol_pool_empty(struct symbol_pool *pool)
{
	struct symbol_module *m;

	while ((m = pool_pop(pool)))
		free_module(m);
}

void symbol_pool_free(struct symbol_pool *pool)
{
	if (!pool)
		return;
	symbol_pool_empty(pool);
	pool_free(pool);
}

void symbol_get_files(const struct symbol_module *m, struct symbol_files *files)
{
	files->object = object_get_path(m->object);
	files->debug = m->debug ? object_get_path(m->debug) : NULL;
	files->has_dwarf = m->dwarf != NULL;
	files->was_open = m->was_open;
}

/* ---- looking up ------------------------------------------------------------------------------ */

/* A full table if there is one; otherwise what the dynamic linker needs, and the rest from mini
 * debug info. */
static void read_symtab(struct symbol_module *m)
{
	size_t count;

	m->symtab = symtab_new();
	count = symtab_read(m->symtab, m->object, SHT_SYMTAB, m->object);
	if (!count && m->debug)
		count = symtab_read(m->symtab, m->debug, SHT_SYMTAB, m->object);
	if (!count) {
		(void)symtab_read(m->symtab, m->object, SHT_DYNSYM, m->object);
		m->embedded = debugfile_open_embedded(m->object);
	}
	if (m->embedded)
		(void)symtab_read(m->symtab, m->embedded, SHT_SYMTAB, m->object);
	symtab_build(m->symtab);
}

/* GCC gives functions in anonymous namespaces and local classes no linkage name, so their DWARF
 * name is bare; the symbol table has the whole one. */
static const char *find_name(struct symbol_module *m, uint64_t address, const char *known)
{
	const char *raw, *name;
	bool mangled = false;

	if (!m->symtab)
		read_symtab(m);
	raw = symtab_find(m->symtab, address);
	name = raw ? demangle_find(&m->names, raw, &mangled) : NULL;
	return mangled || !known ? name : known;
}

static void name_frames(struct symbol_module *m, uint64_t address)
{
	for (size_t i = 0; i < m->frames.list.count; i++) {
		struct symbol_frame *frame = &m->frames.list.at[i];
		bool mangled = false;

		if (frame->function)
			frame->function = demangle_find(&m->names, frame->function, &mangled);
		if (!frame->inlined && !mangled)
			frame->function = find_name(m, address, frame->function);
	}
}

size_t symbol_find(struct symbol_module *m, uint64_t address, const struct symbol_frame **frames)
{
	m->frames.list.count = 0;
	if (m->dwarf && !m->units)
		m->units = units_new(m->dwarf, m->object);
	if (m->units)
		units_find(m->units, address, &m->frames);
	name_frames(m, address);
	if (!m->frames.list.count) {
		const char *name = find_name(m, address, NULL);

		if (name)
			*vec_push(&m->frames.list) = (struct symbol_frame){.function = name};
	}
	*frames = m->frames.list.at;
	return m->frames.list.count;
}

static void read_variables(struct symbol_module *m)
{
	size_t count;

	m->variables = symtab_new();
	count = symtab_read_variables(m->variables, m->object, SHT_SYMTAB);
	if (!count && m->debug)
		count = symtab_read_variables(m->variables, m->debug, SHT_SYMTAB);
	if (!count)
		(void)symtab_read_variables(m->variables, m->object, SHT_DYNSYM);
	symtab_build(m->variables);
}

const char *symbol_find_variable(struct symbol_module *m, uint64_t address, uint64_t *offset)
{
	bool mangled = false;

	if (!m->variables)
		read_variables(m);
	const char *raw = symtab_find_offset(m->variables, address, offset);
	return raw ? demangle_find(&m->names, raw, &mangled) : NULL;
}

size_t symbol_list_variables(struct symbol_module *m, bool places,
			     const struct symbol_variable **list)
{
	struct variables *v = &m->all;

	v->list.count = 0;
	if (!variables_read(v, m->object, SHT_SYMTAB) &&
	    !(m->debug && variables_read(v, m->debug, SHT_SYMTAB)))
		(void)variables_read(v, m->object, SHT_DYNSYM);
	variables_build(v);
	if (places && m->dwarf)
		variables_place(v, m->dwarf);
	variables_add_sections(v, m->object);
	*list = v->list.at;
	return v->list.count;
}

const char *symbol_name_variable(struct symbol_module *m, const struct symbol_variable *v)
{
	bool mangled = false;

	return v->name ? demangle_find(&m->names, v->name, &mangled) : NULL;
}

uint64_t symbol_get_load_address(const struct symbol_module *m)
{
	Elf *elf = object_get_elf(m->object);
	uint64_t lowest = UINT64_MAX;
	GElf_Phdr segment;
	size_t count = 0;

	if (elf_getphdrnum(elf, &count) != 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_vaddr < lowest)
			lowest = segment.p_vaddr;
	return lowest == UINT64_MAX ? 0 : lowest;
}

char *symbol_demangle(const char *name)
{
	return demangle_name(name);
}
