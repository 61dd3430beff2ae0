/* export.h -- the formats of other tools that a profile can be written in, and the table of them.
 * Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_EXPORT_EXPORT_H
#define MIDDEN_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "model/figure.h"
#include "model/model.h"

/* What a program that goes on had some time ago. */
struct export_earlier {
	const struct profile_site *sites; /* of the same recording: a site keeps its number */
	size_t count;
	uint64_t time_ns; /* since the start of recording */
};

struct export_request {
	const struct model *model;
	enum figure figure;	  /* for formats that hold one, or that show one first */
	bool by_figure_given;	  /* the user chose it; otherwise it is the usual one */
	const char *program_hint; /* what to call a program that the profile does not name; NULL:
				     nothing is known */
	bool globals;		  /* variables, not stacks; csv's */
	bool live; /* the program goes on: the profile is of now, not of the time since its start */
	const struct export_earlier *earlier; /* only what has changed since; NULL: all. pprof's */
};

struct export_format {
	const char *name;    /* as on the command line: "collapsed" */
	const char *summary; /* one line for help */
	const char *suffix;  /* of its files: ".folded"; told by it if no format is named */
	bool binary;	     /* not printed on a terminal */
	bool needs_trace;    /* fails on a profile recorded without one */
	/* 0, or -1 with the error. Checks nothing but its own data: the caller checks ferror. */
	int (*write)(FILE *out, const struct export_request *r, struct error *e);
};

/* The i-th format by name; NULL after the last one, where callers must stop. */
const struct export_format *export_get(size_t i);

/* The format of that name; NULL if there is none. */
const struct export_format *export_find(const char *name);

/* The format whose files end as `path` does, a .gz behind it aside; NULL if none do. */
const struct export_format *export_find_by_suffix(const char *path);

/* True if a file of that name is to be compressed, beyond what the format does itself. */
bool export_is_compressed(const struct export_format *f, const char *path);

/* The program's name, for titles; never empty. Not cleaned: see labels_clean. */
const char *export_get_program(const struct export_request *r);

#endif
