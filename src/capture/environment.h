/* environment.h -- the environment before libc has it, and how we leave it for others.
 * Runs: at start-up, in the first malloc or the constructor.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_ENVIRONMENT_H
#define MIDDEN_CAPTURE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a variable, or NULL. Reads libc's environment, or the kernel's copy while libc has
 * none. */
const char *environment_find(const char *name);

/* Which program this is that the process has become by exec, from 1 on. */
uint32_t environment_find_image(void);

/* The environment as a NULL-terminated array for the collector we start: without LD_PRELOAD, and
 * with recording switched off, should the library get into it in another way. Never NULL; `room`
 * entries at most are used of `array`. */
void environment_for_collector(char **array, size_t room);

/* Takes our own entry out of LD_PRELOAD and drops the variables that `midden record` put there, so
 * that children are left alone and see what they would have seen. `envp` is the program's array,
 * changed in place; `library` is our file name without directory. */
void environment_clean(char **envp, const char *library);

/* For an exec of the recorded process: a copy of `environment` with what environment_clean took out
 * put back, and the number of the next image. The same array if there is nothing to put back or no
 * memory. */
char *const *environment_restore(char *const environment[]);

/* Gives a copy back when the exec failed. */
void environment_drop(char *const *copy);

/* Tells where the environment is while libc does not know it yet. */
void environment_init(char **envp);

/* What MIDDEN_MODE asks for, an enum segment_mode: the collector that we start does not see it. */
uint32_t environment_find_mode(void);

#endif
