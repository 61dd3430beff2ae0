/* viewing.h -- a profile made ready for the viewer's page. Runs: in the midden command, called by
 * `html` and `view`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_VIEWING_H
#define MIDDEN_CLI_VIEWING_H

#include "cli/load.h"
#include "serve/pack.h"

/* A profile with its model and the texts that go with it. Zero-initialise. */
struct viewing {
	struct profile *profile;
	struct model *model;
	struct suppress_list suppress;
	char *name; /* of its file; NULL: it does not come from one */
	char *stats;
	char *findings;
	char *leaks; /* NULL: nobody looked */
	char *globals;
	struct pack_request request; /* of all the above */
};

/* Takes the profile over, which has its symbols. */
void viewing_init(struct viewing *v, struct profile *p, const struct load_options *load);

/* Reads `file`, NULL for the newest one. COMMAND_GOOD, or COMMAND_FAILED after a message. */
int viewing_open(struct viewing *v, const char *file, const struct load_options *load);

void viewing_close(struct viewing *v);

#endif
