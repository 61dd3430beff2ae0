/* object.c -- one ELF file or image, opened and checked.
 * Runs: offline; called by symbol.c and debugfile.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "base/mem.h"
#include "symbol/spans.h"
#include "symbol/unpack.h"

struct object {
	Elf *elf;
	int fd; /* -1: memory, or given back */
	char *path;
	void *image;
	struct stat status; /* of the file, when it was opened */
	struct spans code;
	struct unpacked unpacked;
};

static void read_segments(struct object *o)
{
	size_t count = 0;

	if (elf_getphdrnum(o->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(o->elf, (int)i, &p))
			return;
		if (p.p_type == PT_LOAD && (p.p_flags & PF_X) && p.p_vaddr + p.p_memsz > p.p_vaddr)
			spans_add(&o->code, (struct span){p.p_vaddr, p.p_vaddr + p.p_memsz, 0, 0});
	}
	spans_flatten(&o->code);
}

/* Takes the object over; returns it, or NULL after closing it. */
static struct object *check(struct object *o, struct error *e)
{
	const char *name = o->path ? o->path : "image";
	GElf_Ehdr header;

	if (!o->elf)
		error_set(e, "%s: %s", name, elf_errmsg(-1));
	else if (elf_kind(o->elf) != ELF_K_ELF || !gelf_getehdr(o->elf, &header))
		error_set(e, "%s: not an ELF file", name);
	else {
		read_segments(o);
		return o;
	}
	object_close(o);
	return NULL;
}

/* A fifo or device under the recorded name must neither block us nor be read. */
static int check_regular(int fd, const char *path, struct stat *status, struct error *e)
{
	if (fstat(fd, status) < 0)
		return error_set_errno(e, "%s", path);
	if (!S_ISREG(status->st_mode))
		return error_set(e, "%s: not a regular file", path);
	return 0;
}

struct object *object_open_fd(int fd, const char *path, struct error *e)
{
	struct stat status;

	if (check_regular(fd, path, &status, e) < 0) {
		close(fd);
		return NULL;
	}
	(void)elf_version(EV_CURRENT);
	struct object *o = mem_new(1, sizeof(*o));
	o->fd = fd;
	o->path = mem_copy_string(path);
	o->status = status;
	o->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	return check(o, e);
}

struct object *object_open(const char *path, struct error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		error_set_errno(e, "%s", path);
		return NULL;
	}
	return object_open_fd(fd, path, e);
}

struct object *object_open_memory(void *image, size_t bytes, struct error *e)
{
	(void)elf_version(EV_CURRENT);
	struct object *o = mem_new(1, sizeof(*o));
	o->fd = -1;
	o->image = image;
	o->elf = elf_memory(image, bytes);
	return check(o, e);
}

void object_close(struct object *o)
{
	if (!o)
		return;
	elf_end(o->elf);
	if (o->fd >= 0)
		close(o->fd);
	unpack_free(&o->unpacked);
	spans_free(&o->code);
	free(o->image);
	free(o->path);
	free(o);
}

bool object_has_modest_dwarf(const struct object *o)
{
	return unpack_is_modest(o->elf);
}

Dwarf *object_begin_dwarf(struct object *o, unsigned threads)
{
	if (o->path)
		unpack_sections(o->elf, threads, &o->unpacked);
	return dwarf_begin_elf(o->elf, DWARF_C_READ, NULL);
}

void object_close_fd(struct object *o)
{
	if (o->fd < 0 || elf_cntl(o->elf, ELF_C_FDREAD) != 0)
		return;
	close(o->fd);
	o->fd = -1;
}

Elf *object_get_elf(const struct object *o)
{
	return o->elf;
}

const char *object_get_path(const struct object *o)
{
	return o->path;
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool object_is_unchanged(const struct object *o)
{
	const struct stat *was = &o->status;
	struct stat now;

	if (!o->path || stat(o->path, &now) || now.st_dev != was->st_dev ||
	    now.st_ino != was->st_ino)
		return true;
	return now.st_size == was->st_size && is_same_time(now.st_mtim, was->st_mtim) &&
	       is_same_time(now.st_ctim, was->st_ctim);
}

size_t object_get_build_id(const struct object *o, const uint8_t **id)
{
	const void *bits = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(o->elf, &bits);

	*id = bits;
	return bytes > 0 ? (size_t)bytes : 0;
}

bool object_has_build_id(const struct object *o, const uint8_t *id, size_t bytes)
{
	const uint8_t *own;

	return object_get_build_id(o, &own) == bytes && bytes && memcmp(own, id, bytes) == 0;
}

Elf_Scn *object_find_section(const struct object *o, const char *name)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(o->elf, &names) != 0)
		return NULL;
	while ((section = elf_nextscn(o->elf, section))) {
		GElf_Shdr header;
		const char *found = NULL;

		if (gelf_getshdr(section, &header))
			found = elf_strptr(o->elf, names, header.sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

bool object_is_loadable(const struct object *o)
{
	GElf_Ehdr header;

	return gelf_getehdr(o->elf, &header) &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

bool object_has_dwarf(const struct object *o)
{
	return object_find_section(o, ".debug_info") || object_find_section(o, ".zdebug_info");
}

bool object_has_code(const struct object *o, uint64_t address)
{
	return address && spans_find(&o->code, address);
}

Elf_Data *object_find_numbers(Elf *elf, Elf_Scn *table)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t count;

	if (elf_getshdrnum(elf, &count) != 0 || count < SHN_LORESERVE)
		return NULL;
	/* elf_scnshndx knows only what libelf has come by. */
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
		    header.sh_link == elf_ndxscn(table))
			return elf_getdata(section, NULL);
	return NULL;
}

bool object_get_symbol(Elf_Data *table, Elf_Data *numbers, size_t index, GElf_Sym *symbol,
		       size_t *section)
{
	Elf32_Word number = SHN_UNDEF;

	if (!gelf_getsymshndx(table, numbers, (int)index, symbol, &number) &&
	    !gelf_getsym(table, (int)index, symbol))
		return false;
	if (symbol->st_shndx < SHN_LORESERVE)
		number = symbol->st_shndx;
	else if (symbol->st_shndx != SHN_XINDEX)
		number = SHN_UNDEF;
	*section = number;
	return true;
}
