/* whole.h -- whole numbers from computed ones. Runs: anywhere offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_BASE_WHOLE_H
#define MIDDEN_BASE_WHOLE_H

#include <stdint.h>

/* The number without its fraction, or the nearest that there is: a conversion of more than fits is
 * undefined, and profiles may hold any numbers. */
static inline uint64_t whole_get(double value)
{
	if (!(value > 0)) /* not a number either */
		return 0;
	return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

#endif
