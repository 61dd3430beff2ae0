/* threads.c -- figures per thread. Runs: in the collector process, one thread, when a slot is
 * opened.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/threads.h"

#include <string.h>

void threads_fini(struct threads *t)
{
	vec_free(&t->list);
	vec_free(&t->by_serial);
}

static void cover_serial(struct threads *t, uint32_t serial)
{
	size_t more = (size_t)serial + 1 - t->by_serial.count;

	vec_reserve(&t->by_serial, more);
	memset(t->by_serial.at + t->by_serial.count, 0, more * sizeof(t->by_serial.at[0]));
	t->by_serial.count += more;
}

static uint32_t add(struct threads *t, uint32_t serial)
{
	struct thread *thread = vec_push(&t->list);

	*thread = (struct thread){
		.serial = serial,
		.shared = serial == t->most,
		.start_ticks = UINT64_MAX,
		.end_ticks = UINT64_MAX,
	};
	holding_init(&thread->held);
	t->by_serial.at[serial] = (uint32_t)t->list.count;
	return (uint32_t)t->list.count - 1;
}

uint32_t threads_reserve(struct threads *t, uint32_t serial)
{
	uint32_t own = serial < t->most ? serial : t->most;

	if (serial > t->highest_serial)
		t->highest_serial = serial;
	if (own >= t->by_serial.count)
		cover_serial(t, own);
	return t->by_serial.at[own] ? t->by_serial.at[own] - 1 : add(t, own);
}

bool threads_has_named(const struct threads *t, uint32_t tid)
{
	for (size_t i = 0; i < t->list.count; i++)
		if (t->list.at[i].named && t->list.at[i].tid == tid)
			return true;
	return false;
}

/* Serials are given out without gaps, so those beyond the own records are counted by the highest
 * one. */
uint64_t threads_get_count(const struct threads *t)
{
	if (t->highest_serial < t->most)
		return t->list.count;
	return t->list.count - 1 + (t->highest_serial - (t->most - 1));
}
