/* homing.c -- code by which a thread makes a system call for the collector, and gets back from it
 * by itself if need be (format/comeback.h). Runs: never, unless the collector leads a thread here.
 * SPDX-License-Identifier: Apache-2.0
 *
 * No stack is used, as nobody knows how much there is of it where the thread was stopped. */
#include "capture/homing.h"

HIDDEN extern const char homing_fork[], homing_call[];

/* Both are used by the code alone. */
HIDDEN extern unsigned char homing_room[COMEBACK_BYTES];
HIDDEN extern const uint64_t homing_all;
_Alignas(64) unsigned char homing_room[COMEBACK_BYTES];
const uint64_t homing_all = UINT64_MAX; /* signals */
_Static_assert(COMEBACK_ALONE == 5112, "the code knows where that is");

__asm__(".pushsection .text\n"
	".balign 16\n"
	".hidden homing_fork\n"
	".globl homing_fork\n"
	".type homing_fork, %function\n"
	".hidden homing_call\n"
	".globl homing_call\n"
	".type homing_call, %function\n" ARCH_HOMING ".size homing_fork, .-homing_fork\n"
	".popsection\n");

struct comeback homing_get(void)
{
	return (struct comeback){(uint64_t)(uintptr_t)homing_fork, (uint64_t)(uintptr_t)homing_call,
				 (uint64_t)(uintptr_t)homing_room};
}
