/* say.c -- one-line messages on standard error. Runs: anywhere in the target; no stdio, no
 * allocation.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/say.h"

#include <fcntl.h>
#include <stdbool.h>

#include "capture/host.h"

static bool mute;

void say_init(void)
{
	mute = HOST_CALL2(SYS_fcntl, 2, F_GETFD) < 0;
}

void say(const char *text)
{
	char line[256] = "midden: ";
	size_t used = 8;

	if (mute)
		return;
	while (*text && used < sizeof(line) - 1)
		line[used++] = *text++;
	line[used++] = '\n';
	(void)HOST_CALL3(SYS_write, 2, line, used);
}
