/* shapes_set.c -- functions whose frames look different, for walks through them.
 * Runs: in shapes.c. Built as a shared library in many flavours (compiler, optimisation, frame
 * pointer, instruction set): see build.sh.
 * SPDX-License-Identifier: Apache-2.0 */
#include "shapes.h"

#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE static __attribute__((noinline)) void

/* Keeps a value, or the memory it points to, alive at this point. */
#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")

/* ---- plain frames ---------------------------------------------------------------------------- */

SHAPE plain(struct trip *t)
{
	trip_onward(t);
	KEEP(t);
}

SHAPE twice(struct trip *t)
{
	trip_onward(t);
	trip_onward(t);
	KEEP(t);
}

/* More live values than there are registers that a callee preserves. */
SHAPE crowded(struct trip *t)
{
	uint64_t a = trip_random(t), b = trip_random(t), c = trip_random(t), d = trip_random(t);
	uint64_t e = a * b, f = b * c, g = c * d, h = d * a;

	trip_onward(t);
	KEEP(a ^ b ^ c ^ d ^ e);
	trip_onward(t);
	KEEP(f ^ g ^ h ^ e);
}

SHAPE roomy(struct trip *t)
{
	char buffer[5000];

	memset(buffer, 1, sizeof(buffer));
	KEEP(buffer);
	trip_onward(t);
	KEEP(buffer);
}

/* Bigger than a page: stacks are probed where the compiler is told to. */
SHAPE vast(struct trip *t)
{
	char buffer[40000];

	buffer[0] = buffer[20000] = 1;
	KEEP(buffer);
	trip_onward(t);
	KEEP(buffer);
}

struct bulk {
	uint64_t words[13];
};

static __attribute__((noinline)) struct bulk by_value(struct trip *t, struct bulk bulk, int a,
						      int b, double c)
{
	bulk.words[a] += (uint64_t)b;
	trip_onward(t);
	bulk.words[b] += (uint64_t)c;
	return bulk;
}

SHAPE passes_much(struct trip *t)
{
	struct bulk bulk = {{trip_random(t)}};

	bulk = by_value(t, bulk, 1, 2, 3.0);
	KEEP(&bulk);
}

static __attribute__((noinline)) int many(struct trip *t, int a, int b, int c, int d, int e, int f,
					  int g, int h, int i)
{
	trip_onward(t);
	return a + b + c + d + e + f + g + h + i;
}

SHAPE passes_many(struct trip *t)
{
	int sum = many(t, 1, 2, 3, 4, 5, 6, 7, 8, 9);

	KEEP(sum + many(t, 9, 8, 7, 6, 5, 4, 3, 2, 1));
}

static __attribute__((noinline)) double variadic(struct trip *t, int count, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, count);
	sum += va_arg(list, double);
	trip_onward(t);
	sum += va_arg(list, int);
	va_end(list);
	return sum;
}

SHAPE passes_various(struct trip *t)
{
	double sum = variadic(t, 2, 1.5, 2);

	KEEP((int)sum);
}

/* ---- frames of varying size ------------------------------------------------------------------ */

SHAPE grows(struct trip *t)
{
	size_t bytes = trip_random(t) % 700 + 1;
	char *space = alloca(bytes);

	memset(space, 0, bytes);
	KEEP(space);
	trip_onward(t);
	KEEP(space);
}

SHAPE grows_in_steps(struct trip *t)
{
	for (unsigned i = 0; i < 3; i++) {
		char *space = alloca(trip_random(t) % 90 + 1);

		*space = 1;
		KEEP(space);
		if (i != 1)
			oracle_mark();
		else
			trip_onward(t);
	}
}

SHAPE varies(struct trip *t)
{
	for (unsigned i = 1; i < 3; i++) {
		int array[trip_random(t) % 200 + i];

		array[0] = 1;
		KEEP(array);
		trip_onward(t);
		KEEP(array);
	}
}

/* ---- realigned stacks ------------------------------------------------------------------------ */

SHAPE aligned(struct trip *t)
{
	char line[64] __attribute__((aligned(64)));

	memset(line, 1, sizeof(line));
	KEEP(line);
	trip_onward(t);
	KEEP(line);
}

SHAPE aligned_and_grows(struct trip *t)
{
	char line[128] __attribute__((aligned(128)));
	size_t bytes = trip_random(t) % 300 + 1;
	char *space = alloca(bytes);

	memset(line, 1, sizeof(line));
	memset(space, 1, bytes);
	KEEP(line);
	KEEP(space);
	trip_onward(t);
	KEEP(line);
}

/* With arguments on the stack: they are found by the stack pointer as it was, which is saved. */
static __attribute__((noinline)) int aligned_many(struct trip *t, int a, int b, int c, int d, int e,
						  int f, int g, int h, int i)
{
	char line[64] __attribute__((aligned(64)));

	memset(line, a, sizeof(line));
	KEEP(line);
	trip_onward(t);
	KEEP(line);
	return a + b + c + d + e + f + g + h + i;
}

SHAPE aligns_many(struct trip *t)
{
	int sum = aligned_many(t, 1, 2, 3, 4, 5, 6, 7, 8, 9);

	KEEP(sum);
}

typedef float vector __attribute__((vector_size(32)));

/* A vector that lives across a call lies in memory, aligned to its size. */
SHAPE vectors(struct trip *t)
{
	float seed = (float)(trip_random(t) % 100);
	vector a = {seed, seed + 1, seed + 2};
	vector b = a * a;

	KEEP(&a);
	trip_onward(t);
	b += a;
	KEEP(&b);
}

