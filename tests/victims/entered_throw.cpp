/* entered_throw.cpp -- functions that say when they are entered and are left by exceptions. Run by
 * tests/e2e/memory, compiled with -finstrument-functions and optimised.
 * SPDX-License-Identifier: Apache-2.0
 *
 * `catcher` catches 1,000 times what `thrower` throws at the end of 5 calls of itself; then `after`
 * allocates 128 bytes, by operator new. Of `outer`, which has `middle` and that `inner` inlined,
 * 100 blocks of 32 bytes are allocated, one in each call. At the end `recurse`, which throws when
 * it has called itself 50 times, has the deepest stack. */
#include <stdexcept>

#define PLAIN __attribute__((noinline))

void *volatile kept;
static volatile int sink;

PLAIN static void thrower(int depth)
{
	if (depth == 0)
		throw std::runtime_error("known");
	thrower(depth - 1);
	sink = sink + 1;
}

PLAIN static void catcher()
{
	try {
		thrower(5);
	} catch (const std::runtime_error &) {
		sink = sink + 1;
	}
}

PLAIN static void after()
{
	kept = new char[128];
}

static inline __attribute__((always_inline)) void inner()
{
	kept = new char[32];
}

static inline __attribute__((always_inline)) void middle()
{
	inner();
	sink = sink + 1;
}

PLAIN static void outer()
{
	middle();
	sink = sink + 1;
}

PLAIN static void recurse(int depth)
{
	volatile char room[1000];

	room[depth] = 1;
	if (depth == 0)
		throw 1;
	recurse(depth - 1);
	sink = sink + room[depth];
}

int main()
{
	for (int i = 0; i < 1000; i++)
		catcher();
	after();
	for (int i = 0; i < 100; i++)
		outer();
	try {
		recurse(49);
	} catch (int) {
		after();
	}
	return 0;
}
