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
#include <sys/mman.h>
#include <unistd.h>

#include "capture/boot.h"
#include "capture/hooks.h"
#include "capture/relink.h"

#define OURS(function)                                                          \
	{                                                                       \
		.name = #function, .replacement = (void *)(uintptr_t)(function) \
	} /* NOLINT */

/* If malloc is libc's, nobody else's is between us and libc, who could be led in a circle by
 * finding us behind itself. */
void deepbind_patch(void)
{
	const struct relink_name names[] = {
		OURS(malloc),
		OURS(calloc),
		OURS(realloc),
		OURS(reallocarray),
		OURS(free),
		OURS(cfree),
		OURS(memalign),
		OURS(posix_memalign),
		OURS(aligned_alloc),
		OURS(valloc),
		OURS(pvalloc),
		OURS(free_sized),
		OURS(free_aligned_sized),
		OURS(malloc_usable_size),
		OURS(fork),
		OURS(_Fork),
		OURS(posix_spawn),
		OURS(posix_spawnp),
		OURS(system),
		OURS(popen),
		OURS(execve),
		OURS(execv),
		OURS(execvpe),
		OURS(execvp),
		OURS(fexecve),
		OURS(execl),
		OURS(execlp),
		OURS(execle),
		OURS(dlclose),
		OURS(mlockall),
	};

	if (!real.may_nest) /* NOLINTNEXTLINE: an address in libc */
		relink_definitions((const void *)(uintptr_t)real.malloc, names,
				   sizeof(names) / sizeof(names[0]));
}
