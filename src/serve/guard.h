/* guard.h -- which requests the server answers at all. Runs: in the server's threads, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SERVE_GUARD_H
#define MIDDEN_SERVE_GUARD_H

#include <stdbool.h>

/* What a browser says of a request; each may be NULL. */
struct guard_headers {
	const char *host;
	const char *origin;
	const char *fetch_site; /* Sec-Fetch-Site */
	const char *fetch_mode; /* Sec-Fetch-Mode */
};

/* True if the host is this machine by number or as localhost, with any port, or `address`, and the
 * request does not come from another site: a page elsewhere whose name leads here, or that asks
 * behind its reader's back, gets nothing. */
bool guard_lets_in(const struct guard_headers *h, const char *address);

/* The value of a cookie in a Cookie header, copied into `value`; false if it is not there or too
 * long. */
bool guard_find_cookie(const char *header, const char *name, char *value, unsigned room);

#endif
