/* image.c -- what a loaded object's own program headers say about its memory.
 * Runs: any thread of the target, inside malloc. Called by modules.c and what it uses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/image.h"

#include <string.h>

#include "capture/peek.h"

#define PAGE_LEAST 4096 /* so much of an object is mapped at least */
#define NOTES_ROOM 256

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

/* The segment of the object's file that holds `address`, with at least the rights `flags`. */
static const Elf64_Phdr *find_segment(const struct image *image, const struct image_headers *h,
				      uint64_t address, uint32_t flags)
{
	for (unsigned i = 0; i < h->count; i++) {
		const Elf64_Phdr *p = &h->at[i];
		uint64_t start = image->bias + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags &&
		    address - start < p->p_filesz && start >= image->map_start &&
		    start <= image->map_end && p->p_filesz <= image->map_end - start)
			return p;
	}
	return NULL;
}

static uint64_t room_in(const struct image *image, const struct image_headers *h, uint64_t address,
			uint32_t flags)
{
	const Elf64_Phdr *p = find_segment(image, h, address, flags);

	return p ? image->bias + p->p_vaddr + p->p_filesz - address : 0;
}

uint64_t image_room(const struct image *image, uint64_t address, uint32_t flags)
{
	struct image_headers h;

	(void)image_read_headers(image, &h);
	return room_in(image, &h, address, flags);
}

void image_bound(struct image *image, const struct image_headers *h, uint64_t address)
{
	const Elf64_Phdr *p = find_segment(image, h, address, PF_R);

	if (h->count == 0)
		return;
	image->read_start = p ? image->bias + p->p_vaddr : 1;
	image->read_end = p ? image->read_start + p->p_filesz : 1;
}

/* The build id among the notes. */
static uint32_t find_build_id(const uint8_t *notes, uint64_t bytes, uint8_t id[IMAGE_BUILD_ID_MAX])
{
	for (uint64_t at = 0; bytes - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		uint64_t name = at + sizeof(note);
		uint64_t desc = name + ((note.n_namesz + UINT64_C(3)) & ~UINT64_C(3));

		at = desc + ((note.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
		if (at > bytes)
			return 0;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    note.n_descsz > IMAGE_BUILD_ID_MAX || memcmp(notes + name, "GNU", 4) != 0)
			continue;
		memcpy(id, notes + desc, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

uint32_t image_read_build_id(const struct image *image, const struct image_headers *h,
			     uint8_t id[IMAGE_BUILD_ID_MAX])
{
	uint8_t notes[NOTES_ROOM];
	uint32_t bytes = 0;

	for (unsigned i = 0; i < h->count && bytes == 0; i++) {
		const Elf64_Phdr *p = &h->at[i];
		uint64_t at = image->bias + p->p_vaddr;
		uint64_t taken = p->p_filesz < NOTES_ROOM ? p->p_filesz : NOTES_ROOM;

		if (p->p_type == PT_NOTE && p->p_filesz <= room_in(image, h, at, PF_R) &&
		    peek_copy(at, notes, taken))
			bytes = find_build_id(notes, taken, id);
	}
	return bytes;
}
