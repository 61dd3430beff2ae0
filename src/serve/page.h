/* page.h -- the viewer's page, alone or with profiles in it. Runs: offline; called by the server
 * and by `midden html`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SERVE_PAGE_H
#define MIDDEN_SERVE_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "serve/pack.h"

/* The page as web/ builds it, without data: what the server sends. */
const char *page_get(size_t *bytes);

/* Writes a page that needs nothing else, with a profile and, unless `old` is NULL, one to compare
 * it with. 0, or -1 with `e`; whether `out` took it all is for the caller to see. */
int page_write(FILE *out, const struct pack_request *data, const struct pack_request *old,
	       struct error *e);

/* The pack of a profile, gzip'd: malloc'ed, *bytes long. NULL with `e`. */
char *page_compress(const struct pack_request *data, size_t *bytes, struct error *e);

#endif
