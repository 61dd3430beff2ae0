/* sections.c -- finds a loaded object's .eh_frame by the section headers of its file.
 * Runs: any thread of the target, inside malloc, once for each object that has unwind information
 * but no .eh_frame_hdr (linked with --no-eh-frame-hdr). Called by modules.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Section headers are not loaded, so the file has to be asked: read with system calls of our own,
 * into small buffers. It may be another file by now: its headers must be those that are in memory,
 * and what it says about .eh_frame must lie in what is mapped. */
#include "capture/sections.h"

#include <fcntl.h>
#include <string.h>

#include "capture/host.h"

#define SECTIONS_AT_ONCE 8

static bool read_exactly(int fd, void *to, size_t bytes, uint64_t offset)
{
	return HOST_CALL4(SYS_pread64, fd, to, bytes, offset) == (long)bytes;
}

static bool is_same(int fd, const void *memory, size_t bytes, uint64_t offset)
{
	uint8_t part[256];

	for (size_t done = 0; done < bytes;) {
		size_t next = bytes - done < sizeof(part) ? bytes - done : sizeof(part);

		if (!read_exactly(fd, part, next, offset + done) ||
		    memcmp(part, (const char *)memory + done, next) != 0)
			return false;
		done += next;
	}
	return true;
}

/* The file's header in `elf`, if it is the object's. */
static bool take_header(int fd, const struct image *image, Elf64_Ehdr *elf)
{
	struct image_headers h;

	if (!image_read_headers(image, &h))
		return false;
	*elf = h.elf;
	return elf->e_shentsize == sizeof(Elf64_Shdr) && elf->e_shstrndx < elf->e_shnum &&
	       is_same(fd, elf, sizeof(*elf), 0) &&
	       is_same(fd, h.at, h.count * sizeof(*h.at), elf->e_phoff);
}

static bool is_eh_frame(int fd, const Elf64_Shdr *section, const Elf64_Shdr *names)
{
	static const char name[] = ".eh_frame";
	char found[sizeof(name)];

	return (section->sh_flags & SHF_ALLOC) && section->sh_type != SHT_NOBITS &&
	       section->sh_size > 0 && section->sh_name < names->sh_size &&
	       read_exactly(fd, found, sizeof(found), names->sh_offset + section->sh_name) &&
	       memcmp(found, name, sizeof(name)) == 0;
}

static bool find_section(int fd, const Elf64_Ehdr *elf, Elf64_Shdr *result)
{
	Elf64_Shdr sections[SECTIONS_AT_ONCE] = {0}, names = {0};

	if (!read_exactly(fd, &names, sizeof(names),
			  elf->e_shoff + elf->e_shstrndx * sizeof(names)))
		return false;
	for (unsigned i = 0; i < elf->e_shnum; i += SECTIONS_AT_ONCE) {
		unsigned count = elf->e_shnum - i;

		if (count > SECTIONS_AT_ONCE)
			count = SECTIONS_AT_ONCE;
		if (!read_exactly(fd, sections, count * sizeof(*sections),
				  elf->e_shoff + i * sizeof(*sections)))
			return false;
		for (unsigned k = 0; k < count; k++) {
			if (is_eh_frame(fd, &sections[k], &names)) {
				*result = sections[k];
				return true;
			}
		}
	}
	return false;
}

bool sections_find_eh_frame(const struct image *image, const char *path, uint64_t *start,
			    uint64_t *bytes)
{
	Elf64_Ehdr elf;
	Elf64_Shdr section;

	if (*path && !strrchr(path, '/')) /* a name without a file: the kernel's own object */
		return false;
	/* Not to wait: by now a pipe may be there. */
	int fd = (int)HOST_CALL4(SYS_openat, AT_FDCWD, *path ? path : "/proc/thread-self/exe",
				 O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool found = take_header(fd, image, &elf) && find_section(fd, &elf, &section);
	(void)host_close(fd);
	if (!found)
		return false;
	*start = image->bias + section.sh_addr;
	*bytes = section.sh_size;
	return section.sh_size <= image_room(image, *start, PF_R);
}
