/* listen.h -- the socket that the server listens on. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_SERVE_LISTEN_H
#define MIDDEN_SERVE_LISTEN_H

#include <stdint.h>

#include "base/error.h"

/* A listening TCP socket; *port becomes the one it has. -1 with `e`. */
int listen_tcp(const char *address, uint16_t *port, struct error *e);

/* A UNIX socket at `path` that only the user can connect to; there must be nothing there yet. -1
 * with `e`. */
int listen_unix(const char *path, struct error *e);

#endif
