/* throws.cpp -- operator new in its forms, and exceptions through random stacks.
 * Runs: any thread of the torture program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <new>

static inline __attribute__((always_inline)) void *perform(const struct ask *ask)
{
	switch (ask->how) {
	case HOW_NEW_ARRAY:
		return ::operator new[](ask->bytes);
	case HOW_NEW_NOTHROW:
		return ::operator new(ask->bytes, std::nothrow);
	case HOW_NEW_ALIGNED:
		return ::operator new(ask->bytes, std::align_val_t(ask->alignment));
	default:
		return ::operator new(ask->bytes);
	}
}

#define SITE(number)                                                                            \
	extern "C" __attribute__((noinline)) void *torture_site_##number(const struct ask *ask) \
	{                                                                                       \
		void *block = perform(ask);                                                     \
		__asm__ volatile("" : "+r"(block) : : "memory");                                \
		return block;                                                                   \
	}

SITE(16)
SITE(17)
SITE(18)
SITE(19)

site_function *const sites_cxx[SITES_CXX] = {torture_site_16, torture_site_17, torture_site_18,
					     torture_site_19};

void sites_delete(void *block, enum how how, size_t alignment)
{
	switch (how) {
	case HOW_NEW_ARRAY:
		::operator delete[](block);
		break;
	case HOW_NEW_NOTHROW:
		::operator delete(block, std::nothrow);
		break;
	case HOW_NEW_ALIGNED:
		::operator delete(block, std::align_val_t(alignment));
		break;
	default:
		::operator delete(block);
	}
}

namespace
{

struct thrown {
	unsigned depth;
	char ballast[100];
};

/* Allocates on the way up, while the exception passes. */
struct guard {
	~guard()
	{
		paths_act(worker_get());
	}
};

__attribute__((noinline)) void descend(unsigned depth)
{
	guard held;

	if (depth == 0)
		throw thrown{depth, {}};
	descend(depth - 1);
	__asm__ volatile("" : : : "memory");
}

} // namespace

void paths_throw(unsigned depth)
{
	try {
		descend(depth);
	} catch (const thrown &) {
		paths_act(worker_get());
	}
}
