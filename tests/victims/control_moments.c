/* control_moments.c -- directs the recording of its own, known heap. Run by tests/e2e/control.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: control_moments SCENE [FILE]
 *
 * switch     10 blocks of 100 bytes; stopped: 5 of 1,000 come, 3 of the small ones go, one
 *            of them is resized to 200; started: 2 of the large ones and the resized one go,
 *            4 of 50 come
 * thread     the same, but the thread alone is stopped, and another one makes 7 blocks of 10
 * last       all are stopped, the thread started: 3 blocks of 11 count, another's do not
 * clear      10 of 100, 4 of them freed; cleared; 2 more of the 100 freed, 5 of 1,000 come
 * delayed    6 of 100 come, 2 go; started; 3 of 10 come, 1 of the 100 goes
 * threshold  at least 100: 5 of 99, 4 of 100; at most 100: 3 of 100, 2 of 101; none: 1 of 7
 * write      10 of 100; written to FILE; 5 of 1,000; note[0]: the result, [1]: of a bad path
 * summary    10 of 100, 3 freed, a resize to 300; notes as in note_figures
 * name       the thread calls itself "accountant", another one "clerk of the works office"
 *
 * note[11] is 1 if midden is there. */
#include "truth.h"

#include <pthread.h>

#include "midden/midden.h"

static void *blocks[16];

/* Not truth_malloc: what counts is what midden is to count. */
static void make(unsigned count, size_t bytes)
{
	for (unsigned i = 0; i < count; i++)
		blocks[i] = malloc(bytes);
}

static void *make_ten_each(void *count)
{
	for (uintptr_t i = 0; i < (uintptr_t)count; i++)
		truth_expect(malloc(10) != NULL);
	return NULL;
}

static void run_other(void *(*work)(void *), uintptr_t argument)
{
	pthread_t other;

	truth_expect(pthread_create(&other, NULL, work, (void *)argument) == 0);
	truth_expect(pthread_join(other, NULL) == 0);
}

static void stop_and_start(int scope)
{
	void *large[5];

	make(10, 100);
	truth_expect(midden_is_started() == midden_is_loaded());
	midden_stop(scope);
	truth_expect(midden_is_started() == 0);
	for (int i = 0; i < 5; i++)
		large[i] = malloc(1000);
	for (int i = 0; i < 3; i++)
		free(blocks[i]);
	blocks[3] = realloc(blocks[3], 200);
	if (scope == MIDDEN_THIS_THREAD)
		run_other(make_ten_each, 7);
	midden_start(scope);
	truth_expect(midden_is_started() == midden_is_loaded());
	free(large[0]);
	free(large[1]);
	free(blocks[3]);
	make(4, 50);
}

static void have_the_last_word(void)
{
	midden_stop(MIDDEN_ALL_THREADS);
	midden_start(MIDDEN_THIS_THREAD);
	make(3, 11);
	run_other(make_ten_each, 7);
	midden_stop(MIDDEN_ALL_THREADS);
	make(5, 12);
}

static void clear(void)
{
	make(10, 100);
	for (int i = 0; i < 4; i++)
		free(blocks[i]);
	midden_snapshot("forgotten");
	midden_clear();
	for (int i = 4; i < 6; i++)
		free(blocks[i]);
	make(5, 1000);
	midden_snapshot("kept");
}

static void start_late(void)
{
	void *first[6];

	for (int i = 0; i < 6; i++)
		first[i] = malloc(100);
	free(first[0]);
	free(first[1]);
	truth_note(0, (uint64_t)midden_is_started());
	midden_start(MIDDEN_ALL_THREADS);
	truth_note(1, (uint64_t)midden_is_started());
	make(3, 10);
	free(first[2]);
}

static void set_thresholds(void)
{
	midden_set_threshold(100, MIDDEN_AT_LEAST);
	make(5, 99);
	make(4, 100);
	midden_set_threshold(100, MIDDEN_AT_MOST);
	make(3, 100);
	make(2, 101);
	midden_set_threshold(0, MIDDEN_AT_LEAST);
	make(1, 7);
}

static void write_file(const char *path)
{
	make(10, 100);
	truth_note(0, (uint64_t)(midden_write(path) + 10));
	truth_note(1, (uint64_t)(midden_write("/nowhere/at/all.mdn") + 10));
	make(5, 1000);
}

static void add_up(void *context, const char *name, uint64_t value)
{
	uint64_t *sums = context;

	if (strcmp(name, "live_bytes") == 0)
		sums[0] = value;
	if (strcmp(name, "thread.allocations") == 0)
		sums[1] = value;
	if (strcmp(name, "vm_rss_bytes") == 0)
		sums[2] = value;
	sums[3]++;
}

static void note_figures(void)
{
	struct midden_figures all = {0}, own = {0};
	uint64_t sums[4] = {0};

	make(10, 100);
	for (int i = 0; i < 3; i++)
		free(blocks[i]);
	blocks[3] = realloc(blocks[3], 300);
	run_other(make_ten_each, 7);
	truth_note(0, (uint64_t)(midden_summary(&all, MIDDEN_ALL_THREADS) + 10));
	truth_note(1, (uint64_t)(midden_summary(&own, MIDDEN_THIS_THREAD) + 10));
	truth_note(2, (uint64_t)(midden_collect(add_up, sums) + 10));
	truth_note(3, all.allocations);
	truth_note(4, all.live_bytes);
	truth_note(5, own.live_bytes);
	truth_note(6, own.allocations);
	truth_note(7, sums[0] == all.live_bytes && sums[1] == own.allocations);
	truth_note(8, sums[3]);
	truth_note(9, all.reallocations << 32 | all.threads);
	truth_note(10, midden_vm_rss() > 0 && midden_vm_size() > midden_vm_rss() && sums[2] > 0);
}

static void *be_clerk(void *unused)
{
	midden_name_thread("clerk of the works office");
	truth_expect(malloc(20) != NULL);
	return unused;
}

static void give_names(void)
{
	midden_name_thread("accountant");
	make(1, 10);
	run_other(be_clerk, 0);
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "switch";

	truth_note(11, (uint64_t)midden_is_loaded());
	if (strcmp(scene, "switch") == 0)
		stop_and_start(MIDDEN_ALL_THREADS);
	else if (strcmp(scene, "thread") == 0)
		stop_and_start(MIDDEN_THIS_THREAD);
	else if (strcmp(scene, "last") == 0)
		have_the_last_word();
	else if (strcmp(scene, "clear") == 0)
		clear();
	else if (strcmp(scene, "delayed") == 0)
		start_late();
	else if (strcmp(scene, "threshold") == 0)
		set_thresholds();
	else if (strcmp(scene, "write") == 0)
		write_file(argv[2]);
	else if (strcmp(scene, "summary") == 0)
		note_figures();
	else if (strcmp(scene, "name") == 0)
		give_names();
	return 0;
}
