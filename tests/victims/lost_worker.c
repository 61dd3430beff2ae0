/* lost_worker.c -- works on while somebody looks at what it has lost. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loses 3 blocks of 100 bytes and holds a list of 1,000 blocks of 50. Then four threads make,
 * resize and free blocks, of which each holds up to 64 in a table of its own, one thread waits in
 * read() of a pipe that nothing comes through, and a timer sends SIGALRM every 2 ms, whose handler
 * counts.
 * Says "ready", reads a line, stops all of them, frees what they have, prints "calm" if each thread
 * found all of its blocks as it had left them, the timer has come, and read() has never returned
 * early; waits for another line and ends with status 3. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define WORKERS 4
#define HELD	64

static struct item {
	struct item *next;
	char rest[42];
} * list;

static atomic_int stopping, damaged, woken;
static volatile sig_atomic_t alarms;
static int never[2];

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 3; i++)
		memset(malloc(100), 1, 100);
}

__attribute__((noinline)) static void hold(void)
{
	for (int i = 0; i < 1000; i++) {
		struct item *item = calloc(1, sizeof(*item));

		item->next = list;
		list = item;
	}
}

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static void *work(void *seed)
{
	unsigned state = (unsigned)(size_t)seed;
	unsigned char *held[HELD] = {0};

	while (!stopping) {
		unsigned at = rand_r(&state) % HELD;

		if (held[at] && held[at][0] != (unsigned char)at)
			damaged = 1;
		held[at] = realloc(held[at], 16 + rand_r(&state) % 500);
		held[at][0] = (unsigned char)at;
		if (rand_r(&state) % 4 == 0) {
			free(held[at]);
			held[at] = NULL;
		}
	}
	for (unsigned i = 0; i < HELD; i++)
		free(held[i]);
	return NULL;
}

static void *wait_for_nothing(void *unused)
{
	char byte;

	if (read(never[0], &byte, 1) != 1 || byte != 'e')
		woken = 1;
	return unused;
}

static void read_line(void)
{
	char byte = 0;

	while (byte != '\n' && read(STDIN_FILENO, &byte, 1) != 0)
		continue;
}

int main(void)
{
	struct itimerval every = {{0, 2000}, {0, 2000}}, off = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	pthread_t threads[WORKERS], waiter;

	lose();
	hold();
	if (pipe(never) != 0)
		return 1;
	sigaction(SIGALRM, &action, NULL);
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	pthread_create(&waiter, NULL, wait_for_nothing, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	read_line();
	stopping = 1;
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	(void)!write(never[1], "e", 1);
	pthread_join(waiter, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	if (!damaged && !woken && alarms > 0)
		(void)!write(STDOUT_FILENO, "calm\n", 5);
	read_line();
	_exit(3);
}
