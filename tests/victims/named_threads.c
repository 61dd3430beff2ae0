/* named_threads.c -- threads with names. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap of mode `full`: thread i of 4, named worker-0 .. worker-3, makes 10 x (i + 1) blocks of 100
 * bytes and frees 5 of them; they run one after another. The main thread, which renames itself to
 * `the-boss`, makes 7 blocks of 10 bytes. `bare` does not allocate. */
#include "truth.h"

#include <pthread.h>
#include <sys/prctl.h>

static int full;

static void *work(void *argument)
{
	size_t me = (size_t)argument;
	char name[] = "worker-0";
	void *block = NULL;

	name[7] = (char)('0' + me);
	truth_expect(pthread_setname_np(pthread_self(), name) == 0);
	truth_use(me + 1);
	for (size_t i = 0; full && i < 10 * (me + 1); i++) {
		block = truth_malloc(100);
		if (i < 5)
			truth_free(block, 100);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	full = truth_mode_is(argc, argv, "full");
	truth_expect(prctl(PR_SET_NAME, "the-boss") == 0);
	truth_use(4);
	truth_use(0);
	for (size_t i = 0; i < 4; i++) {
		truth_expect(pthread_create(&thread, NULL, work, (void *)i) == 0);
		truth_expect(pthread_join(thread, NULL) == 0);
	}
	for (int i = 0; full && i < 7; i++)
		truth_malloc(10);
	truth_mark_peak();
	return 0;
}
