/* swaps.c -- libraries that are unloaded, loaded again, and replaced at their addresses by others.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: swaps LIBRARY...
 *
 * Loads one library after the other, calls it, unloads it; over and over. Prints `reused N`: how
 * often a library came to where another one had been. */
#include "oracle.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void enter_fn(void (*back)(int), int depth);

static enter_fn *enter;

static void again(int depth)
{
	enter(again, depth);
	oracle_mark();
}

int main(int argc, char **argv)
{
	enter_fn *before = NULL;
	int reused = 0;

	if (argc < 2)
		return 2;
	for (int round = 0; round < 60; round++) {
		void *handle = dlopen(argv[1 + round % (argc - 1)], RTLD_NOW | RTLD_LOCAL);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		enter = (enter_fn *)(uintptr_t)dlsym(handle, "swap_enter");
		again(round % 5);
		again(1);
		reused += enter == before;
		before = enter;
		dlclose(handle);
		oracle_mark();
	}
	printf("reused %d\n", reused);
	return 0;
}
