/* fields.h -- the counters of a profile by name, for whatever lists them: JSON, CSV.
 * Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_FIELDS_H
#define MIDDEN_MODEL_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* A uint64_t member of a struct and its name, which is the same everywhere. */
struct field {
	const char *key; /* NULL ends a list */
	size_t offset;
	bool optional; /* UINT64_MAX means that there is none */
};

extern const struct field fields_totals[]; /* of struct profile_totals */
extern const struct field fields_python[]; /* of it, too: of Python programs alone */
extern const struct field fields_maps[];   /* of struct profile_totals, where they are of maps */
extern const struct field fields_site[];   /* of struct profile_site */
extern const struct field fields_part[];   /* of struct profile_part */
extern const struct field fields_thread[]; /* of struct profile_thread */
extern const struct field fields_bucket[]; /* of struct profile_bucket */
extern const struct field fields_point[];  /* of struct profile_point */

/* The value of a field of `object`; false if there is none. */
bool fields_get(const struct field *f, const void *object, uint64_t *value);

/* All of them, each under its key; null where there is none. */
void fields_add(struct json *j, const void *object, const struct field *fields);

#endif
