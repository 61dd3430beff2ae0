/* pathmap.h -- where sources are now, for paths as the compiler saw them.
 * Runs: offline; called while a model is built, and by cli for its options.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_PATHMAP_H
#define MIDDEN_MODEL_PATHMAP_H

#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"

struct pathmap_rule {
	char *from; /* without a slash at its end */
	char *to;
};

/* Zero-initialise. */
struct pathmap {
	VEC(struct pathmap_rule) rules;
};

/* Adds a rule "OLD=NEW": what is OLD or below it is NEW or below it. 0, or -1 with `e`. */
int pathmap_add(struct pathmap *m, const char *rule, struct error *e);

/* The path by the first rule that applies to it or to its tidy form, malloc'ed; NULL if none does.
 * Whole names are compared: /src does not stand for /src2. */
char *pathmap_apply(const struct pathmap *m, const char *path);

/* The path without "." and "dir/..", which a compiler leaves in those of its own headers,
 * malloc'ed; NULL if it has none. No file is looked at. */
char *pathmap_tidy(const char *path);

/* The path as it is shown: by a rule, if there are any and one applies, and tidy. malloc'ed; NULL
 * if it stays as it is. */
char *pathmap_show(const struct pathmap *m, const char *path);

void pathmap_free(struct pathmap *m);

#endif
