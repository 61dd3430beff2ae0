/* variables.c -- the variables of an object: what its symbol tables and DWARF say of them.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/variables.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dies.h"

#define NESTING_MOST 64u /* of scopes; hostile files nest without end */

void variables_fini(struct variables *v)
{
	vec_free(&v->list);
}

/* ---- symbol tables --------------------------------------------------------------------------- */

struct source {
	Elf *elf;
	size_t section_names;
	Elf_Data *data;
	Elf_Data *numbers; /* of sections: object_find_numbers */
	GElf_Shdr header;
};

static bool is_variable(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_OBJECT || type == STT_COMMON || type == STT_TLS) &&
	       symbol->st_size != 0;
}

static size_t add_symbol(struct variables *v, const struct source *s, size_t index)
{
	GElf_Sym symbol;
	GElf_Shdr section;
	size_t number;

	if (!object_get_symbol(s->data, s->numbers, index, &symbol, &number) || !number ||
	    !is_variable(&symbol))
		return 0;
	const char *name = elf_strptr(s->elf, s->header.sh_link, symbol.st_name);
	if (!name || !name[0] || !gelf_getshdr(elf_getscn(s->elf, number), &section) ||
	    !(section.sh_flags & SHF_ALLOC) || symbol.st_size > UINT64_MAX - symbol.st_value)
		return 0;
	const char *in = elf_strptr(s->elf, s->section_names, section.sh_name);
	*vec_push(&v->list) = (struct symbol_variable){
		.name = name,
		.section = in ? in : "",
		.address = symbol.st_value,
		.size_bytes = symbol.st_size,
		.is_thread_local = GELF_ST_TYPE(symbol.st_info) == STT_TLS,
		.is_exported = GELF_ST_BIND(symbol.st_info) != STB_LOCAL,
	};
	return 1;
}

size_t variables_read(struct variables *v, const struct object *from, uint32_t type)
{
	struct source s = {.elf = object_get_elf(from)};
	size_t each = gelf_fsize(s.elf, ELF_T_SYM, 1, EV_CURRENT), added = 0;
	Elf_Scn *section = NULL;

	if (elf_getshdrstrndx(s.elf, &s.section_names) != 0 || !each)
		return 0;
	while ((section = elf_nextscn(s.elf, section))) {
		if (!gelf_getshdr(section, &s.header) || s.header.sh_type != type)
			continue;
		s.data = elf_getdata(section, NULL);
		s.numbers = object_find_numbers(s.elf, section);
		for (size_t i = 0; s.data && i < s.data->d_size / each; i++)
			added += add_symbol(v, &s, i);
	}
	return added;
}

/* The section headers of a program say where its variables are, whatever symbols it has. */
void variables_add_sections(struct variables *v, const struct object *from)
{
	static const char *const names[] = {".data", ".bss",   ".rodata", ".tdata",
					    ".tbss", ".ldata", ".lbss",	  ".lrodata"};
	Elf *elf = object_get_elf(from);
	size_t section_names;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &section_names) != 0)
		return;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, section_names, header.sh_name)
					   : NULL;

		if (!name || !(header.sh_flags & SHF_ALLOC) || !header.sh_size ||
		    header.sh_size > UINT64_MAX - header.sh_addr)
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strncmp(name, names[i], strlen(names[i])) == 0)
				*vec_push(&v->list) = (struct symbol_variable){
					.section = name,
					.address = header.sh_addr,
					.size_bytes = header.sh_size,
					.is_thread_local = (header.sh_flags & SHF_TLS) != 0,
				};
	}
}

/* ---- one name for each place ----------------------------------------------------------------- */

static int compare_places(const struct symbol_variable *a, const struct symbol_variable *b)
{
	if (a->is_thread_local != b->is_thread_local)
		return a->is_thread_local ? 1 : -1;
	return (a->address > b->address) - (a->address < b->address);
}

/* Prefers the whole, and then the name that the program's author would know. */
static int compare(const void *left, const void *right)
{
	const struct symbol_variable *a = left, *b = right;
	int by_place = compare_places(a, b);
	size_t a_bars = strspn(a->name, "_"), b_bars = strspn(b->name, "_");

	if (by_place)
		return by_place;
	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	if (a->is_exported != b->is_exported)
		return a->is_exported ? -1 : 1;
	if (a_bars != b_bars)
		return a_bars < b_bars ? -1 : 1;
	return strcmp(a->name, b->name);
}

void variables_build(struct variables *v)
{
	size_t kept = 0;

	if (!v->list.count)
		return;
	qsort(v->list.at, v->list.count, sizeof(*v->list.at), compare);
	for (size_t i = 0; i < v->list.count; i++) {
		const struct symbol_variable *last = kept ? &v->list.at[kept - 1] : NULL;
		struct symbol_variable next = v->list.at[i];

		if (last && last->is_thread_local == next.is_thread_local &&
		    next.address < last->address + last->size_bytes)
			continue;
		v->list.at[kept++] = next;
	}
	v->list.count = kept;
}

/* ---- where they are defined ------------------------------------------------------------------ */

static bool is_tls_operation(uint8_t operation)
{
	return operation == DW_OP_GNU_push_tls_address || operation == DW_OP_form_tls_address;
}

static bool is_constant(uint8_t operation)
{
	return operation == DW_OP_const1u || operation == DW_OP_const2u ||
	       operation == DW_OP_const4u || operation == DW_OP_const8u ||
	       operation == DW_OP_constu;
}

/* The place of a variable, as far as it has one that never moves. */
static bool find_place(Dwarf_Die *die, struct symbol_variable *place)
{
	Dwarf_Attribute attribute, indirect;
	Dwarf_Op *operations;
	Dwarf_Addr address;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &operations, &count) != 0 || count < 1)
		return false;
	place->address = operations[0].number;
	place->is_thread_local = count == 2 && is_tls_operation(operations[1].atom);
	if (place->is_thread_local && is_constant(operations[0].atom))
		return true;
	if (!place->is_thread_local && count != 1)
		return false;
	if (operations[0].atom == DW_OP_addr)
		return true;
	if (dwarf_getlocation_attr(&attribute, &operations[0], &indirect) != 0 ||
	    dwarf_formaddr(&indirect, &address) != 0)
		return false;
	place->address = address;
	return true;
}

static int compare_with(const void *key, const void *element)
{
	return compare_places(key, element);
}

static void note_variable(struct variables *v, Dwarf_Die *die)
{
	struct symbol_variable place = {0};
	int line = 0;

	if (!find_place(die, &place))
		return;
	struct symbol_variable *known =
		bsearch(&place, v->list.at, v->list.count, sizeof(*v->list.at), compare_with);
	if (!known || known->file)
		return;
	known->file = dwarf_decl_file(die);
	if (known->file && dwarf_decl_line(die, &line) == 0 && line > 0)
		known->line = (uint32_t)line;
}

static void visit_children(struct variables *v, Dwarf_Die *parent, Dwarf_Off *last, unsigned depth)
{
	Dwarf_Die child;

	for (int more = dies_first(parent, &child, last); more; more = dies_next(&child, last)) {
		switch (dwarf_tag(&child)) {
		case DW_TAG_variable:
			note_variable(v, &child);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
		case DW_TAG_common_block:
			if (depth < NESTING_MOST)
				visit_children(v, &child, last, depth + 1);
			break;
		default:
			break;
		}
	}
}

void variables_place(struct variables *v, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	if (!v->list.count)
		return;
	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		Dwarf_Off last = 0;

		if (dwarf_tag(&die) != DW_TAG_invalid)
			visit_children(v, &die, &last, 0);
	}
}
