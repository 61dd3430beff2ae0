/* rescue.h -- lets go of work on files that somebody else cuts short. Runs: offline rooms only, on
 * any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_BASE_RESCUE_H
#define MIDDEN_BASE_RESCUE_H

#include <stdbool.h>

/* Does the work. False if it touched a page of a mapped file that is not there any more, which
 * would have ended the process by SIGBUS: the work stopped there, with whatever it had taken and
 * locked, so nothing of it may be touched again. Takes the signal for the whole process, and does
 * not block it in this thread. Not to be nested; threads that the work starts are not covered. */
bool rescue_run(void (*work)(void *context), void *context);

#endif
