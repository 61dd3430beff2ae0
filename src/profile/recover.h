/* recover.h -- what can still be had from a damaged profile file.
 * Runs: offline; called by the reader.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_PROFILE_RECOVER_H
#define MIDDEN_PROFILE_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/columns.h"
#include "profile/section.h"

/* The first intact section header at or after `from` whose sequence is at least `sequence`. Returns
 * its offset, or `bytes` if there is none. */
size_t recover_find_section(const uint8_t *data, size_t bytes, size_t from, uint32_t sequence,
			    struct section *s);

/* Puts the index-0 elements and the last NUL of the strings in place where sections did not bring
 * them. */
void recover_complete(struct profile *p);

/* True if some table has fewer rows than promised. */
bool recover_is_short(const struct profile *p, const struct columns_info *promised);

/* Appends to `text` which tables have fewer rows than promised; as many as there is room for. */
void recover_print_losses(const struct profile *p, const struct columns_info *promised, char *text,
			  size_t room);

/* Makes everything that refers to a missing row refer to none, so that profile_check can pass. */
void recover_trim(struct profile *p);

#endif
