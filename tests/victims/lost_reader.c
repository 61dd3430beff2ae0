/* lost_reader.c -- is large, and has direct reads from a file under way all the time while somebody
 * looks at what it has lost. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: lost_reader ring | aio
 *
 * Holds 100 blocks of 1 MiB by a table of pointers; loses 3 blocks of 100 bytes. Says "ready", or
 * "cannot" where there are no such reads. Ends with 5 when its input does, or with 1 if a byte of
 * what it has read was not right. */
#include <poll.h>
#include <stdio.h>

#include "direct_reads.h"

#define BLOCKS	    100
#define BLOCK_BYTES (1024 * 1024)

static void *held[BLOCKS];
static bool is_told;

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 3; i++)
		memset(malloc(100), 1, 100);
}

__attribute__((noinline)) static void hold(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		held[i] = malloc(BLOCK_BYTES);
		memset(held[i], 1, BLOCK_BYTES);
	}
}

static bool goes_on(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	if (!is_told) {
		puts("ready");
		fflush(stdout);
	}
	is_told = true;
	return poll(&input, 1, 0) == 0;
}

int main(int argc, char **argv)
{
	bool by_ring = argc > 1 && strcmp(argv[1], "ring") == 0;

	lose();
	hold();
	bool good = by_ring ? direct_read_by_ring(goes_on) : direct_read_by_aio(goes_on);
	if (!is_told)
		puts("cannot");
	return good ? 5 : 1;
}
