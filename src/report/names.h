/* names.h -- a frame as text: safe to print, and short enough for the line.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_NAMES_H
#define MIDDEN_REPORT_NAMES_H

#include <stddef.h>

#include "model/model.h"
#include "report/style.h"

/* A copy in which nothing can move the cursor, hide text or switch colours: control characters,
 * bidirectional overrides and bytes that are not UTF-8 become \xNN or \uNNNN; without `utf8` so
 * does all that is not ASCII. The caller frees it. */
char *names_escape(const char *text, bool utf8);

/* Shortens a text in place to at most `columns` code points by leaving out its middle. */
void names_shorten(char *text, size_t columns, bool utf8);

/* The last part of a path. */
const char *names_base(const char *path);

/* A frame in its two parts, escaped; the caller frees both. */
struct names_label {
	char *name;  /* function, or module+0xoffset */
	char *place; /* file:line, or the module, or both where it takes that, or "" */
};

/* Files below `directory` are named relative to it. */
struct names_label names_label(const struct model_frame *f, const char *directory, bool utf8);
void names_label_free(struct names_label *l);

/* Leaves out what does not fit into `columns`: directories of the file first, then the middle of
 * the function. */
void names_label_fit(struct names_label *l, size_t columns, bool utf8);

/* The same as one plain text with full paths, "function (file:line)" or "module+0xoffset"; not
 * escaped. */
char *names_plain(const struct model_frame *f);

#endif
