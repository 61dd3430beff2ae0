/* relink.c -- replaces functions in objects that are loaded already, and for those to come.
 * Runs: at start-up, while there is one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/relink.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "capture/dynsym.h"
#include "capture/host.h"

#if defined(__x86_64__)
#define RELOCATION_WORD R_X86_64_64
#define RELOCATION_GOT	R_X86_64_GLOB_DAT
#define RELOCATION_SLOT R_X86_64_JUMP_SLOT
#else
#define RELOCATION_WORD R_AARCH64_ABS64
#define RELOCATION_GOT	R_AARCH64_GLOB_DAT
#define RELOCATION_SLOT R_AARCH64_JUMP_SLOT
#endif

#define FOUND_MOST 64u /* definitions of one object; some names have two versions */

/* The tables of one object that matter here. */
struct object {
	uint64_t bias;
	uint64_t relro_start; /* pages that are read-only after relocation */
	uint64_t relro_end;
	Elf64_Sym *symbols;
	int symbols_protection;
	const char *strings;
	const Elf64_Rela *relocations;
	size_t relocation_bytes;
	const Elf64_Rela *slots;
	size_t slot_bytes;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
};

struct request {
	const struct relink_name *names;
	size_t count;
	const void *inside; /* of one object only */
};

/* Writes a word; `protection` is that of its page, which is lifted and restored where it forbids
 * writing. */
static void put(void *address, const void *value, size_t bytes, int protection)
{
	uint64_t page = getauxval(AT_PAGESZ);
	uint64_t start = (uint64_t)(uintptr_t)address & ~(page - 1);
	uint64_t length = (uint64_t)(uintptr_t)address + bytes - start;

	bool is_read_only = !(protection & PROT_WRITE);

	/* A page may hold code too: it stays executable throughout. */
	if (is_read_only && HOST_CALL3(SYS_mprotect, start, length, protection | PROT_WRITE) != 0)
		return;
	memcpy(address, value, bytes);
	if (is_read_only)
		(void)HOST_CALL3(SYS_mprotect, start, length, protection);
}

static const struct relink_name *find_name(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->names[i].name, name) == 0)
			return &r->names[i];
	return NULL;
}

/* ---- references ------------------------------------------------------------------------------ */

