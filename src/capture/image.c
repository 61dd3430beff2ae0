/* image.c -- what a loaded object's own program headers say about its memory.
 * Runs: any thread of the target, inside malloc. Called by modules.c and what it uses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/image.h"

#include <string.h>

#include "capture/peek.h"

#define PAGE_LEAST 4096 /* so much of an object is mapped at least */

bool image_read_headers(const struct image *image, struct image_headers *h)
{
	const Elf64_Ehdr *elf = &h->elf;

	h->count = 0;
	if (!peek_copy(image->map_start, &h->elf, sizeof(h->elf)) ||
	    memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phoff > PAGE_LEAST ||
	    elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > PAGE_LEAST)
		return false;
	unsigned count = elf->e_phnum < IMAGE_HEADERS_MOST ? elf->e_phnum : IMAGE_HEADERS_MOST;
	if (!peek_copy(image->map_start + elf->e_phoff, h->at, count * sizeof(*h->at)))
		return false;
	h->count = count;
	return true;
}

uint64_t image_room(const struct image *image, uint64_t address, uint32_t flags)
{
	struct image_headers h;

	(void)image_read_headers(image, &h);
	for (unsigned i = 0; i < h.count; i++) {
		const Elf64_Phdr *p = &h.at[i];
		uint64_t start = image->bias + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags &&
		    address - start < p->p_filesz && start >= image->map_start &&
		    start + p->p_filesz <= image->map_end)
			return start + p->p_filesz - address;
	}
	return 0;
}
