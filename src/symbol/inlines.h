/* inlines.h -- the calls that were inlined into one function, by address.
 * Runs: offline; called by units.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_INLINES_H
#define MIDDEN_SYMBOL_INLINES_H

#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbol/object.h"

struct inlines;

/* Reads the tree below a DW_TAG_subprogram once. */
struct inlines *inlines_new(Dwarf_Die *function, const struct object *code);
void inlines_free(struct inlines *i);

/* The innermost DW_TAG_inlined_subroutine around `address`, or NULL: no inlined code is there. */
Dwarf_Die *inlines_find(struct inlines *i, uint64_t address, uint32_t *id);

/* The inlined call around the one that `id` stands for; NULL at the function itself. */
Dwarf_Die *inlines_find_outer(struct inlines *i, uint32_t *id);

#endif
