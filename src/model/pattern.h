/* pattern.h -- what users write to name functions, modules and threads. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pattern is a glob (* ? [...]) for the whole of a name, or an extended regular expression
 * between slashes that is searched for anywhere, /like this/. */
#ifndef MIDDEN_MODEL_PATTERN_H
#define MIDDEN_MODEL_PATTERN_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"

struct pattern;

/* Zero-initialise. */
struct pattern_list {
	VEC(struct pattern *) all;
};

/* NULL with `e` for an empty pattern or a wrong regular expression. */
struct pattern *pattern_new(const char *text, struct error *e);
void pattern_free(struct pattern *p);

/* As it was written. */
const char *pattern_get_text(const struct pattern *p);

bool pattern_has(const struct pattern *p, const char *name);

/* A glob is also tried on the name without its parameters, on the last part of that, and on that
 * without template arguments: `find` means ns::table<int>::find<char>(int) too. */
bool pattern_has_function(const struct pattern *p, const char *function);

/* A glob is tried on the path, its last part, and that up to ".so": `libz` means
 * /usr/lib/libz.so.1.3 too. */
bool pattern_has_module(const struct pattern *p, const char *path);

/* Adds a pattern to a list. 0, or -1 with `e`. */
int pattern_add(struct pattern_list *list, const char *text, struct error *e);
void pattern_free_list(struct pattern_list *list);

#endif
