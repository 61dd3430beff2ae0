/* pack.h -- a profile as the viewer's page reads it: one block of columns. Runs: offline; called by
 * the server and by `midden html`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * web/schema.md has the format, field by field. The page works every view out of it by itself, so
 * that nothing has to be asked for while one looks around. */
#ifndef MIDDEN_SERVE_PACK_H
#define MIDDEN_SERVE_PACK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/model.h"
#include "model/suppress.h"

/* What the page shows as the commands print it: JSON texts, or NULL. */
struct pack_texts {
	const char *stats;    /* an object: `midden stats --json` */
	const char *findings; /* an object with the list `findings` */
	const char *leaks;    /* an object: `midden leaks --json` without its stacks */
	const char *globals;  /* an object with the member `globals`, if anything is known */
	const char *diff;     /* the changes against another profile, by function */
};

struct pack_request {
	const struct model *model;
	const char *file;		      /* its name, without directories; NULL: none */
	const struct suppress_list *suppress; /* NULL: no leak is known and harmless */
	struct pack_texts texts;
	bool live;		/* the program is still running */
	uint64_t generation;	/* of a live profile: how often it was written */
	const char *lines_json; /* source lines that go with it, or NULL: see sources.h */
};

/* 0, or -1 with `e` if there is not enough memory. Whether `out` took it all is for the caller to
 * see: ferror. */
int pack_write(FILE *out, const struct pack_request *r, struct error *e);

#endif
