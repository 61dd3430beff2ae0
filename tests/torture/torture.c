/* torture.c -- random acts on the heap, from a seed, with an account of them. See torture.h.
 * Runs: recorded by tests/torture/run.py.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: torture SEED STEPS GENERATION calm|wild|anywhere|jumping ACCOUNT PLUGINS SELF
 *
 * calm: one thread, nothing that makes libc allocate, so that the whole heap and its peak are in
 * the account. anywhere: the allocator can be entered from a handler at any moment; jumping: and be
 * left by it. GENERATION is 0, ACCOUNT the file to write, PLUGINS the directory of plugin_N.so,
 * SELF a name of this program. */
#include "torture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct habits habits;
atomic_bool is_stopping;

static __thread struct worker *current;

__attribute__((noinline)) struct worker *worker_get(void)
{
	__asm__ volatile(""); /* not to be kept across a change of threads */
	return current;
}

void worker_set(struct worker *worker)
{
	current = worker;
}

_Noreturn void torture_die(const char *what)
{
	struct iovec parts[] = {{(void *)"torture: ", 9},
				{(void *)(uintptr_t)what, strlen(what)},
				{(void *)"\n", 1}};

	(void)!writev(STDERR_FILENO, parts, 3);
	_exit(97);
}

/* ---- acts ------------------------------------------------------------------------------------ */

/* Time for signals to arrive where a handler may allocate. */
static void act_pause(struct worker *me)
{
	me->outside = 1;
	for (uint64_t i = chance_below(&me->chance, 20000); i > 0; i--)
		__asm__ volatile("");
	me->outside = 0;
}

static void act_end(struct worker *me)
{
	if (chance_below(&me->chance, 20) == 0)
		processes_end(me);
}

struct act {
	void (*function)(struct worker *me);
	unsigned weight; /* the most; the seed takes a share of it */
	bool calm;
};

static const struct act acts[] = {
	{paths_act, 4000, true},    {act_pause, 200, true},	{plugins_act, 60, false},
	{threads_start, 20, false}, {processes_fork, 4, false}, {processes_spawn, 4, false},
	{paths_arm, 10, false},	    {act_end, 2, false},
};

#define ACTS (sizeof(acts) / sizeof(acts[0]))

static void draw_habits(struct chance *chance)
{
	for (unsigned i = 0; i < ACTS; i++) {
		uint64_t share = chance_below(chance, 4); /* a quarter of the images go without */

		habits.weights[i] = acts[i].weight * share;
		if (habits.calm && !acts[i].calm)
			habits.weights[i] = 0;
	}
	habits.weights[0] += acts[0].weight;
}

static void act(struct worker *me)
{
	uint64_t sum = 0, drawn;

	for (unsigned i = 0; i < ACTS; i++)
		sum += habits.weights[i];
	drawn = chance_below(&me->chance, sum);
	for (unsigned i = 0; i < ACTS; i++) {
		if (drawn < habits.weights[i]) {
			acts[i].function(me);
			return;
		}
		drawn -= habits.weights[i];
	}
}

void torture_steps(struct worker *me, unsigned steps)
{
	for (unsigned i = 0; i < steps && !atomic_load(&is_stopping); i++)
		act(me);
}

/* ---- main ------------------------------------------------------------------------------------ */

static bool read_arguments(int argc, char **argv)
{
	if (argc != 8)
		return false;
	habits.steps = (unsigned)strtoul(argv[2], NULL, 10);
	habits.generation = (unsigned)strtoul(argv[3], NULL, 10);
	habits.calm = strcmp(argv[4], "calm") == 0;
	habits.jumping = strcmp(argv[4], "jumping") == 0;
	habits.anywhere = habits.jumping || strcmp(argv[4], "anywhere") == 0;
	habits.account_path = argv[5];
	habits.plugin_directory = argv[6];
	habits.other_self = argv[7];
	return true;
}

int main(int argc, char **argv)
{
	static struct worker me;

	if (!read_arguments(argc, argv)) {
		(void)fputs(
			"usage: torture SEED STEPS GENERATION calm|wild|anywhere|jumping ACCOUNT "
			"PLUGINS SELF\n",
			stderr);
		return 2;
	}
	if (!account_open(habits.account_path) || !paths_open() || !threads_open()) {
		(void)fputs("torture: cannot start\n", stderr);
		return 1;
	}
	blocks_open();
	me.chance.state = strtoull(argv[1], NULL, 10);
	me.in_handler.state = ~me.chance.state;
	draw_habits(&me.chance);
	worker_set(&me);
	if (habits.anywhere)
		paths_arm(&me);
	torture_steps(&me, habits.steps);
	processes_end(&me);
}
