/* other_namespace.c -- loads a plugin so that its malloc is not the program's. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: MODE PLUGIN. `plain` dlopen; `deepbind` with RTLD_DEEPBIND: the plugin finds libc
 * before any preloaded library; `dlmopen` in a namespace with a libc of its own. 20 times the
 * plugin makes a block (plugin_bytes() bytes) and gives it back; except with dlmopen the program
 * itself frees 10 more, and the functions that libc has when it is asked by its handle make and
 * free 7 of 2222 bytes. The program makes and frees 100 blocks of 40 bytes besides, counted. */
#include "truth.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(const char *mode, const char *path)
{
	if (strcmp(mode, "dlmopen") == 0)
		return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	return dlopen(path, RTLD_NOW | (strcmp(mode, "deepbind") == 0 ? RTLD_DEEPBIND : 0));
}

static void ask_libc(void)
{
	Dl_info info;

	truth_expect(dladdr((void *)(uintptr_t)qsort, &info) != 0);
	void *libc = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	truth_expect(libc != NULL);
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
	void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(libc, "realloc");
	void (*drop)(void *) = (void (*)(void *))dlsym(libc, "free");

	truth_expect(make && resize && drop);
	for (int i = 0; i < 7; i++)
		drop(resize(make(1), 2222));
	truth_expect(dlclose(libc) == 0);
}

int main(int argc, char **argv)
{
	truth_expect(argc == 3);
	void *plugin = load(argv[1], argv[2]);
	truth_expect(plugin != NULL);
	void *(*make)(void) = (void *(*)(void))dlsym(plugin, "plugin_make");
	void (*drop)(void *) = (void (*)(void *))dlsym(plugin, "plugin_drop");

	truth_expect(make && drop);
	for (int i = 0; i < 20; i++)
		drop(make());
	for (int i = 0; i < 10 && strcmp(argv[1], "dlmopen") != 0; i++)
		free(make());
	if (strcmp(argv[1], "dlmopen") != 0)
		ask_libc();
	for (int i = 0; i < 100; i++)
		truth_free(truth_malloc(40), 40);
	truth_expect(dlclose(plugin) == 0);
	return 9;
}
