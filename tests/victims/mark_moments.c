/* mark_moments.c -- asks for snapshots of a known heap. Run by tests/e2e/snapshots.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 10 blocks of 100 bytes; snapshot "first"; 5 blocks of 1,000; snapshot "second, with a name
 * of more than one piece"; 4 of the first are freed; snapshot ""; then nothing. note[0] is 1 if
 * midden is there. With an argument, waits for the end of standard input before the first one, and
 * takes none itself. */
#include "truth.h"

#include <stdio.h>

#include "midden/midden.h"

static void *blocks[10];

static void make_small(void)
{
	for (int i = 0; i < 10; i++)
		blocks[i] = truth_malloc(100);
}

static void make_large(void)
{
	for (int i = 0; i < 5; i++)
		truth_malloc(1000);
}

static void wait_for_input(void)
{
	char byte;

	truth_expect(write(STDOUT_FILENO, "ready\n", 6) == 6);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
}

int main(int argc, char **argv)
{
	(void)argv;
	truth_note(0, (uint64_t)midden_is_loaded());
	make_small();
	if (argc > 1) {
		wait_for_input();
		return 0;
	}
	midden_snapshot("first");
	make_large();
	midden_snapshot("second, with a name of more than one piece");
	for (int i = 0; i < 4; i++)
		truth_free(blocks[i], 100);
	midden_snapshot(NULL);
	return 0;
}
