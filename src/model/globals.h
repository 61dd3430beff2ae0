/* globals.h -- the variables of the objects that a program has loaded, and how much of them is in
 * memory. Runs: offline; called when a recording ends, by reports and by `midden resolve`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_GLOBALS_H
#define MIDDEN_MODEL_GLOBALS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

/* How much to look up. */
enum globals_scope {
	GLOBALS_BRIEF, /* names and sizes of the largest; smaller ones are summed up */
	GLOBALS_ALL,   /* all, and where they are defined */
};

/* Reads the variables of all objects into the profile, in place of what it has of those that can be
 * read: where they cannot, it keeps what it knows. A merged profile has none. Returns how many
 * objects could not be read. */
size_t globals_resolve(struct profile *p, enum globals_scope scope,
		       const struct symbol_options *options);

/* Sums of variables. */
struct globals_sum {
	uint64_t variables;
	uint64_t bytes;
	uint64_t resident_bytes;
};

struct globals_section {
	const char *name;
	struct globals_sum sum;
	bool is_thread_local;
};

struct globals_object {
	uint32_t module;
	const char *path;
	struct globals_sum shared; /* by all threads */
	struct globals_sum local;  /* in each thread */
	VEC(struct globals_section) sections;
};

/* Zero-initialise. Texts are the profile's. */
struct globals {
	VEC(struct globals_object) objects; /* the largest first */
	struct globals_sum shared;
	struct globals_sum local;
	uint64_t threads;
};

void globals_build(struct globals *g, const struct profile *p);
void globals_fini(struct globals *g);

#endif
