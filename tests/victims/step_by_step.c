/* step_by_step.c -- grows when it is told to. Run by tests/e2e/viewer.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For every line of standard input: "+" makes 10 blocks of 1,000 bytes in grow(), "*" the same by
 * way of grow_elsewhere(), "-" frees the last 5 in shrink(), "M" maps and fills 64 MiB, "m" unmaps
 * them, "V" and "v" do so with 64 GiB that are only addresses, "D" goes 1 MiB deeper into the stack
 * than before; then it writes "done". At the end of the input it exits with 7 and all that is left
 * is leaked. */
#include "truth.h"

#include <unistd.h>

enum { BLOCKS_MOST = 10000, BYTES = 1000, MAPPED = 64 << 20, STEP = 1 << 20 };

static void *blocks[BLOCKS_MOST];
static size_t used;

static __attribute__((noinline)) void grow(void)
{
	for (int i = 0; i < 10; i++) {
		truth_expect(used < BLOCKS_MOST);
		blocks[used++] = truth_malloc(BYTES);
	}
}

static __attribute__((noinline)) void grow_elsewhere(void)
{
	grow();
}

static __attribute__((noinline)) void shrink(void)
{
	for (int i = 0; i < 5; i++) {
		truth_expect(used > 0);
		truth_free(blocks[--used], BYTES);
	}
}

/* Nothing that a compiler would leave out. */
static __attribute__((noinline)) size_t dive(size_t bytes)
{
	volatile char room[4096];

	room[0] = room[sizeof(room) - 1] = 1;
	return bytes > sizeof(room) ? dive(bytes - sizeof(room)) + (size_t)room[0] : 0;
}

/* Small letters unmap what the large ones map. */
static void map_or_unmap(char how)
{
	static char *mapped;
	size_t bytes = how == 'M' || how == 'm' ? MAPPED : (size_t)MAPPED << 10;
	int protection = how == 'M' ? PROT_READ | PROT_WRITE : PROT_NONE;

	if (how == 'm' || how == 'v') {
		truth_expect(munmap(mapped, bytes) == 0);
		return;
	}
	mapped = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	truth_expect(mapped != MAP_FAILED);
	if (how == 'M')
		memset(mapped, 1, bytes);
}

int main(void)
{
	size_t deep = 0;
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		if (byte == '+')
			grow();
		else if (byte == '*')
			grow_elsewhere();
		else if (byte == '-')
			shrink();
		else if (strchr("MmVv", byte))
			map_or_unmap(byte);
		else if (byte == 'D')
			(void)dive(deep += STEP);
		else
			truth_expect(write(STDOUT_FILENO, "done\n", 5) == 5);
	}
	return 7;
}
