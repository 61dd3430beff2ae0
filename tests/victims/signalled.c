/* signalled.c -- sends itself SIGUSR1 and ends at once. Run by tests/e2e/control.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Makes 1,000 blocks of 100 bytes; a signal; frees 400 of them; a signal; frees the rest and ends:
 * by exit, by _exit ("at-once") or by SIGKILL ("killed"). With "asleep" the first signal is left to
 * others: it writes "ready" and sleeps for ten minutes. */
#include "truth.h"

#include <signal.h>
#include <unistd.h>

enum { BLOCKS = 1000, BYTES = 100, FIRST = 400 };

static void *blocks[BLOCKS];

static void free_some(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		truth_free(blocks[i], BYTES);
}

static void sleep_long(void)
{
	truth_expect(write(STDOUT_FILENO, "ready\n", 6) == 6);
	(void)sleep(600);
}

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "";

	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = truth_malloc(BYTES);
	if (strcmp(end, "asleep") == 0)
		sleep_long();
	else
		(void)raise(SIGUSR1);
	free_some(0, FIRST);
	(void)raise(SIGUSR1);
	free_some(FIRST, BLOCKS);
	if (strcmp(end, "at-once") == 0)
		_exit(0);
	if (strcmp(end, "killed") == 0)
		(void)raise(SIGKILL);
	return 0;
}
