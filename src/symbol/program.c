/* program.c -- what a program's file says about how it can be recorded.
 * Runs: offline; called by `midden record` before and after it runs a program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/program.h"

#include <string.h>

#include "symbol/object.h"

/* Code built with a sanitizer calls the function that sets it up: the symbol is defined where the
 * runtime is linked into the program and undefined where it is a library. */
static const struct {
	const char *symbol;
	const char *name;
} sanitizers[] = {
	{"__asan_init", "AddressSanitizer"}, {"__hwasan_init", "HWAddressSanitizer"},
	{"__msan_init", "MemorySanitizer"},  {"__tsan_init", "ThreadSanitizer"},
	{"__lsan_init", "LeakSanitizer"},
};

static bool has_interpreter(Elf *elf)
{
	size_t count;
	GElf_Phdr header;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_INTERP)
			return true;
	return false;
}

static void note_symbol(struct program_facts *facts, const char *name, bool is_defined)
{
	for (size_t i = 0; name && i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
		if (strcmp(name, sanitizers[i].symbol) == 0 && !facts->sanitizer) {
			facts->sanitizer = sanitizers[i].name;
			facts->has_runtime = is_defined;
		}
}

static void read_symbols(struct program_facts *facts, Elf *elf, Elf_Scn *section)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data = elf_getdata(section, NULL);

	if (!data || !gelf_getshdr(section, &header) || header.sh_entsize == 0)
		return;
	for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++)
		if (gelf_getsym(data, (int)i, &symbol))
			note_symbol(facts, elf_strptr(elf, header.sh_link, symbol.st_name),
				    symbol.st_shndx != SHN_UNDEF);
}

struct program_facts program_examine(const char *path)
{
	struct program_facts facts = {0};
	struct error e = {0};
	struct object *o = object_open(path, &e);
	GElf_Ehdr header;

	if (!o)
		return facts;
	Elf *elf = object_get_elf(o);
	if (gelf_getehdr(elf, &header)) {
		facts.is_elf = true;
		facts.machine = header.e_machine;
		facts.is_static = !has_interpreter(elf);
	}
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		GElf_Shdr section;

		if (gelf_getshdr(s, &section) && section.sh_type == SHT_DYNSYM)
			read_symbols(&facts, elf, s);
	}
	object_close(o);
	return facts;
}
