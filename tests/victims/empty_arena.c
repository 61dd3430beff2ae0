/* empty_arena.c -- a thread's arena of libc's malloc that is full of freed blocks and has no other.
 * Run by tests/e2e/rss.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: empty_arena MIB
 *
 * Heap: a thread makes and fills MIB x 8192 blocks of 100 bytes and frees all of them. libc keeps
 * such in lists and does not put them together, so that their pages stay. Beside it the program
 * maps and fills 8 MiB at a multiple of 64 MiB, where an arena could be. It prints "ready" and
 * ends when a line comes in. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK_BYTES 100u
#define MIB	    ((size_t)1 << 20)

static void *map(size_t bytes, int rights)
{
	return mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

__attribute__((noinline)) static void *fill(void *mib)
{
	size_t count = (size_t)mib * 8192;
	void **table = map(count * sizeof(*table), PROT_READ | PROT_WRITE);

	for (size_t i = 0; i < count; i++)
		table[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	for (size_t i = 0; i < count; i++)
		free(table[i]);
	munmap(table, count * sizeof(*table));
	return NULL;
}

static void map_own(void)
{
	char *room = map(128 * MIB, PROT_NONE);
	char *at = (char *)(((uintptr_t)room + 64 * MIB - 1) / (64 * MIB) * (64 * MIB));

	mprotect(at, 8 * MIB, PROT_READ | PROT_WRITE);
	memset(at, 1, 8 * MIB);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[16];

	pthread_create(&thread, NULL, fill, (void *)(size_t)atoi(argc > 1 ? argv[1] : "16"));
	pthread_join(thread, NULL);
	map_own();
	return write(STDOUT_FILENO, "ready\n", 6) != 6 ||
	       read(STDIN_FILENO, line, sizeof(line)) < 0;
}
