/* handover.h -- a message with a descriptor in it, through a socket. Runs: in a collector process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_HANDOVER_H
#define MIDDEN_CLI_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>

/* Sends `bytes` bytes and, unless it is -1, a copy of `fd`. `flags` are sendmsg's; it raises no
 * SIGPIPE in any case. False if not all could be sent. */
bool handover_send(int connection, const void *data, size_t bytes, int fd, int flags);

#endif