static void relink_reference(const struct request *r, const struct object *o, const Elf64_Rela *rel)
{
	uint64_t type = ELF64_R_TYPE(rel->r_info);
	const Elf64_Sym *symbol = &o->symbols[ELF64_R_SYM(rel->r_info)];

	if ((type != RELOCATION_SLOT && type != RELOCATION_GOT && type != RELOCATION_WORD) ||
	    rel->r_addend != 0)
		return;
	const struct relink_name *name = find_name(r, o->strings + symbol->st_name);
	if (!name)
		return;
	void **place = (void **)(uintptr_t)(o->bias + rel->r_offset); /* NOLINT */
	/* Bound already to something else than what we wrap: leave it. A slot not yet bound points
	 * into its own object's linkage table, whatever that is; only lazy slots may differ. */
	if (*place != name->old && type != RELOCATION_SLOT)
		return;
	uint64_t at = (uint64_t)(uintptr_t)place;
	bool is_relro = at >= o->relro_start && at < o->relro_end;
	put(place, &name->replacement, sizeof(*place),
	    is_relro ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void relink_references(const struct request *r, const struct object *o,
			      const Elf64_Rela *rel, size_t bytes)
{
	for (size_t i = 0; rel && i < bytes / sizeof(*rel); i++)
		relink_reference(r, o, &rel[i]);
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* One past the last symbol, from whichever hash table there is. */
static uint32_t count_symbols(const struct object *o)
{
	uint32_t last = 0;

	if (o->sysv_hash)
		return o->sysv_hash[1];
	if (!o->gnu_hash)
		return 0;
	const uint32_t bucket_count = o->gnu_hash[0], offset = o->gnu_hash[1];
	const uint32_t *buckets = o->gnu_hash + 4 + (size_t)o->gnu_hash[2] * 2;
	const uint32_t *chains = buckets + bucket_count;
	for (uint32_t i = 0; i < bucket_count; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < offset)
		return offset;
	while (!(chains[last - offset] & 1))
		last++;
	return last + 1;
}

static void relink_definition(const struct object *o, Elf64_Sym *symbol, const void *replacement)
{
	uint64_t value = (uint64_t)(uintptr_t)replacement - o->bias;

	put(&symbol->st_value, &value, sizeof(value), o->symbols_protection);
}

/* True if the object defines any of the names. */
static bool relink_same_definitions(const struct request *r, const struct object *o)
{
	uint32_t count = count_symbols(o);
	bool defines = false;

	for (uint32_t i = 1; i < count; i++) {
		Elf64_Sym *symbol = &o->symbols[i];
		const struct relink_name *name =
			symbol->st_shndx ? find_name(r, o->strings + symbol->st_name) : NULL;

		if (!name || o->bias + symbol->st_value != (uint64_t)(uintptr_t)name->old)
			continue;
		relink_definition(o, symbol, name->replacement);
		defines = true;
	}
	return defines;
}

/* The next definition of a name behind `after`, if that is one, of those that have a version each;
 * NULL: there is none. */
static Elf64_Sym *find_hashed(const struct object *o, const char *name, const Elf64_Sym *after)
{
	const uint32_t *buckets = o->gnu_hash + 4 + (size_t)o->gnu_hash[2] * 2;
	const uint32_t *chains = buckets + o->gnu_hash[0];
	uint32_t hash = dynsym_hash(name), offset = o->gnu_hash[1], link = 0, i;

	if (after) {
		i = (uint32_t)(after - o->symbols) + 1;
		link = chains[i - 1 - offset];
	} else {
		i = buckets[hash % o->gnu_hash[0]];
	}
	for (; i >= offset && !(link & 1); i++) {
		link = chains[i - offset];
		if ((link | 1) == (hash | 1) && o->symbols[i].st_shndx &&
		    strcmp(o->strings + o->symbols[i].st_name, name) == 0)
			return &o->symbols[i];
	}
	return NULL;
}

/* Definitions that are to be replaced. */
struct found {
	uint32_t count;
	struct {
		Elf64_Sym *symbol;
		const void *replacement;
	} at[FOUND_MOST];
};

/* What chooses among several functions when it is bound cannot be replaced by one of them. */
static void add_found(struct found *found, const struct object *o, const struct relink_name *name)
{
	Elf64_Sym *symbol = NULL;

	while (found->count < FOUND_MOST && (symbol = find_hashed(o, name->name, symbol))) {
		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
			continue;
		found->at[found->count].symbol = symbol;
		found->at[found->count++].replacement = name->replacement;
	}
}

/* With the whole table writable for a moment: they lie all over it, and each page by itself would
 * take two calls of the kernel. */
static void relink_found(struct object *o, const struct found *found)
{
	uint64_t page = getauxval(AT_PAGESZ), low = UINT64_MAX, high = 0;

	for (uint32_t i = 0; i < found->count; i++) {
		uint64_t at = (uint64_t)(uintptr_t)found->at[i].symbol;

		low = at < low ? at : low;
		high = at + sizeof(Elf64_Sym) > high ? at + sizeof(Elf64_Sym) : high;
	}
	low &= ~(page - 1);
	int before = o->symbols_protection;
	if (!found->count || HOST_CALL3(SYS_mprotect, low, high - low, before | PROT_WRITE) != 0)
		return;
	o->symbols_protection |= PROT_WRITE;
	for (uint32_t i = 0; i < found->count; i++)
		relink_definition(o, found->at[i].symbol, found->at[i].replacement);
	(void)HOST_CALL3(SYS_mprotect, low, high - low, before);
}

static bool is_defined(const struct object *o, const char *name)
{
	if (o->gnu_hash)
		return o->gnu_hash[0] && find_hashed(o, name, NULL);
	for (uint32_t i = 1, count = count_symbols(o); i < count; i++)
		if (o->symbols[i].st_shndx && strcmp(o->strings + o->symbols[i].st_name, name) == 0)
			return true;
	return false;
}

/* ---- objects --------------------------------------------------------------------------------- */

static void read_dynamic(struct object *o, const Elf64_Dyn *d)
{
	for (; d->d_tag != DT_NULL; d++) {
		/* glibc relocates most of these in place; musl and the vdso leave file addresses.
		 */
		uint64_t value = d->d_un.d_ptr;
		uint64_t address = value < o->bias ? value + o->bias : value;
		void *at = (void *)(uintptr_t)address; /* NOLINT */

		switch (d->d_tag) {
		case DT_SYMTAB:
			o->symbols = at;
			break;
		case DT_STRTAB:
			o->strings = at;
			break;
		case DT_RELA:
			o->relocations = at;
			break;
		case DT_RELASZ:
			o->relocation_bytes = value;
			break;
		case DT_JMPREL:
			o->slots = at;
			break;
		case DT_PLTRELSZ:
			o->slot_bytes = value;
			break;
		case DT_GNU_HASH:
			o->gnu_hash = at;
			break;
		case DT_HASH:
			o->sysv_hash = at;
			break;
		default:
			break;
		}
	}
}

static bool holds(const struct dl_phdr_info *info, const void *address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (uint64_t)(uintptr_t)address - start < p->p_memsz)
			return true;
	}
	return false;
}

static int protection_of(const struct dl_phdr_info *info, const void *address)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (uint64_t)(uintptr_t)address - start < p->p_memsz)
			return PROT_READ | (p->p_flags & PF_W ? PROT_WRITE : 0) |
			       (p->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return PROT_READ;
}

