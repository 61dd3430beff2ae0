/* peak.c -- what is live, the most that ever was, and who held it then. Runs: in the collector,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/peak.h"

void holding_init(struct holding *h)
{
	*h = (struct holding){.size_min = UINT64_MAX, .life_min = UINT64_MAX};
}

static uint64_t get_lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t get_greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void holding_widen(struct holding *h, const struct holding *part)
{
	h->size_min = get_lesser(h->size_min, part->size_min);
	h->size_max = get_greater(h->size_max, part->size_max);
	h->life_min = get_lesser(h->life_min, part->life_min);
	h->life_max = get_greater(h->life_max, part->life_max);
	h->life_sum += part->life_sum;
}
