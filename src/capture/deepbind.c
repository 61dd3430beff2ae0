/* deepbind.c -- those who ask libc itself for a function that we stand in for.
 * Runs: at start-up, while there is one thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All others look for a name from the program on, and find us before libc, as we are preloaded. A
 * library that is loaded with RTLD_DEEPBIND looks in what it needs itself first, as all extensions
 * of PHP do; ctypes and its like ask a handle of libc's. What these make and give back would go
 * past us: a block that one of them frees would be a leak for ever, or another one's when its
 * address is used again. So libc's own table of symbols is made to name our functions. */
#include "capture/deepbind.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/boot.h"
#include "capture/hooks.h"
#include "capture/relink.h"

#define NAMES_MOST   32u /* of which there are 30 */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* `member`: the next definition, which ours calls. */
#define OURS(function, member)                                                   \
	{                                                                        \
		.name = #function, .replacement = (void *)(uintptr_t)(function), \
		.old = (void *)(uintptr_t)real.member                            \
	} /* NOLINT */

/* Whether none of the next definitions is another library's, which stands between us and libc: that
 * would look for libc's with dlsym(RTLD_NEXT), find ours, and be called by that again. What libc
 * does not have is a stand-in of ours. */
static bool are_of_libc(const struct relink_name *names, size_t count)
{
	const void *libc = relink_find_object((const void *)(uintptr_t)getauxval);	/* NOLINT */
	const void *ours = relink_find_object((const void *)(uintptr_t)deepbind_patch); /* NOLINT */

	for (size_t i = 0; i < count; i++) {
		const void *object = relink_find_object(names[i].old);

		if (object != libc && object != ours)
			return false;
	}
	return libc != NULL;
}

/* Those of all kinds, for which the table is written to at once. */
struct list {
	struct relink_name at[NAMES_MOST];
	size_t count;
};

static void add(struct list *list, const struct relink_name *names, size_t count)
{
	if (list->count + count > NAMES_MOST || !are_of_libc(names, count))
		return;
	memcpy(&list->at[list->count], names, count * sizeof(*names));
	list->count += count;
}

/* One function may be built on another one: either all or none. */
static void add_blocks(struct list *list)
{
	const struct relink_name names[] = {
		OURS(malloc, malloc),
		OURS(calloc, calloc),
		OURS(realloc, realloc),
		OURS(reallocarray, realloc),
		OURS(free, free),
		OURS(cfree, free),
		OURS(memalign, memalign),
		OURS(posix_memalign, posix_memalign),
		OURS(aligned_alloc, aligned_alloc),
		OURS(valloc, valloc),
		OURS(pvalloc, pvalloc),
		OURS(free_sized, free_sized),
		OURS(free_aligned_sized, free_aligned_sized),
		OURS(malloc_usable_size, usable_size),
	};

	add(list, names, COUNT(names));
}

static void add_processes(struct list *list)
{
	const struct relink_name names[] = {
		OURS(fork, fork),
		OURS(_Fork, bare_fork),
		OURS(posix_spawn, posix_spawn),
		OURS(posix_spawnp, posix_spawnp),
		OURS(system, system),
		OURS(popen, popen),
		OURS(execve, execve),
		OURS(execv, execve),
		OURS(execvpe, execvpe),
		OURS(execvp, execvpe),
		OURS(fexecve, fexecve),
		OURS(execl, execve),
		OURS(execlp, execvpe),
		OURS(execle, execve),
	};

	add(list, names, COUNT(names));
}

void deepbind_patch(void)
{
	const struct relink_name unloading = OURS(dlclose, dlclose);
	const struct relink_name locking = OURS(mlockall, mlockall);

	struct list list = {.count = 0};

	if (real.may_nest)
		return;
	add_blocks(&list);
	add_processes(&list);
	add(&list, &unloading, 1);
	add(&list, &locking, 1); /* NOLINTNEXTLINE: an address in libc */
	relink_definitions((const void *)(uintptr_t)getauxval, list.at, list.count);
}
