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

/* Right behind a place or right before it, where there is room; anywhere else if not. */
static void *map_beside(char *start, char *end)
{
	const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
	void *at = mmap(end, POOL_BYTES, PROT_READ | PROT_WRITE, kind | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		at = mmap(start - POOL_BYTES, POOL_BYTES, PROT_READ | PROT_WRITE,
			  kind | MAP_FIXED_NOREPLACE, -1, 0);
	if (at == MAP_FAILED)
		at = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, kind, -1, 0);
	return at;
}

int main(void)
{
	big = malloc(BIG_BYTES);
	if (!big)
		return 1;
	char *start = (char *)big - 16, *end = start + BIG_BYTES + 4096;
	pool = map_beside(start, end);
	if (pool == MAP_FAILED)
		return 1;
	memset(big, 0, BIG_BYTES);
	fill();
	lose();
	scrub();
	truth_note(0, (char *)pool == end || (char *)pool + POOL_BYTES == start);
	return 0;
}
