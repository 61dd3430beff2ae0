/* one_habit.c -- one habit per mode that a report should find, and a program without any. Run by
 * tests/e2e/reports.
 * SPDX-License-Identifier: Apache-2.0
 *
 * `growing` lasts 1.5 s and forgets 100 bytes every millisecond, 1,500 times, beside a table of
 * 100,000 bytes that it keeps and 1,000 blocks of 100 forgotten at once in the beginning;
 * `temporary` makes and frees 60,000 blocks of 200 bytes; `regrown` builds 500 arrays from 16
 * bytes to 16,384 by realloc, doubling, 10 times each; `doubling` does so with one, from 16 bytes
 * to 64 MiB, 22 times; `tiny` makes a list of 40,000 nodes of 24 bytes; `left` makes 8 blocks of
 * 200,000 bytes, frees 7 and goes on for 1.4 s; `quiet` lasts 1.2 s, fills a table of 1,000
 * blocks of different sizes, empties it and keeps a megabyte from the beginning to the end. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *volatile kept[4000];
static size_t count;

static void pause_for(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	while (nanosleep(&time, &time) != 0)
		continue;
}

/* The time since the first call, in ms. */
static long now_ms(void)
{
	static struct timespec start;
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (start.tv_sec == 0)
		start = now;
	return (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
}

__attribute__((noinline)) static void forget(void)
{
	kept[count++] = malloc(100);
}

__attribute__((noinline)) static void forget_once(void)
{
	for (size_t i = 0; i < 1000; i++)
		kept[count++] = malloc(100);
}

__attribute__((noinline)) static void growing(void)
{
	kept[count++] = malloc(100000);
	forget_once();
	(void)now_ms();
	for (long i = 0; i < 1500; i++) {
		while (now_ms() < i)
			pause_for(200);
		forget();
	}
}

__attribute__((noinline)) static void temporary(void)
{
	for (size_t i = 0; i < 60000; i++) {
		void *volatile block = malloc(200);
		free(block);
	}
}

__attribute__((noinline)) static void regrown(void)
{
	for (size_t i = 0; i < 500; i++) {
		void *array = malloc(16);
		for (size_t size = 32; size <= 16384; size *= 2)
			array = realloc(array, size);
		free(array);
	}
}

__attribute__((noinline)) static void doubling(void)
{
	void *array = malloc(16);

	for (size_t size = 32; size <= (size_t)64 << 20; size *= 2)
		array = realloc(array, size);
	free(array);
}

__attribute__((noinline)) static void tiny(void)
{
	void **last = NULL;

	for (size_t i = 0; i < 40000; i++) {
		void **node = malloc(24);
		*node = last;
		last = node;
	}
	while (last) {
		void **next = *last;
		free(last);
		last = next;
	}
}

__attribute__((noinline)) static void left(void)
{
	for (size_t i = 0; i < 8; i++)
		kept[i] = malloc(200000);
	pause_for(20000);
	for (size_t i = 1; i < 8; i++)
		free(kept[i]);
	pause_for(1400000);
}

__attribute__((noinline)) static void quiet(void)
{
	kept[0] = malloc(1000000);
	for (size_t i = 1; i < 1000; i++)
		kept[i] = malloc(100 + i);
	for (size_t i = 1; i < 1000; i++)
		free(kept[i]);
	pause_for(1200000);
	free(kept[0]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"growing", growing},   {"temporary", temporary}, {"regrown", regrown},
		     {"doubling", doubling}, {"tiny", tiny},	       {"left", left},
		     {"quiet", quiet}};

	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].run();
			return 0;
		}
	}
	return 2;
}
