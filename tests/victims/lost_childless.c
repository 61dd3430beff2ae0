/* lost_childless.c -- has no children, and knows nothing of any while somebody looks at what it has
 * lost. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loses 3 blocks of 100 bytes. Says "ready", reads a line, and then says how often it has heard of
 * a child's end, how many pages and how much time children have used, and whether there is one to
 * wait for; waits for another line, executes itself with the word "again" if it has not, and does
 * the same once more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 3; i++)
		memset(malloc(100), 1, 100);
}

int main(int argc, char **argv)
{
	char line[16];

	listen_for_children();
	lose();
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	say_of_children();
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (argc < 2)
		execl("/proc/self/exe", argv[0], "again", NULL);
	return 5;
}
