/* lost_joined.c -- memory that the program maps beside large blocks. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel shows both as one map. 100 blocks of 1,000 bytes are held from the mapped memory
 * alone, one of 500 from the large block; one of 300 is lost. note[0] is 1 if they lie side by
 * side. */
#include "truth.h"

#include <string.h>
#include <sys/mman.h>

enum { POOL_BYTES = 1 << 20, BIG_BYTES = (1 << 20) - 4096 };

static void **pool, **big;

static __attribute__((noinline)) void fill(void)
{
	for (int i = 0; i < 100; i++)
		pool[i * 32] = malloc(1000);
	big[1000] = malloc(500);
}

static __attribute__((noinline)) void lose(void)
{
	void *volatile lost = malloc(300);

	memset(lost, 0, 300);
	lost = NULL;
}

/* Nothing of what was on the stack is to be left there. */
static __attribute__((noinline)) void scrub(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main(void)
{
	pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	big = malloc(BIG_BYTES);
	if (pool == MAP_FAILED || !big)
		return 1;
	memset(big, 0, BIG_BYTES);
	fill();
	lose();
	scrub();
	truth_note(0, (char *)big - 16 + BIG_BYTES + 4096 == (char *)pool);
	return 0;
}
