/* object.h -- one ELF file or image, opened and checked.
 * Runs: offline; called by symbol.c and debugfile.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_OBJECT_H
#define MIDDEN_SYMBOL_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>
#include <gelf.h>

#include "base/error.h"

struct object;

/* Opens an ELF file. Treats it as hostile: what is no regular file or no ELF file gives NULL with
 * `e`. */
struct object *object_open(const char *path, struct error *e);

/* The same on an open descriptor, which it takes over, also on failure. `path` is for messages and
 * object_get_path. */
struct object *object_open_fd(int fd, const char *path, struct error *e);

/* The same on bytes in memory, which it takes over, also on failure; they must come from malloc. */
struct object *object_open_memory(void *image, size_t bytes, struct error *e);

/* NULL is allowed. What came from the object's `Elf` is gone then. */
void object_close(struct object *o);

/* Whether its DWARF takes no more memory than can be spared for hours. */
bool object_has_modest_dwarf(const struct object *o);

/* Its DWARF, as far as names need it, for the caller to end before the object is closed; NULL if it
 * has none. What is compressed is unpacked by up to `threads`, 1 or 2. */
Dwarf *object_begin_dwarf(struct object *o, unsigned threads);

/* Gives the descriptor back while the object stays usable: a process may map more objects than it
 * may hold files open. Not before object_begin_dwarf, which learns the file's directory from the
 * descriptor. */
void object_close_fd(struct object *o);

Elf *object_get_elf(const struct object *o);

/* The path it was opened by; NULL for memory. */
const char *object_get_path(const struct object *o);

/* Whether the file still is as it was when it was opened: pages of it may not have been read yet.
 * One that has lost its name is; so is what is no file. */
bool object_is_unchanged(const struct object *o);

/* The build-id and its size in bytes; 0 if there is none. */
size_t object_get_build_id(const struct object *o, const uint8_t **id);

bool object_has_build_id(const struct object *o, const uint8_t *id, size_t bytes);

/* The section with that name, or NULL. */
Elf_Scn *object_find_section(const struct object *o, const char *name);

/* Whether it is a program or shared object, also one of which only debug information is left; what
 * dwz shares between debug files is not. */
bool object_is_loadable(const struct object *o);

/* Whether it holds DWARF, compressed or not. */
bool object_has_dwarf(const struct object *o);

/* Whether the address lies in a segment that is mapped executable. Linkers leave the debug
 * information of functions they dropped behind, at address 0 or at the end of the address space. */
bool object_has_code(const struct object *o, uint64_t address);

/* What has the numbers of sections that are too high for the symbols of a table themselves; NULL if
 * none is. */
Elf_Data *object_find_numbers(Elf *elf, Elf_Scn *table);

/* A symbol of a table, and the number of its section: 0 if it is in none. False: it cannot be
 * read. */
bool object_get_symbol(Elf_Data *table, Elf_Data *numbers, size_t index, GElf_Sym *symbol,
		       size_t *section);

#endif
