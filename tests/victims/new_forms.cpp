/* new_forms.cpp -- every form of operator new and delete. Run by tests/e2e/exact and allocators.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap by mode: `bare` nothing; `forms` 200 rounds of: plain, array, nothrow and aligned (64) new,
 * single and array, of 8 x round + 64 bytes rounded up to 64 (libstdc++ rounds aligned sizes up, so
 * that is what is asked for), given back by plain, sized, nothrow, aligned and sized aligned
 * delete; `objects` new and delete of classes, arrays with cookies and virtual destructors; `zero`
 * 10 x new of 0 bytes, for which libstdc++ asks malloc for 1; `throwing` 100 x a new that fails
 * with bad_alloc (one failure, and one exception object of 128 + 8 bytes from libstdc++), and 100 x
 * a nothrow new that fails (the same: libstdc++ builds it on the throwing form and catches the
 * exception itself). delete of nullptr counts nothing. */
#include <cstddef>
#include <new>

#include "truth.h"

namespace
{

constexpr std::align_val_t line{64};
constexpr std::size_t exception_header =
	128; /* libstdc++: sizeof(__cxa_refcounted_exception), 64 bit */

template <class Delete> void drop(void *block, std::size_t size, Delete give_back)
{
	truth_gone(block, size);
	give_back(block);
}

void plain_forms(std::size_t size)
{
	void *a = truth_got(operator new(size), size);
	void *b = truth_got(operator new[](size), size);
	void *c = truth_got(operator new(size, std::nothrow), size);
	void *d = truth_got(operator new[](size, std::nothrow), size);
	void *e = truth_got(operator new(size), size);
	void *f = truth_got(operator new[](size), size);

	drop(a, size, [](void *p) { operator delete(p); });
	drop(b, size, [](void *p) { operator delete[](p); });
	drop(c, size, [](void *p) { operator delete(p, std::nothrow); });
	drop(d, size, [](void *p) { operator delete[](p, std::nothrow); });
	drop(e, size, [size](void *p) { operator delete(p, size); });
	drop(f, size, [size](void *p) { operator delete[](p, size); });
}

void aligned_forms(std::size_t size)
{
	void *a = truth_got(operator new(size, line), size);
	void *b = truth_got(operator new[](size, line), size);
	void *c = truth_got(operator new(size, line, std::nothrow), size);
	void *d = truth_got(operator new[](size, line, std::nothrow), size);
	void *e = truth_got(operator new(size, line), size);
	void *f = truth_got(operator new[](size, line), size);

	truth_expect(reinterpret_cast<uintptr_t>(a) % 64 == 0);
	truth_expect(reinterpret_cast<uintptr_t>(d) % 64 == 0);
	drop(a, size, [](void *p) { operator delete(p, line); });
	drop(b, size, [](void *p) { operator delete[](p, line); });
	drop(c, size, [](void *p) { operator delete(p, line, std::nothrow); });
	drop(d, size, [](void *p) { operator delete[](p, line, std::nothrow); });
	drop(e, size, [size](void *p) { operator delete(p, size, line); });
	drop(f, size, [size](void *p) { operator delete[](p, size, line); });
}

void forms()
{
	for (std::size_t round = 0; round < 200; round++) {
		std::size_t size = (8 * round + 64 + 63) / 64 * 64;
		plain_forms(size);
		aligned_forms(size);
	}
	operator delete(nullptr);
	operator delete[](nullptr, line);
}

struct shape {
	virtual ~shape() = default;
	char body[40];
};

struct circle : shape {
	char more[100];
};

void objects()
{
	for (int i = 0; i < 100; i++) {
		shape *one = new circle;
		truth_got(one, sizeof(circle));
		circle *many = new circle[7];
		/* The array has a cookie, so the block starts before its first element. */
		truth_got(reinterpret_cast<char *>(many) - sizeof(std::size_t),
			  7 * sizeof(circle) + sizeof(std::size_t));
		truth_gone(one, sizeof(circle));
		delete one;
		truth_gone(reinterpret_cast<char *>(many) - sizeof(std::size_t),
			   7 * sizeof(circle) + sizeof(std::size_t));
		delete[] many;
	}
}

void zero()
{
	for (int i = 0; i < 10; i++) {
		void *block = truth_got(operator new(0), 1);
		drop(block, 1, [](void *p) { operator delete(p); });
	}
}

/* A new that failed, and the exception that libstdc++ made of it, which is gone by now or soon. */
void count_failure(const void *exception)
{
	std::size_t size = exception_header + sizeof(std::bad_alloc);

	truth_got(nullptr, 0);
	truth_got(const_cast<void *>(exception), size);
	truth_gone(exception, size);
}

void throwing()
{
	volatile std::size_t most = PTRDIFF_MAX;
	int caught = 0;

	for (int i = 0; i < 100; i++) {
		try {
			truth_got(operator new(most), most);
		} catch (const std::bad_alloc &failure) {
			count_failure(&failure);
			caught++;
		}
		truth_expect(operator new(most, std::nothrow) == nullptr);
		count_failure(&caught); /* any address: the block is not ours to see */
	}
	truth_expect(caught == 100);
}

} // namespace

int main(int argc, char **argv)
{
	truth_use(0);
	if (truth_mode_is(argc, argv, "forms"))
		forms();
	else if (truth_mode_is(argc, argv, "objects"))
		objects();
	else if (truth_mode_is(argc, argv, "zero"))
		zero();
	else if (truth_mode_is(argc, argv, "throwing"))
		throwing();
	else if (!truth_mode_is(argc, argv, "bare"))
		return 2;
	return 0;
}
