/* pinned_pages.c -- a heap that one block in sixteen keeps in memory. Run by tests/e2e/rss.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: pinned_pages MIB [wait|hide]
 *
 * Heap: `crowd` makes and fills MIB x 4096 blocks of 240 bytes; all of them go again but the first
 * that begins on each page of 4096 bytes. `idle` makes a block of 64 MiB that is never touched, and
 * `busy` one of 8 MiB that is filled. With `wait` it prints "ready" and the number of blocks that
 * `crowd` has left, and ends when a line comes in; with `hide` it makes itself a process that
 * others of its user may not look into. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define BLOCK_BYTES 240u
#define PAGE_BYTES  4096u

static void *volatile kept;

__attribute__((noinline)) static char *crowd(void)
{
	return memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
}

__attribute__((noinline)) static void idle(void)
{
	kept = malloc((size_t)64 << 20);
}

__attribute__((noinline)) static void busy(void)
{
	kept = memset(malloc((size_t)8 << 20), 1, (size_t)8 << 20);
}

/* The table of blocks lies in `table`, which goes before anybody looks. */
static size_t thin_out(char **table, size_t count)
{
	uintptr_t page = 0;
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		if ((uintptr_t)table[i] / PAGE_BYTES == page) {
			free(table[i]);
			continue;
		}
		page = (uintptr_t)table[i] / PAGE_BYTES;
		left++;
	}
	return left;
}

int main(int argc, char **argv)
{
	size_t count = (size_t)atoi(argc > 1 ? argv[1] : "16") * 4096;
	char **table = malloc(count * sizeof(*table));

	if (argc > 2 && strcmp(argv[2], "hide") == 0)
		(void)prctl(PR_SET_DUMPABLE, 0);
	for (size_t i = 0; i < count; i++)
		table[i] = crowd();
	size_t left = thin_out(table, count);
	free(table);
	idle();
	busy();
	if (argc > 2 && strcmp(argv[2], "wait") == 0) {
		printf("ready %zu\n", left);
		fflush(stdout);
		(void)getchar();
	}
	return 0;
}
