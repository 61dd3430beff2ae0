/* fork.c -- child processes: counted, and left alone or followed; and objects that are unloaded.
 * Runs: any thread of the target. None of these may change what the program sees.
 * SPDX-License-Identifier: Apache-2.0
 *
 * fork is wrapped for promptness and for kernels without MADV_WIPEONFORK; a child made by any other
 * call is recognised by its wiped state. vfork cannot be wrapped: its child borrows our memory, and
 * the little that it may do happens to the parent's own heap. */
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/boot.h"
#include "capture/cold.h"
#include "capture/hooks.h"
#include "capture/modules.h"
#include "capture/orphan.h"
#include "capture/thread.h"

#define EXPORT __attribute__((visibility("default")))

static void count_child(void)
{
	if (process && atomic_load(&process->state) == PROCESS_RECORDING)
		atomic_fetch_add_explicit(&process->header->children, 1, memory_order_relaxed);
}

static pid_t fork_by(pid_t (*make_child)(void))
{
	struct orphan *copy = orphan_prepare();
	struct tags_path *tags = copy ? NULL : tags_save();
	pid_t child = make_child();

	if (child == 0) {
		cold_after_fork(copy);
		if (tags)
			tags_restore(tags);
		tags_drop(tags);
		return 0;
	}
	if (child > 0)
		count_child();
	orphan_drop(copy);
	tags_drop(tags);
	return child;
}

EXPORT pid_t fork(void)
{
	(void)boot_resolve();
	return fork_by(real.fork);
}

/* The fork for signal handlers. */
EXPORT pid_t _Fork(void) /* NOLINT */
{
	(void)boot_resolve();
	return fork_by(real.bare_fork);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const arguments[],
		       char *const environment[])
{
	(void)boot_resolve();
	int result = real.posix_spawn(pid, path, actions, attributes, arguments, environment);

	if (result == 0)
		count_child();
	return result;
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const arguments[],
			char *const environment[])
{
	(void)boot_resolve();
	int result = real.posix_spawnp(pid, file, actions, attributes, arguments, environment);

	if (result == 0)
		count_child();
	return result;
}

EXPORT int system(const char *command)
{
	(void)boot_resolve();
	if (command)
		count_child();
	return real.system(command);
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	(void)boot_resolve();
	FILE *stream = real.popen(command, mode);

	if (stream)
		count_child();
	return stream;
}

/* The generation changes before, because the object's addresses may be reused at once, and after,
 * because its destructors allocated while it went away. */
EXPORT int dlclose(void *handle)
{
	(void)boot_resolve();
	atomic_fetch_add(&modules_generation, 1);
	int result = real.dlclose(handle);

	atomic_fetch_add(&modules_generation, 1);
	return result;
}
