/* dies.h -- what this room asks of one DWARF entry (DIE).
 * Runs: offline; called by units.c and inlines.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_DIES_H
#define MIDDEN_SYMBOL_DIES_H

#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbol/object.h"
#include "symbol/spans.h"

/* The linkage name and the bare name of a function or inlined call, also by way of its abstract
 * origin and declaration in other units and files; NULL if it has none. */
const char *dies_find_linkage_name(Dwarf_Die *die);
const char *dies_find_plain_name(Dwarf_Die *die);

/* The value of a whole-number attribute; 0 if it is missing or no such thing. */
uint64_t dies_get_number(Dwarf_Die *die, unsigned int attribute);

/* Adds the entry's address ranges in `code` to `spans`, with this item and depth. */
struct dies_target {
	struct spans *spans;
	const struct object *code;
};
void dies_add_spans(Dwarf_Die *die, const struct dies_target *to, uint32_t item, uint32_t depth);

/* Walks the children of `parent`: dies_first, then dies_next while they return 1, else 0. `last`
 * guards against entries that point backwards: one cursor (initially 0) serves a whole walk in
 * depth-first order. */
int dies_first(Dwarf_Die *parent, Dwarf_Die *child, Dwarf_Off *last);
int dies_next(Dwarf_Die *child, Dwarf_Off *last);

#endif
