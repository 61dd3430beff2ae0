/* debugfile.h -- finds the files that hold an object's debug information.
 * Runs: offline; called by symbol.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SYMBOL_DEBUGFILE_H
#define MIDDEN_SYMBOL_DEBUGFILE_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/object.h"
#include "symbol/symbol.h"

/* The separate debug file of `o`: by build-id under the directories of `options` and
 * /usr/lib/debug, then by .gnu_debuglink (same build-id, or without one the same CRC), then under
 * the program's own name in the directories of `options` (same build-id), then, only if the user
 * has set DEBUGINFOD_URLS, from a debuginfod server. NULL if there is none. */
struct object *debugfile_find(const struct object *o, const struct symbol_options *options);

/* What can stand for the program or library that was recorded as `path` and is not there: its debug
 * file or a copy of it, in the same places, with that build-id. Without a build-id (0 bytes) only
 * the name is left to go by, in the directories of `options`. NULL if there is none. */
struct object *debugfile_find_stand_in(const char *path, const uint8_t *id, size_t bytes,
				       const struct symbol_options *options);

/* Any debug file by its build-id in those directories; NULL if there is none. */
struct object *debugfile_find_by_id(const uint8_t *id, size_t bytes,
				    const struct symbol_options *options);

/* The compressed symbol table in the section .gnu_debugdata ("mini debug info"); NULL if there is
 * none. */
struct object *debugfile_open_embedded(const struct object *o);

/* Whether the user has named a server that debug information is had from. */
bool debugfile_has_server(void);

#endif
