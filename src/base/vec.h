/* vec.h -- a growing array of one element type. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0
 *
 *	VEC(struct site) sites = {0};
 *	*vec_push(&sites) = (struct site){...};      // sites.at[i], sites.count
 *	vec_free(&sites);
 */
#ifndef MIDDEN_BASE_VEC_H
#define MIDDEN_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/mem.h"

#define VEC(type)             \
	struct {              \
		type *at;     \
		size_t count; \
		size_t room;  \
	}

/* Makes room for `more` further elements; returns the (moved) array. */
static inline void *vec_grow(void *at, size_t *room, size_t needed, size_t size)
{
	if (needed <= *room)
		return at;
	size_t grown = *room + *room / 2;
	if (grown < needed)
		grown = needed;
	if (grown < 16)
		grown = 16;
	*room = grown;
	return mem_resize(at, grown, size);
}

#define vec_reserve(v, more) \
	((v)->at = vec_grow((v)->at, &(v)->room, (v)->count + (more), sizeof(*(v)->at)))

/* The address of a new last element, not initialised. */
#define vec_push(v) (vec_reserve(v, 1), &(v)->at[(v)->count++])

#define vec_free(v)                         \
	do {                                \
		free((v)->at);              \
		(v)->at = NULL;             \
		(v)->count = (v)->room = 0; \
	} while (0)

#endif
