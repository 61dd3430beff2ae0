/* direct_tcmalloc.c -- tcmalloc's own interface, linked. Run by tests/e2e/allocators.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap of mode `full` beyond `bare`: 300 rounds of: tc_malloc(100), tc_calloc(10, 20), tc_realloc
 * of the first to 300, tc_memalign(64, 80), tc_new(48), tc_newarray(56), tc_new_nothrow(64),
 * tc_valloc(70), tc_posix_memalign(32, 90), malloc(24); all are given back by their counterparts
 * but for the tc_calloc of every third round. Prototypes are written out: the header belongs to a
 * development package that need not be installed. */
#include "truth.h"

void *tc_malloc(size_t size);
void *tc_calloc(size_t count, size_t size);
void *tc_realloc(void *block, size_t size);
void tc_free(void *block);
void tc_free_sized(void *block, size_t size);
void *tc_memalign(size_t alignment, size_t size);
int tc_posix_memalign(void **block, size_t alignment, size_t size);
void *tc_valloc(size_t size);
void *tc_new(size_t size);
void *tc_newarray(size_t size);
void *tc_new_nothrow(size_t size, const void *nothrow);
void tc_delete(void *block);
void tc_deletearray(void *block);
void tc_delete_sized(void *block, size_t size);

static void c_forms(int round)
{
	void *a = truth_got(tc_malloc(100), 100), *b = truth_got(tc_calloc(10, 20), 200);
	void *c = truth_got(tc_memalign(64, 80), 80), *d = truth_got(tc_valloc(70), 70);
	void *grown = tc_realloc(a, 300), *e = NULL;

	truth_resized(grown, 100, 300);
	truth_expect(tc_posix_memalign(&e, 32, 90) == 0);
	truth_got(e, 90);
	truth_gone(grown, 300);
	tc_free(grown);
	truth_gone(c, 80);
	tc_free_sized(c, 80);
	truth_gone(d, 70);
	tc_free(d);
	truth_gone(e, 90);
	tc_free(e);
	if (round % 3 == 0)
		return;
	truth_gone(b, 200);
	tc_free(b);
}

static void new_forms(void)
{
	static const char nothrow;
	void *a = truth_got(tc_new(48), 48), *b = truth_got(tc_newarray(56), 56);
	void *c = truth_got(tc_new_nothrow(64, &nothrow), 64);

	truth_gone(a, 48);
	tc_delete(a);
	truth_gone(b, 56);
	tc_deletearray(b);
	truth_gone(c, 64);
	tc_delete_sized(c, 64);
	truth_free(truth_malloc(24), 24);
}

int main(int argc, char **argv)
{
	truth_use(0);
	for (int round = 0; truth_mode_is(argc, argv, "full") && round < 300; round++) {
		c_forms(round);
		new_forms();
	}
	return 0;
}
