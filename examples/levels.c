/* levels.c -- a program that tells midden where it stands: a snapshot after each of its levels.
 * Runs: as an example of include/midden/midden.h, with midden or without.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	cc -g $(pkg-config --cflags midden) levels.c -o levels
 *	midden record ./levels && midden report --snapshot-deltas */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <midden/midden.h>

enum { LEVELS = 3, THINGS = 100 };

/* What a level leaves behind: every tenth thing is never given back. */
static void play_level(int level)
{
	void *things[THINGS];

	for (int i = 0; i < THINGS; i++) {
		things[i] = malloc((size_t)(level + 1) * 64);
		if (things[i])
			memset(things[i], level, 64);
	}
	for (int i = 0; i < THINGS; i++)
		if (i % 10)
			free(things[i]);
}

int main(void)
{
	char name[32];

	printf("midden is %s\n", midden_is_loaded() ? "watching" : "not there");
	for (int level = 0; level < LEVELS; level++) {
		play_level(level);
		(void)snprintf(name, sizeof(name), "level %d", level + 1);
		midden_snapshot(name);
	}
	return 0;
}
