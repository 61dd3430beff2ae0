/* pipes.c -- whole messages through pipes.
 * Runs: in the recorder, its collectors and its namer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/pipes.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

bool pipes_read(int in, void *to, size_t bytes)
{
	for (char *at = to; bytes;) {
		ssize_t got = read(in, at, bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		bytes -= (size_t)got;
	}
	return true;
}

bool pipes_write(int out, const void *from, size_t bytes)
{
	for (const char *at = from; bytes;) {
		ssize_t put = write(out, at, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		bytes -= (size_t)put;
	}
	return true;
}

bool pipes_has_other_end(int end)
{
	struct pollfd pipe = {.fd = end};

	return poll(&pipe, 1, 0) == 0;
}
