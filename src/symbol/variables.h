/* variables.h -- the variables of an object: what its symbol tables and DWARF say of them.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_VARIABLES_H
#define MIDDEN_SYMBOL_VARIABLES_H

#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/vec.h"
#include "symbol/object.h"
#include "symbol/symbol.h"

/* Zero-initialise. */
struct variables {
	VEC(struct symbol_variable) list;
};

/* Adds the variables in the symbol tables of section type `type` of `from`; returns how many.
 * `from` must outlive them. */
size_t variables_read(struct variables *v, const struct object *from, uint32_t type);

/* Call once, after the last variables_read: puts them in order of address. Of several names for one
 * place the best stays; what lies inside another goes. */
void variables_build(struct variables *v);

/* Adds where they are defined. Call after variables_build. */
void variables_place(struct variables *v, Dwarf *dwarf);

/* Adds the sections that hold variables, as rows without a name. */
void variables_add_sections(struct variables *v, const struct object *from);

void variables_fini(struct variables *v);

#endif
