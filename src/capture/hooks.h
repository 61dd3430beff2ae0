/* hooks.h -- prototypes of the functions we stand in for, where no libc header has them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_HOOKS_H
#define MIDDEN_CAPTURE_HOOKS_H

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

void cfree(void *block);
void *pvalloc(size_t bytes); /* NOLINT(readability-redundant-declaration): not in musl */
void free_sized(void *block, size_t bytes);
void free_aligned_sized(void *block, size_t alignment, size_t bytes);
extern pid_t _Fork(void); /* NOLINT: libc's name */

#endif
