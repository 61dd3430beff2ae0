/* relink.h -- replaces functions in objects that are loaded already, and for those to come.
 * Runs: at start-up, while there is one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_RELINK_H
#define MIDDEN_CAPTURE_RELINK_H

#include <stdbool.h>
#include <stddef.h>

struct relink_name {
	const char *name;
	void *old; /* the definition that was found */
	void *replacement;
};

/* Points every reference to the names, in all objects but our own, to the replacements, and makes
 * the defining objects' symbol tables say so too: objects loaded later and dlsym then find the
 * replacement. */
void relink_all(const struct relink_name *names, size_t count);

/* Makes the symbol table of the object that an address is in say the replacements, whatever its own
 * definitions were. References that are bound already stay as they are. */
void relink_definitions(const void *inside, const struct relink_name *names, size_t count);

/* Whether any object but our own defines a name: who asks dlsym for one that nobody has leaves an
 * error behind, and the memory of that. */
bool relink_is_defined(const char *name);

/* What tells the object that an address is in from others; NULL: it is in none. */
const void *relink_find_object(const void *address);

#endif
