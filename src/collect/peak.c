/* peak.c -- what is live, the most that ever was, and who held it then. Runs: in the collector,
 * for every event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/peak.h"

void holding_init(struct holding *h)
{
	*h = (struct holding){.size_min = UINT64_MAX, .life_min = UINT64_MAX};
}
