/* rescue.c -- lets go of work on files that somebody else cuts short. Runs: offline rooms only, on
 * any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/rescue.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static _Thread_local sigjmp_buf way_out;
static _Thread_local volatile sig_atomic_t is_working;

/* Elsewhere the access is made once more when this returns, and ends the process as it would
 * have. */
static void leave(int number)
{
	if (is_working)
		siglongjmp(way_out, 1);
	(void)signal(number, SIG_DFL);
}

bool rescue_run(void (*work)(void *context), void *context)
{
	struct sigaction handler = {.sa_handler = leave};
	sigset_t bus;
	bool is_done = false;

	sigemptyset(&handler.sa_mask);
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	(void)sigaction(SIGBUS, &handler, NULL);
	(void)pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
	if (sigsetjmp(way_out, 1) == 0) {
		is_working = 1;
		work(context);
		is_done = true;
	}
	is_working = 0;
	return is_done;
}
