/* demangle.h -- linkage names for people, each worked out once.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_DEMANGLE_H
#define MIDDEN_SYMBOL_DEMANGLE_H

#include <stdbool.h>

#include "symbol/notes.h"

/* C++ (Itanium), Rust legacy and v0, D. malloc'ed text, or NULL if the name is not mangled. */
char *demangle_name(const char *name);

/* The same, remembered in `names` by the address of `raw`: a string of a string table is asked for
 * again and again. A name that is not mangled comes back as it is, without a symbol version
 * (`f@@V1`); `mangled` says which it was. `raw` must stay in place, and the result does, as long as
 * `names`. */
const char *demangle_find(struct notes *names, const char *raw, bool *mangled);

#endif
