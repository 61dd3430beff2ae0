/* untold_links.c -- functions without unwind information.
 * Runs: in untold.c. Built with UNTOLD_KIND fp and bare: with frame pointers and without.
 * SPDX-License-Identifier: Apache-2.0 */
#include "untold.h"

#define JOIN(a, b, c) a##b##c
#define NAME(a, b, c) JOIN(a, b, c)

void NAME(untold_, UNTOLD_KIND, _small)(struct chain *c)
{
	CHAIN_LINK(c);
}

void NAME(untold_, UNTOLD_KIND, _large)(struct chain *c)
{
	volatile char pad[200] = {1};
	uint64_t a = c->depth * 3, b = a * a, d = b * a;

	CHAIN_LINK(c);
	(void)pad[(a + b + d) % sizeof(pad)];
}
