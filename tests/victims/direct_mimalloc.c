/* direct_mimalloc.c -- mimalloc's own interface, linked. Run by tests/e2e/allocators.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap of mode `full` beyond `bare`: 300 rounds of: mi_malloc(100), mi_zalloc(60), mi_calloc(10,
 * 20), mi_realloc of the first to 300, mi_malloc_aligned(80, 64), mi_new(48), mi_strdup of 12
 * bytes, malloc(24); all are given back by mi_free and its sized and aligned forms but for the
 * mi_calloc of every third round. Prototypes are written out: the header belongs to a development
 * package that need not be installed. */
#include "truth.h"

void *mi_malloc(size_t size);
void *mi_zalloc(size_t size);
void *mi_calloc(size_t count, size_t size);
void *mi_realloc(void *block, size_t size);
void *mi_malloc_aligned(size_t size, size_t alignment);
void *mi_new(size_t size);
char *mi_strdup(const char *text);
void mi_free(void *block);
void mi_free_size(void *block, size_t size);
void mi_free_aligned(void *block, size_t alignment);

static void drop(void *block, size_t size)
{
	truth_gone(block, size);
	mi_free(block);
}

static void one_round(int round)
{
	void *a = truth_got(mi_malloc(100), 100), *b = truth_got(mi_calloc(10, 20), 200);
	void *c = truth_got(mi_malloc_aligned(80, 64), 80), *d = truth_got(mi_zalloc(60), 60);
	void *e = truth_got(mi_new(48), 48), *f = truth_got(mi_strdup("ten letters"), 12);
	void *grown = mi_realloc(a, 300);

	truth_resized(grown, 100, 300);
	drop(grown, 300);
	truth_gone(c, 80);
	mi_free_aligned(c, 64);
	truth_gone(d, 60);
	mi_free_size(d, 60);
	drop(e, 48);
	drop(f, 12);
	if (round % 3)
		drop(b, 200);
	truth_free(truth_malloc(24), 24);
}

int main(int argc, char **argv)
{
	truth_use(0);
	for (int round = 0; truth_mode_is(argc, argv, "full") && round < 300; round++)
		one_round(round);
	return 0;
}
