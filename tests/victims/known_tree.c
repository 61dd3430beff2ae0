/* known_tree.c -- a heap whose every stack is known. Run by tests/e2e/reports.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Mode `full`, in this order: main calls load, which calls table_new for 100 blocks of 1,000 bytes;
 * save for 50 of 2,000, and allocates 1 block of 30 bytes itself. That is the peak: 200,030 bytes
 * in 151 blocks. All but save's own block and 10 of load's are freed: 10,030 bytes leak in 11. Then
 * sum makes 2,000,000 blocks of 8 bytes and frees each at once, and descend, which calls itself 1
 * to 5 times, leaves a block of 100 bytes at each depth: 500 bytes in 5 more. `nothing` allocates
 * nothing. `late`: load's blocks, then (40 ms later, or as many as a second argument says) half of
 * them freed and save's made, both as long before the end: 50,000 bytes of load's and 100,000 of
 * save's. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *loaded[100], *saved[50], *kept[8];

__attribute__((noinline)) static void *table_new(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

__attribute__((noinline)) static void load(void)
{
	for (size_t i = 0; i < 100; i++)
		loaded[i] = table_new(1000);
}

__attribute__((noinline)) static void save(int itself)
{
	for (size_t i = 0; i < 50; i++)
		saved[i] = table_new(2000);
	if (itself)
		kept[0] = malloc(30);
}

__attribute__((noinline)) static void sum(void)
{
	for (size_t i = 0; i < 2000000; i++) {
		void *volatile block = malloc(8);
		free(block);
	}
}

__attribute__((noinline)) static void descend(int depth)
{
	if (depth > 1)
		descend(depth - 1);
	else
		kept[1] = malloc(100);
	__asm__("" : : : "memory");
}

static void pause_for(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&time, &time) != 0)
		continue;
}

static void full(void)
{
	load();
	save(1);
	for (size_t i = 10; i < 100; i++)
		free(loaded[i]);
	for (size_t i = 0; i < 50; i++)
		free(saved[i]);
	sum();
	for (int depth = 1; depth <= 5; depth++)
		descend(depth);
}

static void late(long ms)
{
	load();
	pause_for(ms);
	for (size_t i = 0; i < 50; i++)
		free(loaded[i]);
	save(0);
	pause_for(ms);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "full") == 0)
		full();
	else if (argc >= 2 && strcmp(argv[1], "late") == 0)
		late(argc == 3 ? atol(argv[2]) : 40);
	else if (argc != 2 || strcmp(argv[1], "nothing") != 0)
		return 2;
	return 0;
}
