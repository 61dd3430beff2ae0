/* signed.c -- return addresses that carry a signature on the stack (pointer authentication).
 * Runs: under midden, by tests/e2e/stacks; built for aarch64 with -mbranch-protection.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Prints `signed N`: how many return addresses were seen in memory that are not the plain ones. */
#include "oracle.h"

#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static unsigned signed_count;

/* The frame record of the caller: its return address as it is in memory. */
static inline __attribute__((always_inline)) void look(void)
{
	const uint64_t *record = __builtin_frame_address(0);

	signed_count += record[1] != (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static NOINLINE void down(unsigned n)
{
	look();
	oracle_mark();
	if (n > 0)
		down(n - 1);
	oracle_mark();
}

/* No frame pointer is needed here. */
static NOINLINE void aside(unsigned n)
{
	volatile char pad[200] = {1};

	down(n);
	(void)pad[n];
	oracle_mark();
}

int main(void)
{
	for (unsigned n = 0; n < 20; n++) {
		down(n);
		aside(n);
	}
	printf("signed %u\n", signed_count);
	return 0;
}
