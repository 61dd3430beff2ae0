/* early_library.c -- a library that allocates while it is loaded, bound and unloaded.
 * Runs: in early.c, linked to it and loaded by it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

void early_function(void);
int early_chosen(void);

static __attribute__((constructor)) void at_load(void)
{
	oracle_mark();
}

static __attribute__((destructor)) void at_unload(void)
{
	oracle_mark();
}

void early_function(void)
{
	oracle_mark();
}

static int chosen(void)
{
	return 42;
}

/* Called by the loader when early_chosen is first called: below it are the loader's frames. */
static int (*choose(void))(void)
{
	oracle_mark();
	return chosen;
}

int early_chosen(void) __attribute__((ifunc("choose")));
