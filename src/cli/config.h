/* config.h -- files that say how to record: sections, keys and values, read and nothing more.
 * Runs: in the midden command, pure but for config_read.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The syntax is what INI and TOML have in common:
 *
 *	# a comment
 *	[record]
 *	follow = true
 *	output = "%n.%p.mdn"
 *
 *	[profile.leaks]
 *	trace = on
 */
#ifndef MIDDEN_CLI_CONFIG_H
#define MIDDEN_CLI_CONFIG_H

#include <stddef.h>

#include "base/error.h"
#include "base/vec.h"

/* A line of a file: all texts are the list's. */
struct config_entry {
	char *profile; /* "": of the section [record] */
	char *key;
	char *value;
	char *origin; /* FILE:LINE */
};

/* Zero-initialise; entries of several files can follow each other. */
struct config {
	VEC(struct config_entry) entries;
};

/* Adds what `text` says; -1 with `e`, which names the line, at the first thing that makes no sense.
 * `file` is its name in messages. */
int config_parse(struct config *c, const char *text, size_t bytes, const char *file,
		 struct error *e);

/* The same of a file. */
int config_read(struct config *c, const char *path, struct error *e);

void config_free(struct config *c);

#endif
