/* signal_alloc.c -- a timer's handler allocates while the program does. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: the main loop makes and frees 200,000 blocks of 1..256 bytes under a 200 us timer. Calling
 * malloc in a handler is only sound when the interrupted code is not inside the allocator, so the
 * loop raises a flag outside of it; the handler interrupts anywhere, hooks included, but allocates
 * and frees 64 bytes only while the flag is up. Both count in slots of their own. note[0]: handler
 * calls that allocated. */
#include "truth.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t outside;
static volatile uint64_t handled;

static void on_timer(int signal)
{
	volatile struct truth_slot *interrupted = truth_me;

	(void)signal;
	if (!outside)
		return;
	truth_use(1);
	truth_free(truth_malloc(64), 64);
	truth_me = interrupted;
	handled++;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	volatile unsigned spin = 0;

	truth_use(1);
	truth_use(0);
	truth_expect(sigaction(SIGALRM, &action, NULL) == 0);
	truth_expect(setitimer(ITIMER_REAL, &every, NULL) == 0);
	for (size_t i = 0; i < 200000; i++) {
		void *block = truth_malloc(1 + i % 256);

		outside = 1;
		for (int turn = 0; turn < 50; turn++)
			spin = spin + 1;
		outside = 0;
		truth_free(block, 1 + i % 256);
	}
	truth_expect(setitimer(ITIMER_REAL, &never, NULL) == 0);
	truth_note(0, handled);
	return 0;
}
