/* signal_in_realloc.c -- a signal comes inside the realloc of an allocator that goes through malloc
 * and free, and its handler allocates. Run by tests/e2e/harsh with own_allocator.so, which raises
 * it there.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 100 blocks of 100 bytes, each grown to 200 and freed. Within each realloc the handler makes
 * a block of 64 bytes and frees it: 200 calls, which are in no account. */
#include "truth.h"

#include <dlfcn.h>
#include <signal.h>

static void on_signal(int number)
{
	(void)number;
	char *block = malloc(64);

	block[63] = 1;
	free(block);
}

static void pause_here(void)
{
	truth_expect(raise(SIGUSR1) == 0);
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	void (**pause_of_allocator)(void) =
		(void (**)(void))dlsym(RTLD_DEFAULT, "own_allocator_pause");

	truth_expect(pause_of_allocator != NULL);
	truth_expect(sigaction(SIGUSR1, &action, NULL) == 0);
	*pause_of_allocator = pause_here;
	for (int i = 0; i < 100; i++)
		truth_free(truth_realloc(truth_malloc(100), 100, 200), 200);
	*pause_of_allocator = NULL;
	return 0;
}
