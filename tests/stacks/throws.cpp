/* throws.cpp -- allocations while exceptions are thrown, caught, rethrown and clean up.
 * Runs: under midden, by tests/e2e/stacks; built with several compilers and optimisations.
 * SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace
{

/* Marks when it is destroyed: on the way out of its scope, or while an exception passes. */
struct marks_at_end {
	~marks_at_end()
	{
		oracle_mark();
	}
};

struct fault : std::runtime_error {
	explicit fault(int n) : std::runtime_error("fault " + std::string(40, 'x')), number(n)
	{
	}
	int number;
};

/* ---- through many frames --------------------------------------------------------------------- */

NOINLINE int falls(int depth, int kind);

NOINLINE int falls_with_cleanup(int depth, int kind)
{
	marks_at_end first;
	int result = falls(depth - 1, kind) + 1;

	oracle_mark();
	return result;
}

NOINLINE int falls_with_rethrow(int depth, int kind)
{
	try {
		return falls(depth - 1, kind) + 2;
	} catch (const fault &f) {
		oracle_mark();
		if (f.number == 3)
			return 7;
		throw;
	}
}

NOINLINE int falls_with_nesting(int depth, int kind)
{
	try {
		return falls(depth - 1, kind) + 3;
	} catch (const std::exception &) {
		oracle_mark();
		std::throw_with_nested(fault(kind));
	}
}

NOINLINE int falls_with_space(int depth, int kind)
{
	std::vector<std::string> texts(static_cast<size_t>(depth % 5 + 1), std::string(50, 'y'));
	char *space = static_cast<char *>(__builtin_alloca(static_cast<size_t>(depth * 17 + 1)));

	*space = 1;
	int result = falls(depth - 1, kind) + *space;
	return result + static_cast<int>(texts.size());
}

struct base {
	virtual ~base() = default;
	virtual int fall(int depth, int kind) = 0;
};

struct derived : base {
	std::string text = std::string(60, 'z');
	NOINLINE int fall(int depth, int kind) override
	{
		marks_at_end last;
		return falls(depth - 1, kind) + static_cast<int>(text.size());
	}
};

struct throws_half_built {
	marks_at_end member;
	int value;
	NOINLINE throws_half_built(int depth, int kind) : value(falls(depth - 1, kind))
	{
		oracle_mark();
	}
};

NOINLINE int falls(int depth, int kind)
{
	if (depth <= 0) {
		oracle_mark();
		throw fault(kind);
	}
	switch ((depth * 5 + kind) % 8) {
	case 0:
		return falls_with_cleanup(depth, kind);
	case 1:
		return falls_with_rethrow(depth, kind);
	case 2:
		return falls_with_nesting(depth, kind);
	case 3:
		return falls_with_space(depth, kind);
	case 4:
		return derived().fall(depth, kind);
	case 5:
		return throws_half_built(depth, kind).value;
	case 6:
		return std::function<int(int, int)>(falls)(depth - 1, kind);
	default:
		return falls(depth - 1, kind) + 1;
	}
}

/* ---- within each other ----------------------------------------------------------------------- */

/* Throws and catches while another exception is on its way. */
struct throws_within {
	int depth;
	~throws_within()
	{
		try {
			falls(depth, 1);
		} catch (const std::exception &) {
			oracle_mark();
		}
	}
};

NOINLINE void throws_during_cleanup(int depth)
{
	throws_within inner{depth};

	falls(depth + 1, 2);
}

NOINLINE void catches_in_catch(int depth)
{
	try {
		throws_during_cleanup(depth);
	} catch (const std::exception &) {
		try {
			marks_at_end here;

			falls(depth / 2, 3);
		} catch (...) {
			oracle_mark();
		}
		oracle_mark();
	}
}

int compare(const void *, const void *)
{
	marks_at_end here;

	return falls(4, 5);
}

/* An exception through C: libc's own frames have unwind information too. */
NOINLINE void throws_through_qsort()
{
	int array[3] = {3, 2, 1};

	try {
		qsort(array, 3, sizeof(*array), compare);
	} catch (const std::exception &) {
		oracle_mark();
	}
}

NOINLINE void library_throws(size_t n)
{
	std::vector<int> numbers(n);

	try {
		numbers.at(n) = 1;
	} catch (const std::out_of_range &) {
		oracle_mark();
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

[[noreturn]] void at_terminate()
{
	oracle_mark();
	std::_Exit(0);
}

NOINLINE void may_not_throw() noexcept
{
	falls(12, 6);
}

} // namespace

int main()
{
	for (int round = 0; round < 120; round++) {
		int depth = round * 7 % 40 + 1;

		try {
			falls(depth, round % 5);
		} catch (const std::exception &) {
			oracle_mark();
		}
		if (round % 4 == 0)
			catches_in_catch(depth / 4 + 1);
		if (round % 7 == 0)
			throws_through_qsort();
		library_throws(static_cast<size_t>(round % 3 + 1));
	}
	std::set_terminate(at_terminate);
	may_not_throw();
	return 1;
}
