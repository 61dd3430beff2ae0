/* change.c -- differences as people read them. Runs: offline, pure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/change.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define TIMES_FROM 10u /* from here on a percentage is harder to read than a factor */

static uint64_t distance(int64_t change)
{
	return change < 0 ? -(uint64_t)change : (uint64_t)change;
}

static struct human with_sign(bool negative, struct human plain)
{
	struct human h;

	(void)snprintf(h.text, sizeof(h.text), "%c%.*s", negative ? '-' : '+',
		       (int)sizeof(h.text) - 2, plain.text);
	return h;
}

struct human change_bytes(int64_t bytes)
{
	struct human plain = human_bytes(distance(bytes));

	return bytes ? with_sign(bytes < 0, plain) : plain;
}

struct human change_count(int64_t count)
{
	struct human plain = human_count(distance(count));

	return count ? with_sign(count < 0, plain) : plain;
}

struct human change_relative(uint64_t before, uint64_t now)
{
	struct human h = {"from 0"};

	if (before == now)
		return human_share(0, 1);
	if (before == 0)
		return h;
	if (now / before >= TIMES_FROM) {
		unsigned __int128 tenths = (unsigned __int128)now * 10 / before;
		(void)snprintf(h.text, sizeof(h.text), "%" PRIu64 ".%ux", (uint64_t)(tenths / 10),
			       (unsigned)(tenths % 10));
		return h;
	}
	return with_sign(now < before,
			 human_share(now < before ? before - now : now - before, before));
}
