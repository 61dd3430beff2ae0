/* mem.h -- allocation that ends the process with a message when memory runs out. Runs: offline
 * rooms only.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sizes here come from our own data or were bounded by the reader, so running out means the
 * machine is full: there is nothing sensible left to do but say so and stop. */
#ifndef MIDDEN_BASE_MEM_H
#define MIDDEN_BASE_MEM_H

#include <stddef.h>

/* Never NULL. `mem_new` zeroes. The caller frees with free(). */
void *mem_new(size_t count, size_t size);
void *mem_resize(void *block, size_t count, size_t size);
char *mem_copy_string(const char *text);
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
