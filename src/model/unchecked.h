/* unchecked.h -- processes of a merged profile that nobody looked at: what they lost is not known.
 * Runs: offline.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_UNCHECKED_H
#define MIDDEN_MODEL_UNCHECKED_H

#include "base/vec.h"
#include "profile/profile.h"

struct unchecked {
	size_t processes;   /* that the profile is of */
	size_t looked_at;   /* of them; 0: it does not tell which */
	VEC(uint32_t) rows; /* of `inputs`: the others, but for those that are allowed */
};

/* `allowed` are patterns of programs that need not have been looked at, with commas between; or
 * NULL. A profile of one recording, which either tells or does not, has no rows. */
void unchecked_list(struct unchecked *u, const struct profile *p, const char *allowed);
void unchecked_free(struct unchecked *u);

/* The rows for people: "sh (12), make (14) and 3 others". malloc'ed, not escaped. */
char *unchecked_describe(const struct unchecked *u, const struct profile *p);

#endif
