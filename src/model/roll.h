/* roll.h -- whose recordings are added up, so that nobody's is added twice unnoticed.
 * Runs: offline. Called by cli.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A recording is known by its host, process, program and start. A process that replaces itself by
 * another program begins another recording, with a start of its own. */
#ifndef MIDDEN_MODEL_ROLL_H
#define MIDDEN_MODEL_ROLL_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"

struct roll_entry {
	uint32_t times; /* that it was added; 0: somebody asked for it */
	uint32_t file;	/* the first one that has it: index into `files` */
};

/* Zero-initialise. */
struct roll {
	/* Hash of all that tells recordings apart -> entry, plus one. Two of them having the same
	 * 64 bits is less likely than that a clock gives the same nanosecond twice. */
	struct map known;
	VEC(struct roll_entry) entries;
	VEC(char *) files;
	size_t doubles; /* entries that were added more than once */
	char *example;	/* the first of them, and where it is */
};

void roll_fini(struct roll *r);

/* Whether all recordings that a profile is made of were added before. Of one that lacks a process
 * or a start nobody knows: it was not. */
bool roll_has_all(struct roll *r, const struct profile *p);

/* Adds the recordings that a profile is made of; `file` is what it is called. */
void roll_add(struct roll *r, const struct profile *p, const char *file);

/* Which process is counted more than once, as a sentence; the caller frees. NULL: none is. */
char *roll_describe_doubles(const struct roll *r);

#endif