/* ---- calls that are not plain ---------------------------------------------------------------- */

/* The last thing done: a jump where the compiler optimises, a call elsewhere. */
SHAPE tail(struct trip *t)
{
	uint64_t r = trip_random(t);

	if (t->left == 0 || t->visits == 0)
		return;
	t->visits--;
	t->all[r % t->count](t);
}

SHAPE even(struct trip *t, unsigned n);

SHAPE odd(struct trip *t, unsigned n)
{
	if (n == 0)
		trip_onward(t);
	else
		even(t, n - 1);
	KEEP(n);
}

SHAPE even(struct trip *t, unsigned n)
{
	char pad[24];

	KEEP(pad);
	if (n == 0)
		trip_onward(t);
	else
		odd(t, n - 1);
	KEEP(pad);
}

SHAPE recursive(struct trip *t)
{
	even(t, (unsigned)(trip_random(t) % 9));
	KEEP(t);
}

SHAPE catches(struct trip *t)
{
	jmp_buf buffer;
	jmp_buf *volatile before = t->back;
	volatile unsigned left = t->left;
	volatile unsigned stacks = t->stacks, signal_stacks = t->signal_stacks;

	if (setjmp(buffer) == 0) {
		t->back = &buffer;
		trip_onward(t);
	}
	t->left = left;
	t->stacks = stacks;
	t->signal_stacks = signal_stacks;
	t->back = before;
	oracle_mark();
}

/* Does not come back: the address after the call of it may lie behind its caller's end. */
static __attribute__((noinline, noreturn)) void leaves(struct trip *t)
{
	oracle_mark();
	longjmp(*t->back, 1);
}

SHAPE leaps(struct trip *t)
{
	if (t->back && t->left < 30)
		leaves(t);
	trip_onward(t);
	KEEP(t);
}

static __attribute__((noinline, cold)) void unlikely_thing(struct trip *t)
{
	oracle_mark();
	KEEP(t);
}

/* The unlikely half of a function may lie elsewhere, with unwind information of its own. */
SHAPE splits(struct trip *t)
{
	if (__builtin_expect(trip_random(t) % 3 == 0, 0)) {
		unlikely_thing(t);
		trip_onward(t);
		unlikely_thing(t);
	} else {
		trip_onward(t);
	}
	KEEP(t);
}

/* ---- through libc ---------------------------------------------------------------------------- */

static __thread struct trip *passing;

/* Goes on once; called back by libc for the same trip again it does nothing. */
static __attribute__((noinline)) void called_back(void)
{
	struct trip *t = passing;

	passing = NULL;
	if (t)
		trip_onward(t);
}

static int compare(const void *a, const void *b)
{
	called_back();
	return *(const int *)a - *(const int *)b;
}

SHAPE sorts(struct trip *t)
{
	int array[7] = {3, 1, 2, 7, 5, 4, 6};

	passing = t;
	qsort(array, 7, sizeof(*array), compare);
	KEEP(array);
}

SHAPE searches(struct trip *t)
{
	static const int array[3] = {1, 2, 3};
	int key = 2;

	passing = t;
	KEEP(bsearch(&key, array, 3, sizeof(*array), compare));
}

static void at_node(const void *node, VISIT when, int depth)
{
	(void)node;
	(void)when;
	(void)depth;
	called_back();
}

SHAPE walks_tree(struct trip *t)
{
	void *root = NULL;
	int key = 1;

	tsearch(&key, &root, compare);
	passing = t;
	twalk(root, at_node);
	tdelete(&key, &root, compare);
}

static int at_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info;
	(void)size;
	(void)data;
	called_back();
	return 1;
}

/* Whoever leaps out of these leaves libc's locks and handlers behind. */
static jmp_buf *stay(struct trip *t)
{
	jmp_buf *back = t->back;

	t->back = NULL;
	return back;
}

SHAPE runs_once(struct trip *t)
{
	pthread_once_t once = PTHREAD_ONCE_INIT;
	jmp_buf *back = stay(t);

	passing = t;
	pthread_once(&once, called_back);
	t->back = back;
}

/* The loader's lock is held meanwhile: other threads' unwinders would wait for it. */
SHAPE lists_objects(struct trip *t)
{
	jmp_buf *back = stay(t);

	passing = t;
	if (t->alone)
		dl_iterate_phdr(at_object, NULL);
	else
		called_back();
	t->back = back;
}

/* ---- GCC's nested functions ------------------------------------------------------------------ */

/* They make the stack executable: only where that is asked for. */
#ifdef SHAPES_NESTED

static __attribute__((noinline)) void calls(void (*function)(int))
{
	function(1);
	KEEP(function);
}

/* The inner function is called through code on the stack, and finds its outer frame by a
 * register. */
SHAPE nests(struct trip *t)
{
	int sum = 0;
	void inner(int n)
	{
		sum += n;
		trip_onward(t);
	}

	calls(inner);
	KEEP(sum);
}

#endif

/* ---- the set --------------------------------------------------------------------------------- */

static shape_fn *const shapes[] = {
	aligns_many,	plain,	     twice,	  crowded,	     roomy,
	vast,		passes_much, passes_many, passes_various,    grows,
	grows_in_steps, varies,	     aligned,	  vectors,	     tail,
	recursive,	catches,     leaps,	  aligned_and_grows, splits,
	sorts,		searches,    walks_tree,  lists_objects,     runs_once,
#ifdef SHAPES_NESTED
	nests,
#endif
};

struct shapes_set shapes_get(void)
{
	return (struct shapes_set){.shapes = shapes, .count = sizeof(shapes) / sizeof(*shapes)};
}
