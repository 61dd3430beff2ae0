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
	    elf->e_phoff % _Alignof(Elf64_Phdr) || elf->e_phoff > PAGE_LEAST ||
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
		    start <= image->map_end && p->p_filesz <= image->map_end - start)
			return start + p->p_filesz - address;
	}
	return 0;
}

/* The build id among the notes in [at, end). */
static uint32_t find_build_id(uint64_t at, uint64_t end, uint8_t id[IMAGE_BUILD_ID_MAX])
{
	while (end - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;

		memcpy(&note, (const void *)(uintptr_t)at, sizeof(note)); /* NOLINT */
		uint64_t name = at + sizeof(note);
		uint64_t desc = name + ((note.n_namesz + UINT64_C(3)) & ~UINT64_C(3));

		at = desc + ((note.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
		if (at > end)
			return 0;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    note.n_descsz > IMAGE_BUILD_ID_MAX ||
		    memcmp((const void *)(uintptr_t)name, "GNU", 4) != 0) /* NOLINT */
			continue;
		memcpy(id, (const void *)(uintptr_t)desc, note.n_descsz); /* NOLINT */
		return note.n_descsz;
	}
	return 0;
}

uint32_t image_read_build_id(const struct image *image, uint8_t id[IMAGE_BUILD_ID_MAX])
{
	unsigned count = 0;
	const Elf64_Phdr *p = image_find_headers(image, &count);
	uint32_t bytes = 0;

	for (; count > 0 && bytes == 0; p++, count--) {
		uint64_t at = image->bias + p->p_vaddr;

		if (p->p_type == PT_NOTE && p->p_filesz <= image_room(image, at, PF_R))
			bytes = find_build_id(at, at + p->p_filesz, id);
	}
	return bytes;
}
