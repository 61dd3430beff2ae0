/* sourcefile.h -- source files that a profile names, read with care. Runs: offline; called by the
 * server and by `midden html`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A profile may come from anybody and name any file. Only what looks like source by its name is
 * read, only regular files, and none that is too large for one. */
#ifndef MIDDEN_SERVE_SOURCEFILE_H
#define MIDDEN_SERVE_SOURCEFILE_H

#include <stddef.h>

#include "base/error.h"
#include "model/model.h"

enum sourcefile_result {
	SOURCEFILE_READ,
	SOURCEFILE_MISSING, /* it is not there, or nothing that is shown as a source */
	SOURCEFILE_REFUSED, /* it is there, and this user may not read it */
};

/* The whole file, malloc'ed and ended with NUL, *bytes long. */
enum sourcefile_result sourcefile_read(const char *path, char **text, size_t *bytes);

/* JSON for the page (`lines` in web/schema.md): the lines around each line of the profile, `around`
 * on either side. malloc'ed; NULL if there is no memory. */
char *sourcefile_gather(const struct model *m, unsigned around);

#endif
