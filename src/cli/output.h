/* output.h -- where a report goes: stdout, or a pager on a terminal; and what may be printed there.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_OUTPUT_H
#define MIDDEN_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/style.h"

enum output_colour {
	OUTPUT_COLOUR_AUTO, /* on a terminal, unless NO_COLOR is set */
	OUTPUT_COLOUR_ALWAYS,
	OUTPUT_COLOUR_NEVER,
	OUTPUT_COLOUR_UNKNOWN
};

struct output {
	FILE *file;
	struct style style;
	bool paged;
};

/* "auto", "always", "never"; anything else is UNKNOWN. */
enum output_colour output_parse_colour(const char *word);

void output_open(struct output *o, enum output_colour colour, bool pager);

/* Flushes, and waits for the pager. Returns the exit status: failed, after a message, if not all
 * could be written. */
int output_close(struct output *o);

#endif
