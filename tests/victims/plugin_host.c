/* plugin_host.c -- loads, uses and unloads plugins that allocate. Run by tests/e2e/exact.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: full|bare, plugin paths. For each plugin, 20 times: dlopen, (mode `full`)
 * plugin_make() allocates a block of plugin_bytes() bytes, which every second time is freed by
 * plugin_drop(); dlclose. `bare` loads and unloads alike, so that the difference of the two is the
 * plugins' own: 20 blocks per plugin, 10 of them left. */
#include "truth.h"

#include <dlfcn.h>

static void use(const char *path, int full, int round)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	truth_expect(plugin != NULL);
	void *(*make)(void) = (void *(*)(void))dlsym(plugin, "plugin_make");
	void (*drop)(void *) = (void (*)(void *))dlsym(plugin, "plugin_drop");
	size_t (*bytes)(void) = (size_t(*)(void))dlsym(plugin, "plugin_bytes");
	truth_expect(make && drop && bytes);
	if (full) {
		void *block = truth_got(make(), bytes());
		if (round % 2) {
			truth_gone(block, bytes());
			drop(block);
		}
	}
	truth_expect(dlclose(plugin) == 0);
}

int main(int argc, char **argv)
{
	int full = truth_mode_is(argc, argv, "full");

	truth_use(0);
	for (int round = 0; round < 20; round++) {
		for (int i = 2; i < argc; i++)
			use(argv[i], full, round);
	}
	return 0;
}
