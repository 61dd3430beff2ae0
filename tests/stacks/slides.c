/* slides.c -- stacks that look like the one before unless frame pointers are looked at.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One of several outer functions takes some space, a middle one takes the rest of a fixed sum. So
 * the innermost frames lie at the same addresses every time, and the middle one slides. What it
 * left on the stack the time before is still there, in space that nobody writes to: return address,
 * saved frame pointer, saved stack pointer, all as they were. Only the frame pointer, where it is
 * saved, and the saved stack pointer of a realigned frame tell that they are old. */
#include "oracle.h"

#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define SUM	 1024u /* bytes that outer and middle function take together */
#define OUTER	 8u

/* Takes space and leaves what is in it alone. */
#define TAKE(bytes)                                             \
	do {                                                    \
		char *space = __builtin_alloca(bytes);          \
		__asm__ volatile("" : : "r"(space) : "memory"); \
	} while (0)

/* No tail call, and the frame is still needed. */
#define STAY() __asm__ volatile("" : : : "memory")

static NOINLINE void leaf(void)
{
	oracle_mark();
	STAY();
}

/* Needs so many registers that the frame pointer is saved and used for something else, where a
 * build has none. */
static NOINLINE void crowded(uint64_t seed)
{
	uint64_t a = seed * 3, b = a ^ 5, c = b * 7, d = c ^ 11, e = d * 13, f = e ^ 17, g = f * 19;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	leaf();
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
	if (g == 1)
		leaf();
}

/* ---- what slides ----------------------------------------------------------------------------- */

static NOINLINE void slides(unsigned bytes)
{
	TAKE(bytes);
	leaf();
	STAY();
}

static NOINLINE void slides_below_crowded(unsigned bytes)
{
	TAKE(bytes);
	crowded(1);
	STAY();
}

/* Wherever its caller's frame ends, its own begins at a multiple of 256. Arguments on the stack are
 * then found by the stack pointer as it was: only that, in memory, changes. */
static NOINLINE int aligned_many(int a, int b, int c, int d, int e, int f, int g, int h,
				 int is_crowded)
{
	char line[256] __attribute__((aligned(256)));

	__asm__ volatile("" : : "r"(line) : "memory");
	if (is_crowded)
		crowded(2);
	else
		leaf();
	__asm__ volatile("" : : "r"(line) : "memory");
	return a + b + c + d + e + f + g + h;
}

static NOINLINE void aligned(unsigned bytes)
{
	int sum = aligned_many(1, 2, 3, 4, 5, 6, 7, 8, bytes > 2 * SUM);

	__asm__ volatile("" : : "r"(sum) : "memory");
}

static NOINLINE void aligned_below_crowded(unsigned bytes)
{
	int sum = aligned_many(8, 7, 6, 5, 4, 3, 2, 1, bytes <= 2 * SUM);

	__asm__ volatile("" : : "r"(sum) : "memory");
}

typedef void middle_fn(unsigned);
static middle_fn *const middles[] = {slides, slides_below_crowded, aligned, aligned_below_crowded};

/* ---- what differs ---------------------------------------------------------------------------- */

#define OUTER_FUNCTION(name)                                    \
	static NOINLINE void name(middle_fn *m, unsigned bytes) \
	{                                                       \
		TAKE(bytes);                                    \
		m(SUM - bytes);                                 \
		STAY();                                         \
	}

OUTER_FUNCTION(outer_0)
OUTER_FUNCTION(outer_1)
OUTER_FUNCTION(outer_2)
OUTER_FUNCTION(outer_3)

/* The same without a frame pointer: it matters to the middle function alone. */
#define FIXED_FUNCTION(name, taken)                             \
	static NOINLINE void name(middle_fn *m, unsigned bytes) \
	{                                                       \
		char space[taken];                              \
		__asm__ volatile("" : : "r"(space) : "memory"); \
		m(SUM - (taken) + 0 * bytes);                   \
		__asm__ volatile("" : : "r"(space) : "memory"); \
	}

FIXED_FUNCTION(fixed_0, 16)
FIXED_FUNCTION(fixed_1, 64)
FIXED_FUNCTION(fixed_2, 112)
FIXED_FUNCTION(fixed_3, 160)

typedef void outer_fn(middle_fn *, unsigned);
static outer_fn *const outers[OUTER] = {outer_0, outer_1, outer_2, outer_3,
					fixed_0, fixed_1, fixed_2, fixed_3};

/* Another stack, so that the next one is not compared with the last alone. */
static NOINLINE void aside(void)
{
	oracle_mark();
	STAY();
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 4000;
	uint64_t random = 1;

	for (unsigned i = 0; i < rounds; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		unsigned r = (unsigned)(random >> 33);

		/* Few steps of few sizes, so that each comes after each. */
		outers[r % OUTER](middles[(r >> 8) % 4], (r >> 16) % 6 * 48);
		if (r >> 30)
			aside();
	}
	return 0;
}
