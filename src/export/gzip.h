/* gzip.h -- a stream compressed on its way into a file. Runs: offline, called by the formats that
 * need it and by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_EXPORT_GZIP_H
#define MIDDEN_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip;

/* Never NULL. The same bytes give the same file: there is no name or time in it. */
struct gzip *gzip_new(FILE *out);

/* Failures are those of `out`: see ferror. */
void gzip_write(struct gzip *z, const void *bytes, size_t count);

/* Writes what is left and frees; `out` stays open. */
void gzip_free(struct gzip *z);

/* The same as a stream of its own: fclose writes what is left, and `out` stays open. NULL: there is
 * no memory. */
FILE *gzip_open(FILE *out);

#endif
