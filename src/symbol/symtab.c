/* symtab.c -- names of functions or variables by address from ELF symbol tables.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symtab.h"

#include <stdbool.h>
#include <string.h>

#include "base/radix.h"
#include "base/vec.h"
#include "symbol/spans.h"

struct entry {
	uint64_t start;
	uint64_t end; /* of the function; of its section if it has no size */
	const char *name;
	uint32_t rank; /* among names of one address, the highest is shown */
	bool sized;
};

struct symtab {
	VEC(struct entry) entries;
	struct spans spans; /* item: index into entries */
};

/* One symbol table section being read. */
struct source {
	Elf *elf;
	Elf_Data *data;
	Elf_Data *numbers; /* of sections: object_find_numbers */
	GElf_Shdr header;
	const struct object *code; /* NULL: variables are wanted */
};

struct symtab *symtab_new(void)
{
	return mem_new(1, sizeof(struct symtab));
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	vec_free(&t->entries);
	spans_free(&t->spans);
	free(t);
}

/* "$x", "$d.12": ARM's marks for where code and data begin. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

static bool is_function(const struct source *s, const GElf_Sym *symbol, const char *name)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !name || !name[0])
		return false;
	if (type == STT_NOTYPE && is_mapping_symbol(name))
		return false;
	return object_has_code(s->code, symbol->st_value);
}

static bool is_variable(const GElf_Sym *symbol, const char *name)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size != 0 &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && name && name[0];
}

/* Prefers the name that the program's author would know: a function's, exported, without
 * underscores. */
static uint32_t rank(const GElf_Sym *symbol, const char *name)
{
	int binding = GELF_ST_BIND(symbol->st_info);
	uint32_t points = GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE ? 16 : 0;
	size_t underscores = strspn(name, "_");

	if (binding == STB_GLOBAL || binding == STB_GNU_UNIQUE)
		points += 8;
	else if (binding == STB_WEAK)
		points += 4;
	return points + (underscores < 3 ? (uint32_t)(3 - underscores) : 0);
}

/* Of a symbol without a size: where its section ends, or itself if it has none. */
static uint64_t find_end(Elf *elf, const GElf_Sym *symbol, size_t number)
{
	GElf_Shdr header;
	Elf_Scn *section = number ? elf_getscn(elf, number) : NULL;

	if (!section || !gelf_getshdr(section, &header))
		return symbol->st_value;
	return header.sh_addr + header.sh_size;
}

static size_t add_symbol(struct symtab *t, const struct source *s, size_t index)
{
	GElf_Sym symbol;
	const char *name;
	size_t section;

	if (!object_get_symbol(s->data, s->numbers, index, &symbol, &section))
		return 0;
	name = elf_strptr(s->elf, s->header.sh_link, symbol.st_name);
	if (!(s->code ? is_function(s, &symbol, name) : is_variable(&symbol, name)))
		return 0;
	*vec_push(&t->entries) = (struct entry){
		.start = symbol.st_value,
		.end = symbol.st_size ? symbol.st_value + symbol.st_size
				      : find_end(s->elf, &symbol, section),
		.name = name,
		.rank = rank(&symbol, name),
		.sized = symbol.st_size != 0,
	};
	return 1;
}

static size_t add_section(struct symtab *t, const struct source *s)
{
	size_t each = gelf_fsize(s->elf, ELF_T_SYM, 1, EV_CURRENT);
	size_t added = 0;

	for (size_t i = 0; each && i < s->data->d_size / each; i++)
		added += add_symbol(t, s, i);
	return added;
}

static size_t read_sections(struct symtab *t, const struct object *from, uint32_t type,
			    const struct object *code)
{
	struct source s = {.elf = object_get_elf(from), .code = code};
	Elf_Scn *section = NULL;
	size_t added = 0;

	while ((section = elf_nextscn(s.elf, section))) {
		if (!gelf_getshdr(section, &s.header) || s.header.sh_type != type)
			continue;
		s.data = elf_getdata(section, NULL);
		s.numbers = object_find_numbers(s.elf, section);
		if (s.data)
			added += add_section(t, &s);
	}
	return added;
}

size_t symtab_read(struct symtab *t, const struct object *from, uint32_t type,
		   const struct object *code)
{
	return read_sections(t, from, type, code);
}

size_t symtab_read_variables(struct symtab *t, const struct object *from, uint32_t type)
{
	return read_sections(t, from, type, NULL);
}

static int by_name_downwards(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return -strcmp(a->name, b->name);
}

/* By address; of those at one address that are equal in all else, the first name wins. */
static void sort(struct symtab *t)
{
	struct entry *at = t->entries.at;
	size_t first = 0;

	radix_sort(at, t->entries.count, sizeof(*at), offsetof(struct entry, start));
	for (size_t i = 1; i <= t->entries.count; i++) {
		if (i < t->entries.count && at[i].start == at[first].start)
			continue;
		if (i - first > 1)
			qsort(at + first, i - first, sizeof(*at), by_name_downwards);
		first = i;
	}
}

static void add_span(struct symtab *t, size_t index, uint64_t end)
{
	const struct entry *entry = &t->entries.at[index];

	spans_add(&t->spans, (struct span){entry->start, end, (uint32_t)index, entry->rank});
}

/* Where a symbol without a size starts inside one that has a size, it is a label in its middle.
 * Returns how many are not. */
static size_t add_unsized(struct symtab *t)
{
	struct symtab labels = {.entries = t->entries};
	uint64_t next = UINT64_MAX;

	for (size_t i = t->entries.count; i-- > 0;) {
		const struct entry *entry = &t->entries.at[i];

		if (i + 1 < t->entries.count && entry[1].start != entry->start)
			next = entry[1].start;
		if (!entry->sized && !spans_find(&t->spans, entry->start))
			add_span(&labels, i, entry->end < next ? entry->end : next);
	}
	for (size_t i = 0; i < labels.spans.list.count; i++)
		spans_add(&t->spans, labels.spans.list.at[i]);
	size_t added = labels.spans.list.count;
	spans_free(&labels.spans);
	return added;
}

void symtab_build(struct symtab *t)
{
	if (!t->entries.count)
		return;
	sort(t);
	for (size_t i = 0; i < t->entries.count; i++)
		if (t->entries.at[i].sized)
			add_span(t, i, t->entries.at[i].end);
	spans_flatten(&t->spans);
	if (add_unsized(t))
		spans_flatten(&t->spans);
}

const char *symtab_find_offset(const struct symtab *t, uint64_t address, uint64_t *offset)
{
	const struct span *span = spans_find(&t->spans, address);

	if (!span)
		return NULL;
	*offset = address - t->entries.at[span->item].start;
	return t->entries.at[span->item].name;
}

const char *symtab_find(const struct symtab *t, uint64_t address)
{
	const struct span *span = spans_find(&t->spans, address);

	return span ? t->entries.at[span->item].name : NULL;
}
