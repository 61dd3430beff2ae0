/* scopes.h -- the full names of C++ functions for which DWARF has no linkage name.
 * Runs: offline; called by units.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * GCC gives none to functions in anonymous namespaces, local classes and templates over them, and
 * Clang none with -gline-tables-only. A bare "add" or "operator()" tells little, so the name is put
 * together from the enclosing scopes. DIEs do not know their parents: each unit that is asked about
 * is walked once. */
#ifndef MIDDEN_SYMBOL_SCOPES_H
#define MIDDEN_SYMBOL_SCOPES_H

#include <elfutils/libdw.h>

#include "symbol/notes.h"

/* Zero-initialise. */
struct scopes {
	struct notes units; /* Dwarf_CU -> its scopes */
	struct notes names; /* DIE -> name */
};

/* The name of a function or inlined call with its namespaces and classes, without parameters; NULL
 * if it has none. Valid until scopes_fini. */
const char *scopes_find_name(struct scopes *s, Dwarf_Die *function);

void scopes_fini(struct scopes *s);

#endif
