/* loader_locks.c -- allocates while it holds locks that a profiler may want. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: plugin paths. At once, for as long as the main thread needs to load, use
 * and unload the plugins 200 times: 2 threads make and free blocks of 20 bytes inside callbacks of
 * dl_iterate_phdr, which the loader's lock is held for; 2 make and free blocks of 30 bytes with the
 * lock of stderr held; 2 start and join threads that make and free one block of 50 bytes each.
 * Heap: nothing stays but what libc keeps; the plugins' blocks are freed. Ends with status 8. */
#include "truth.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ROUNDS = 200 };

static atomic_int stop;

static void come_and_go(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

static int at_object(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	(void)info;
	(void)bytes;
	(void)argument;
	come_and_go(20);
	return 0;
}

static void *over_objects(void *argument)
{
	while (!atomic_load(&stop))
		dl_iterate_phdr(at_object, NULL);
	return argument;
}

static void *with_stderr(void *argument)
{
	while (!atomic_load(&stop)) {
		flockfile(stderr);
		come_and_go(30);
		funlockfile(stderr);
	}
	return argument;
}

static void *briefly(void *argument)
{
	come_and_go(50);
	return argument;
}

static void *with_threads(void *argument)
{
	pthread_t thread;

	while (!atomic_load(&stop)) {
		truth_expect(pthread_create(&thread, NULL, briefly, NULL) == 0);
		truth_expect(pthread_join(thread, NULL) == 0);
	}
	return argument;
}

static void use(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	truth_expect(plugin != NULL);
	void *(*make)(void) = (void *(*)(void))dlsym(plugin, "plugin_make");
	void (*drop)(void *) = (void (*)(void *))dlsym(plugin, "plugin_drop");
	truth_expect(make && drop);
	drop(make());
	truth_expect(dlclose(plugin) == 0);
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = {over_objects, with_stderr, with_threads};
	pthread_t threads[6];

	alarm(100); /* a deadlock ends */
	for (int i = 0; i < 6; i++)
		truth_expect(pthread_create(&threads[i], NULL, bodies[i / 2], NULL) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 1; i < argc; i++)
			use(argv[i]);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 6; i++)
		truth_expect(pthread_join(threads[i], NULL) == 0);
	return 8;
}
