/* plugins.c -- libraries that come and go while threads are in them.
 * Runs: any thread of the torture program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "torture.h"

#include <dlfcn.h>
#include <stdio.h>

static void *load(unsigned index)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/plugin_%u.so", habits.plugin_directory, index);
	processes_lock();
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	processes_unlock();
	if (!handle)
		torture_die("a plugin cannot be loaded");
	return handle;
}

static void use(struct worker *me, void *handle)
{
	site_function *const *functions = dlsym(handle, "plugin_sites");
	const unsigned *first = dlsym(handle, "plugin_first_site");
	void (*call)(void (*)(struct worker *), struct worker *) =
		(void (*)(void (*)(struct worker *), struct worker *))dlsym(handle, "plugin_call");
	unsigned which = (unsigned)chance_below(&me->chance, 2);

	blocks_make(&me->chance, functions[which], *first + which);
	if (chance_below(&me->chance, 2))
		call(paths_act, me);
}

void plugins_act(struct worker *me)
{
	void *handle = load((unsigned)chance_below(&me->chance, PLUGINS));

	for (uint64_t i = chance_below(&me->chance, 6); i > 0; i--)
		use(me, handle);
	processes_lock();
	(void)dlclose(handle);
	processes_unlock();
}
