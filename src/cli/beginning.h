/* beginning.h -- what a recording waits for before it begins: a library, a function.
 * Runs: in a collector process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_BEGINNING_H
#define MIDDEN_CLI_BEGINNING_H

#include "base/error.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "model/pattern.h"

struct symbol_module;

/* An object that a stack went through, opened when first met. */
struct beginning_object {
	char *path;
	struct symbol_module *symbols; /* NULL: it has none that can be read */
};

/* Zero-initialise; nothing is waited for then. */
struct beginning {
	struct pattern *library;
	struct pattern *function;
	const char *executable; /* of the process at hand; not owned */
	VEC(struct beginning_object) objects;
};

/* "function=NAME" or "library=NAME", both patterns as filters have them. -1 with `e`. */
int beginning_parse(struct beginning *b, const char *text, struct error *e);

/* What the collector asks. False: nothing is waited for. */
bool beginning_fill(struct beginning *b, struct collect_start *start);

/* Says what did not come so that nothing was recorded, in `room` bytes. */
void beginning_explain(const struct beginning *b, char *text, size_t room);

void beginning_free(struct beginning *b);

#endif