static bool read_object(const struct dl_phdr_info *info, struct object *o)
{
	const Elf64_Dyn *dynamic = NULL;

	*o = (struct object){.bias = info->dlpi_addr};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)(uintptr_t)(o->bias + p->p_vaddr); /* NOLINT */
		if (p->p_type == PT_GNU_RELRO) {
			uint64_t page = getauxval(AT_PAGESZ);

			o->relro_start = (o->bias + p->p_vaddr) & ~(page - 1);
			o->relro_end = (o->bias + p->p_vaddr + p->p_memsz) & ~(page - 1);
		}
	}
	if (!dynamic)
		return false;
	read_dynamic(o, dynamic);
	o->symbols_protection = protection_of(info, o->symbols);
	return o->symbols && o->strings;
}

static int relink_object(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct request *r = context;
	struct object o;

	(void)size;
	if (holds(info, (const void *)(uintptr_t)relink_all)) /* NOLINT: ourselves */
		return 0;
	/* An allocator's calls among its own functions are its own: the outer one counts. */
	if (!read_object(info, &o) || relink_same_definitions(r, &o))
		return 0;
	relink_references(r, &o, o.relocations, o.relocation_bytes);
	relink_references(r, &o, o.slots, o.slot_bytes);
	return 0;
}

void relink_all(const struct relink_name *names, size_t count)
{
	struct request r = {.names = names, .count = count};

	(void)dl_iterate_phdr(relink_object, &r);
}

static int relink_one_object(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct request *r = context;
	struct object o;

	(void)size;
	if (!holds(info, r->inside))
		return 0;
	if (!read_object(info, &o) || !o.gnu_hash || !o.gnu_hash[0])
		return 1;
	struct found found = {0};
	for (size_t i = 0; i < r->count; i++)
		add_found(&found, &o, &r->names[i]);
	relink_found(&o, &found);
	return 1;
}

void relink_definitions(const void *inside, const struct relink_name *names, size_t count)
{
	struct request r = {.names = names, .count = count, .inside = inside};

	(void)dl_iterate_phdr(relink_one_object, &r);
}

static int look_for(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *name = context;
	struct object o;

	(void)size;
	if (holds(info, (const void *)(uintptr_t)relink_all)) /* NOLINT: ourselves */
		return 0;
	return read_object(info, &o) && is_defined(&o, name);
}

bool relink_is_defined(const char *name)
{
	return dl_iterate_phdr(look_for, (void *)(uintptr_t)name) != 0; /* NOLINT: only read */
}

struct search {
	const void *address;
	const void *object;
};

static int find_holder(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *s = context;

	(void)size;
	if (!holds(info, s->address))
		return 0;
	s->object = info->dlpi_phdr;
	return 1;
}

/* dladdr would also look for the symbol, among all that the object has. */
const void *relink_find_object(const void *address)
{
	struct search s = {.address = address};

	(void)dl_iterate_phdr(find_holder, &s);
	return s.object;
}
