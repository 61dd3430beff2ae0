/* symtab.h -- names of functions or variables by address from ELF symbol tables.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_SYMTAB_H
#define MIDDEN_SYMBOL_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/object.h"

struct symtab;

struct symtab *symtab_new(void);
void symtab_free(struct symtab *t);

/* Adds the functions in the symbol tables of section type `type` (SHT_SYMTAB, SHT_DYNSYM) of
 * `from`; only what lies in the executable segments of `code` counts. Returns how many there were.
 * `from` must outlive the table. */
size_t symtab_read(struct symtab *t, const struct object *from, uint32_t type,
		   const struct object *code);

/* The same for variables: a table has either. */
size_t symtab_read_variables(struct symtab *t, const struct object *from, uint32_t type);

/* Call once, after the last symtab_read. */
void symtab_build(struct symtab *t);

/* The symbol around `address`, as it stands in the table; NULL if there is none. A symbol without a
 * size (assembly) reaches to the next symbol or the end of its section, but never into a symbol
 * that has one. */
const char *symtab_find(const struct symtab *t, uint64_t address);

/* The same, and where in it the address lies. */
const char *symtab_find_offset(const struct symtab *t, uint64_t address, uint64_t *offset);

#endif
