/* comeback.h -- how a thread that makes a system call for the collector gets back to its own work
 * when the collector is gone. Shared between the target's library and the collector.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Such a thread has registers that are not its own until the collector puts them back. Before that
 * the collector writes into a room of the library's with what the thread is to go on, and has it
 * make the call by an instruction of the library's, behind which there is the way back: should
 * nobody stop the thread there, it takes its registers and its mask of signals from the room. */
#ifndef MIDDEN_FORMAT_COMEBACK_H
#define MIDDEN_FORMAT_COMEBACK_H

#include <stdint.h>

#define COMEBACK_BYTES 5120u /* of the room */

/* Where the room holds a word that is not zero if a thread that comes back from a fork is not to
 * wait for its child. */
#define COMEBACK_ALONE 5112u

/* What else it holds on x86_64: the words of the general registers, as ptrace gives them, and
 * behind them the mask. On aarch64 it is what the kernel's rt_sigreturn takes. */
#define COMEBACK_MASK_WORD 27u

/* Addresses in the target; 0: there is none. */
struct comeback {
	uint64_t fork; /* an instruction for a call that forks: the child ends at once, and if it
			  is the thread's own, that waits for it */
	uint64_t call; /* one for any other */
	uint64_t room;
};

#endif
