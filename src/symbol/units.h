/* units.h -- frames by address from DWARF.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_UNITS_H
#define MIDDEN_SYMBOL_UNITS_H

#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/vec.h"
#include "symbol/object.h"
#include "symbol/symbol.h"

struct units;

/* Compilation units and what is in them are read when they are first asked for.
 * `dwarf` and `code` (the object whose executable segments count) must outlive it. */
struct units *units_new(Dwarf *dwarf, const struct object *code);
void units_free(struct units *u);

struct units_frames {
	VEC(struct symbol_frame) list;
};

/* Appends the frames at `address`, innermost first, with linkage names as they are. Adds none if no
 * unit covers the address; one without a name if only its source line is known (assembly). */
void units_find(struct units *u, uint64_t address, struct units_frames *frames);

#endif
