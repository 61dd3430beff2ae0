/* boot.h -- the real allocator behind us, and memory for the time before it is known.
 * Runs: in the first call of any hook.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_BOOT_H
#define MIDDEN_CAPTURE_BOOT_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "capture/host.h"

/* The next definition of each function. They start as stand-ins that look the real ones up and hand
 * on the call, so that the hooks need no test of their own. */
struct real {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable_size)(void *);
	bool may_nest; /* the allocator is not libc's: one function may be built on another */
	void (*free_sized)(void *, size_t);
	void (*free_aligned_sized)(void *, size_t, size_t);
	pid_t (*fork)(void);
	pid_t (*bare_fork)(void);
	int (*dlclose)(void *);
	int (*mlockall)(int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const[], char *const[]);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const[], char *const[]);
	int (*system)(const char *);
	FILE *(*popen)(const char *, const char *);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*execvpe)(const char *, char *const[], char *const[]);
	int (*fexecve)(int, char *const[], char *const[]);
};
extern struct real real HIDDEN;

/* Looks up the real functions. False while a lookup is under way: use the arena. */
bool boot_resolve(void);

/* Blocks handed out while the real allocator was being looked up. */
#define BOOT_ARENA_BYTES 65536
extern char boot_arena[BOOT_ARENA_BYTES] HIDDEN;

static inline bool boot_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)boot_arena < BOOT_ARENA_BYTES;
}

/* Usable bytes of a block of the arena. */
size_t boot_block_bytes(const void *block);

/* Bytes of the arena, from its start, that have been handed out. */
size_t boot_get_used(void);

#endif
