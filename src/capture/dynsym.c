/* dynsym.c -- symbols that a loaded object exports, looked up without the loader.
 * Runs: any thread of the target, inside malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/dynsym.h"

#include <string.h>

#include "capture/peek.h"

#define ENTRIES_MOST 128 /* of the dynamic section; linkers make about 30 */
#define CHAIN_MOST   4096
#define NAME_ROOM    64

/* glibc puts run-time addresses there as it loads, other loaders leave them as they are. */
static uint64_t to_address(const struct image *image, uint64_t value)
{
	return value >= image->map_start && value < image->map_end ? value : image->bias + value;
}

static void take_entry(const struct image *image, const Elf64_Dyn *entry, struct dynsym *d)
{
	if (entry->d_tag == DT_GNU_HASH)
		d->hash = to_address(image, entry->d_un.d_ptr);
	else if (entry->d_tag == DT_SYMTAB)
		d->symbols = to_address(image, entry->d_un.d_ptr);
	else if (entry->d_tag == DT_STRTAB)
		d->strings = to_address(image, entry->d_un.d_ptr);
}

bool dynsym_open(const struct image *image, const struct image_headers *h, struct dynsym *d)
{
	uint64_t at = 0;
	Elf64_Dyn entry;

	*d = (struct dynsym){.bias = image->bias};
	for (unsigned i = 0; i < h->count; i++)
		if (h->at[i].p_type == PT_DYNAMIC)
			at = image->bias + h->at[i].p_vaddr;
	for (unsigned i = 0; at && i < ENTRIES_MOST; i++, at += sizeof(entry)) {
		if (!peek_copy(at, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
			break;
		take_entry(image, &entry, d);
	}
	return d->hash && d->symbols && d->strings;
}

struct hash_head {
	uint32_t buckets;
	uint32_t first_symbol;
	uint32_t filter_words;
	uint32_t filter_shift;
};

/* Most objects have no symbol of that name, and their filter says so. */
static bool may_have(const struct dynsym *d, const struct hash_head *head, uint32_t hash)
{
	uint64_t word;

	if (!peek_copy(d->hash + sizeof(*head) + hash / 64 % head->filter_words * UINT64_C(8),
		       &word, 8))
		return false;
	return word >> hash % 64 & word >> (hash >> (head->filter_shift & 31)) % 64 & 1;
}

static bool is_symbol(const struct dynsym *d, uint64_t index, const char *name, Elf64_Sym *symbol)
{
	char found[NAME_ROOM];

	return peek_copy(d->symbols + index * sizeof(*symbol), symbol, sizeof(*symbol)) &&
	       symbol->st_shndx != SHN_UNDEF &&
	       peek_text(d->strings + symbol->st_name, found, sizeof(found)) &&
	       strcmp(found, name) == 0;
}

uint64_t dynsym_find(const struct dynsym *d, const char *name, uint64_t *bytes)
{
	uint32_t hash = dynsym_hash(name), index, link = 0;
	struct hash_head head;
	Elf64_Sym symbol;

	if (!peek_copy(d->hash, &head, sizeof(head)) || !head.buckets || !head.filter_words ||
	    !may_have(d, &head, hash))
		return 0;
	uint64_t buckets = d->hash + sizeof(head) + (uint64_t)head.filter_words * 8;
	uint64_t chains = buckets + (uint64_t)head.buckets * 4;

	if (!peek_copy(buckets + (uint64_t)(hash % head.buckets) * 4, &index, 4) ||
	    index < head.first_symbol)
		return 0;
	for (unsigned i = 0; i < CHAIN_MOST && !(link & 1); i++, index++) {
		if (!peek_copy(chains + (uint64_t)(index - head.first_symbol) * 4, &link, 4))
			return 0;
		if ((link | 1) == (hash | 1) && is_symbol(d, index, name, &symbol)) {
			if (bytes)
				*bytes = symbol.st_size;
			return d->bias + symbol.st_value;
		}
	}
	return 0;
}
