/* lookup.h -- functions and lines of many addresses in many files, on all cores.
 * Runs: offline; starts threads and has joined them when it returns. Called by resolve.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_LOOKUP_H
#define MIDDEN_MODEL_LOOKUP_H

#include "base/error.h"
#include "base/vec.h"
#include "symbol/symbol.h"

/* A location; texts are numbers of strings in its batch, 0 for unknown. */
struct lookup_frame {
	uint32_t function;
	uint32_t file;
	uint32_t line;
};

/* What was found at consecutive addresses of one file. Belongs to one thread until that is done. */
struct lookup_batch {
	VEC(struct lookup_frame) frames; /* of all addresses, each innermost first */
	VEC(size_t) ends;		 /* by address: where its frames end in `frames` */
	VEC(size_t) strings;		 /* by number: where the string is in `text` */
	VEC(char) text;
};

/* One file and the addresses in it. */
struct lookup_file {
	const char *path;
	const uint8_t *build_id; /* NULL: not known */
	size_t build_id_bytes;
	const uint64_t *addresses; /* ascending, each once; ELF virtual addresses inside calls */
	size_t count;
	/* Filled by lookup_run. */
	struct lookup_batch *batches; /* in the order of the addresses, LOOKUP_BATCH each */
	size_t batch_count;
	bool opened;
	struct error error; /* why it could not be opened */
	char *object;	    /* as in struct symbol_files */
	char *debug;
	bool has_dwarf;
};

#define LOOKUP_BATCH 512u /* addresses: a few ms without debug information, up to a second with */

struct lookup_options {
	const struct symbol_options *symbols; /* or NULL */
	unsigned threads;		      /* 0: as many as there are cores */
	/* Called after every batch, by any thread, never by two at once; or NULL. */
	void (*progress)(void *context, size_t done, size_t total);
	void *context;
};

/* Looks up all addresses. What is found does not depend on the number of threads. */
void lookup_run(struct lookup_file *files, size_t count, const struct lookup_options *options);

/* Frees what lookup_run has filled in. */
void lookup_fini(struct lookup_file *files, size_t count);

#endif
