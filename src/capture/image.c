/* image.c -- what a loaded object's own program headers say about its memory.
 * Runs: any thread of the target, inside malloc. Called by modules.c and what it uses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/image.h"

#include <string.h>

#define PAGE_LEAST 4096 /* so much of an object is mapped at least */

const Elf64_Phdr *image_find_headers(const struct image *image, unsigned *count)
{
	const Elf64_Ehdr *elf = (const void *)(uintptr_t)image->map_start; /* NOLINT */

	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phoff > PAGE_LEAST ||
	    elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > PAGE_LEAST)
		return NULL;
	*count = elf->e_phnum;
	return (const void *)((const char *)elf + elf->e_phoff);
}

uint64_t image_room(const struct image *image, uint64_t address, uint32_t flags)
{
	unsigned count = 0;
	const Elf64_Phdr *p = image_find_headers(image, &count);

	for (; count > 0; p++, count--) {
		uint64_t start = image->bias + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags &&
		    address - start < p->p_filesz && start >= image->map_start &&
		    start + p->p_filesz <= image->map_end)
			return start + p->p_filesz - address;
	}
	return 0;
}
