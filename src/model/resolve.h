/* resolve.h -- gives the addresses of a profile their functions and source lines.
 * Runs: offline, on all cores; called when a recording ends, by the first report on it, or by
 * `midden resolve`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_RESOLVE_H
#define MIDDEN_MODEL_RESOLVE_H

#include "base/vec.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

enum resolve_scope {
	RESOLVE_MISSING, /* addresses that have nothing yet */
	RESOLVE_BETTER,	 /* all; what is found replaces what tells less */
	RESOLVE_ALL,	 /* all; what is found replaces what was known */
};

/* Zero-initialised it does the usual. */
struct resolve_options {
	const struct symbol_options *symbols;
	enum resolve_scope scope;
	bool variables;		 /* those of loaded objects too, in brief: see globals.h */
	uint32_t known_nodes;	 /* the first ones that need not be looked up: see carry.h */
	unsigned threads;	 /* 0: as many as there are cores */
	const char *perfmap_dir; /* NULL: /tmp */
	/* Called now and then, by any thread, never by two at once; or NULL. */
	void (*progress)(void *context, size_t done, size_t total);
	void *context;
};

/* What came of one file. Texts are NULL where they do not apply. */
struct resolve_module {
	char *path;	/* as it was recorded */
	char *object;	/* what was read in its place: the same path as a rule */
	char *debug;	/* its separate debug file */
	char *error;	/* why it could not be read */
	bool has_dwarf; /* source lines were there to be found */
	size_t addresses;
	size_t named; /* of these with a function */
	size_t lined; /* of these with a source line */
};

/* Zero-initialise; resolve_outcome_free frees what is in it. */
struct resolve_outcome {
	VEC(struct resolve_module) modules; /* those that were asked for something, by path */
	size_t missing;			    /* modules that could not be read */
	size_t changed;			    /* stack nodes that got frames, or other ones */
};

/* Looks up addresses, stores frames and their strings in the profile and marks it resolved. Nodes
 * at the same address of the same file share their frames. A module that is gone, or was replaced
 * since the recording, leaves its nodes as they are: that is no failure. Addresses in no module get
 * the names that the program left for perf, if this is the host and user it ran as. `outcome` may
 * be NULL. Returns the number of modules that could not be read. The result does not depend on the
 * number of threads. */
size_t resolve_profile(struct profile *p, const struct resolve_options *options,
		       struct resolve_outcome *outcome);

void resolve_outcome_free(struct resolve_outcome *outcome);

#endif
