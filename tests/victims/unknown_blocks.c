/* unknown_blocks.c -- gives back blocks that came from behind the library's back. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 10 blocks of 200 bytes come from libc's malloc under its other name, which nobody stands in
 * for. All are asked for their usable size; 6 are freed, 4 are grown to 5,000 bytes by realloc. Of
 * the latter 3 are freed. Then 5 blocks of 10 bytes in the ordinary way, all freed. So the ordinary
 * calls see 4 blocks of 5,000 bytes come, out of nowhere, and 3 go. */
#include "truth.h"

#include <dlfcn.h>
#include <malloc.h>

int main(void)
{
	void *(*other)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "__libc_malloc");
	void *blocks[10];

	if (!other)
		return 77;
	for (int i = 0; i < 10; i++) {
		blocks[i] = other(200);
		truth_expect(blocks[i] != NULL && malloc_usable_size(blocks[i]) >= 200);
		memset(blocks[i], i, 200);
	}
	for (int i = 0; i < 6; i++)
		free(blocks[i]);
	for (int i = 6; i < 10; i++) {
		blocks[i] = realloc(blocks[i], 5000);
		truth_expect(blocks[i] != NULL && ((char *)blocks[i])[199] == i);
	}
	for (int i = 6; i < 9; i++)
		free(blocks[i]);
	for (int i = 0; i < 5; i++) {
		void *volatile block = malloc(10);
		free(block);
	}
	return 0;
}
