/* labels.h -- what frames are called in exports: one text per function, safe in any text format.
 * Runs: offline, called by the formats.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_EXPORT_LABELS_H
#define MIDDEN_EXPORT_LABELS_H

#include "model/model.h"

struct labels;

/* A copy that is well-formed UTF-8 on one line: bytes that are not UTF-8 become U+FFFD, controls
 * and the like (utf8_is_unsafe) a blank. `replaced` is a list of pairs of ASCII characters, what is
 * not wanted and what stands there instead: ";:" makes colons of semicolons. The caller frees it.
 */
char *labels_clean(const char *text, const char *replaced);

/* The labels of all frames of a model, cleaned: the function, "module+0xoffset" without one,
 * "0xaddress" without either; "<module> (app.py)" for functions of Python without a name of their
 * own. Never NULL. */
struct labels *labels_new(const struct model *m, const char *replaced);
void labels_free(struct labels *l);

/* Frames of one function have the same label; never empty. */
const char *labels_get(const struct labels *l, uint32_t frame);

/* The last part of a path. */
const char *labels_base(const char *path);

#endif
