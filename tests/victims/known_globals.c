/* known_globals.c -- variables of known size, of which a known part is touched. Run by
 * tests/e2e/memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * In .bss 16 MiB of which the first MiB is written to, and 192 KiB inside a function that nobody
 * touches; in .data 256 KiB and in .rodata 128 KiB that are read to the end; 32 KiB of .tbss and 8
 * KiB of .tdata in each of five threads, which live at the same time. The library
 * (known_globals_library.c) has a MiB of .bss of which it writes to a quarter. All begin and end
 * with pages. With "kill" as argument, the program ends by a signal; with "wait", it says "ready"
 * while all of that is there, and goes on when its input ends. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KIB = 1024, MIB = 1024 * KIB, PAGE = 64 * KIB, THREADS = 4 };

void library_touch(void);

char big_zeros[16 * MIB] __attribute__((aligned(PAGE)));
char filled_table[256 * KIB] __attribute__((aligned(PAGE))) = {1};
const char fixed_table[128 * KIB] __attribute__((aligned(PAGE))) = {1};
__thread char zeros_of_thread[32 * KIB];
__thread char filled_of_thread[8 * KIB] = {1};

static pthread_barrier_t all_there;
static volatile int sink;

static char *hidden_zeros(void)
{
	static char inside_function[192 * KIB] __attribute__((aligned(PAGE)));

	return inside_function;
}

static void read_all(const volatile char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += KIB)
		sink += from[i];
}

static void *work(void *argument)
{
	free(malloc(100));
	zeros_of_thread[0] = filled_of_thread[0];
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	return argument;
}

static void wait_for_input(void)
{
	char byte;

	if (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &byte, 1) < 0)
		abort();
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	/* First of all: a small variable beside it may get a huge page that reaches into it. */
	madvise(big_zeros, sizeof(big_zeros), MADV_NOHUGEPAGE);
	free(malloc(100));
	sink += hidden_zeros() != NULL;
	memset(big_zeros, 1, MIB);
	read_all(filled_table, sizeof(filled_table));
	read_all(fixed_table, sizeof(fixed_table));
	library_touch();
	pthread_barrier_init(&all_there, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			abort();
	pthread_barrier_wait(&all_there);
	if (argc > 1 && strcmp(argv[1], "wait") == 0)
		wait_for_input();
	pthread_barrier_wait(&all_there);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		raise(SIGKILL);
	return 0;
}
