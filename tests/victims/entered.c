/* entered.c -- functions that say when they are entered and left. Run by tests/e2e/memory, compiled
 * with -finstrument-functions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: entered WHAT
 *
 * Each WHAT makes a stack of known depth, below `begin`.
 *   recursion  `deeper` 100 times, each with an array of 4,000 bytes; a block of 64 bytes at the
 *              end. Prints how many bytes a call of it takes, by its own account
 *   alloca     `roomy`, a leaf, takes 50,000 bytes by alloca; before it `small` is there
 *   threads    three threads named t0 to t2, with 10, 20 and 30 calls of `deeper`
 *   longjmp    `jumper` leaves `thrown` by longjmp 1,000 times; then `after` allocates 128 bytes
 *   handler    a handler on a signal stack, `on_signal`, allocates 256 bytes and has an array of
 *              30,000 bytes; then `small` allocates 32
 *   callback   qsort calls `compare`, which allocates 16 bytes for each of its calls
 *   coroutine  `fiber` on a stack of its own has 20,000 bytes and allocates 512
 *   fork       a child goes on in `begin` and allocates 1,024 bytes in `small`
 *   storm      a timer's handler enters functions and allocates all the while */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define PLAIN __attribute__((noinline))

static _Thread_local uintptr_t first, last;
static volatile int sink;
void *volatile kept[4096];
static volatile int kept_count;

static QUIET void keep(void *block)
{
	kept[__atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED) % 4096] = block;
}

static PLAIN void small(size_t bytes)
{
	keep(malloc(bytes));
}

static PLAIN void deeper(int times)
{
	char room[4000];

	memset(room, times, sizeof(room));
	last = (uintptr_t)__builtin_frame_address(0);
	first = first ? first : last;
	if (times > 1)
		deeper(times - 1);
	else
		keep(malloc(64));
	sink += room[times];
}

static PLAIN void roomy(size_t bytes)
{
	char *room = alloca(bytes);

	memset(room, 1, bytes);
	sink += room[bytes / 2];
}

static jmp_buf back;

static PLAIN void thrown(void)
{
	longjmp(back, 1);
}

static PLAIN void jumper(void)
{
	if (setjmp(back) == 0)
		thrown();
}

static PLAIN void after(void)
{
	keep(malloc(128));
}

static PLAIN void on_signal(int number)
{
	char room[30000];

	memset(room, number, sizeof(room));
	keep(malloc(256));
	sink += room[number];
}

static PLAIN int compare(const void *a, const void *b)
{
	keep(malloc(16));
	return *(const int *)a - *(const int *)b;
}

static PLAIN void *thread(void *name)
{
	int number = *(const char *)name - '0';
	char title[3] = {'t', *(const char *)name, 0};

	pthread_setname_np(pthread_self(), title);
	deeper(10 * (number + 1));
	return NULL;
}

static PLAIN void run_threads(void)
{
	pthread_t threads[3];
	char names[3] = {'0', '1', '2'};

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread, &names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static PLAIN void run_handler(void)
{
	stack_t stack = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	small(32);
}

static ucontext_t outside, inside;

static PLAIN void fiber(void)
{
	char room[20000];

	memset(room, 1, sizeof(room));
	keep(malloc(512));
	swapcontext(&inside, &outside);
	sink += room[7];
	small(48);
}

static PLAIN void run_fiber(void)
{
	getcontext(&inside);
	inside.uc_stack.ss_sp = malloc(1 << 16);
	inside.uc_stack.ss_size = 1 << 16;
	inside.uc_link = &outside;
	makecontext(&inside, fiber, 0);
	swapcontext(&outside, &inside);
	small(40);
	swapcontext(&outside, &inside);
}

static PLAIN void run_fork(void)
{
	pid_t child = fork();

	if (child)
		waitpid(child, NULL, 0);
	else
		small(1024);
}

static PLAIN void on_timer(int number)
{
	void *block = malloc((size_t)number);

	free(block);
}

static PLAIN int twist(int n)
{
	char room[64];

	memset(room, n, sizeof(room));
	free(malloc((size_t)n + 1));
	return n ? twist(n - 1) + room[n % 64] : 0;
}

static PLAIN void run_storm(void)
{
	struct itimerval every = {.it_interval.tv_usec = 100, .it_value.tv_usec = 100};
	struct sigaction action = {.sa_handler = on_timer};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 20000; i++)
		sink += twist(30);
	every = (struct itimerval){0};
	setitimer(ITIMER_REAL, &every, NULL);
	small(72);
}

static PLAIN void begin(const char *what)
{
	int numbers[] = {5, 3, 4, 1, 2};

	if (strcmp(what, "recursion") == 0) {
		deeper(100);
		printf("%zu\n", (size_t)(first - last) / 99);
	}
	if (strcmp(what, "alloca") == 0) {
		small(8);
		roomy(50000);
	}
	if (strcmp(what, "threads") == 0)
		run_threads();
	if (strcmp(what, "longjmp") == 0) {
		for (int i = 0; i < 1000; i++)
			jumper();
		after();
	}
	if (strcmp(what, "handler") == 0)
		run_handler();
	if (strcmp(what, "callback") == 0)
		qsort(numbers, 5, sizeof(numbers[0]), compare);
	if (strcmp(what, "coroutine") == 0)
		run_fiber();
	if (strcmp(what, "fork") == 0)
		run_fork();
	if (strcmp(what, "storm") == 0)
		run_storm();
}

int main(int argc, char **argv)
{
	begin(argc > 1 ? argv[1] : "");
	return 0;
}
