/* addresses.h -- profiles over the code of the test program itself.
 * Runs: in unit tests of the model room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_ADDRESSES_H
#define MIDDEN_TESTS_ADDRESSES_H

#include <link.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "profile/profile.h"

static inline int addresses_take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uint64_t *)bias = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

static inline uint64_t addresses_own_bias(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(addresses_take_bias, &bias);
	return bias;
}

static inline const char *addresses_own_path(void)
{
	static char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[length > 0 ? length : 0] = '\0';
	return path;
}

static inline uint32_t addresses_add_module(struct profile *p, const char *path, uint64_t bias)
{
	struct string_id id = profile_add_string(p, path);

	*vec_push(&p->modules) = (struct profile_module){.path = id, .bias = bias};
	return (uint32_t)p->modules.count - 1;
}

static inline uint32_t addresses_add_node(struct profile *p, uint32_t module, uint64_t pc,
					  bool exact)
{
	*vec_push(&p->nodes) = (struct profile_node){.pc = pc, .module = module, .exact = exact};
	return (uint32_t)p->nodes.count - 1;
}

/* The name of the function (not of what is inlined into it) at a node; "" if unknown. */
static inline const char *addresses_function_at(const struct profile *p, uint32_t node)
{
	uint32_t f = p->nodes.at[node].frames;

	while (f && p->frames.at[f].next)
		f = p->frames.at[f].next;
	return profile_string(p, p->frames.at[f].function);
}

static inline uint64_t addresses_address_of(int (*function)(volatile int *))
{
	return (uint64_t)(uintptr_t)function;
}

#endif
