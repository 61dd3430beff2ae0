/* imports.h -- what modules of Python allocate while they are imported, folded into one frame each.
 * Runs: offline, called by model.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An import begins with the outermost function of the import system on a stack and covers all that
 * is called from there: the modules that this one imports too. It is named after the first module
 * whose code runs in it. */
#ifndef MIDDEN_MODEL_IMPORTS_H
#define MIDDEN_MODEL_IMPORTS_H

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"

/* Zero-initialise: no imports. Free with imports_free. */
struct imports {
	uint32_t *begins;  /* by profile node: where the import begins that it is in, 0: none */
	uint32_t *names;   /* by profile node: the index of the name of that import */
	VEC(char *) texts; /* the names: "<import of json>" */
	/* Private to imports.c: */
	struct map known; /* string id of a file -> index of the name, plus one */
};

void imports_find(struct imports *i, const struct profile *p);
void imports_free(struct imports *i);

/* What a module is called that lies in `file`: "json.decoder" for
 * /usr/lib/python3.11/json/decoder.py, "os" for <frozen os>. Outside of directories that are known
 * to hold modules the last word alone. malloc'ed. */
char *imports_name_module(const char *file);

#endif
