/* merge_threads.c -- the threads of several recordings in one profile. Runs: offline; called by
 * merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/merge_threads.h"

#include "model/merge_figures.h"
#include "model/merge_times.h"

void merge_threads_fini(struct merge_threads *t)
{
	map_free(&t->by_name);
}

/* Of several processes each has an end of its own: what ran until then did not run on until the
 * last of them ended. */
static uint64_t get_end(const struct profile_thread *from, const struct merge_threads_input *in)
{
	bool was_running = from->end_ns == UINT64_MAX;

	if (was_running && in->mode == PROFILE_MERGE_SUM && in->profile->run.duration_ns)
		return in->profile->run.duration_ns;
	return from->end_ns;
}

static struct profile_thread moved(const struct profile_thread *from,
				   const struct merge_threads_input *in)
{
	struct profile_thread t = *from;

	t.start_ns = merge_times_later(t.start_ns, in->shift_ns);
	t.end_ns = merge_times_later(get_end(from, in), in->shift_ns);
	t.own_peak_time_ns = merge_times_later(t.own_peak_time_ns, in->shift_ns);
	return t;
}

/* Which of its name a thread is within its recording, from 1 on. */
static uint32_t count_namesake(struct map *counts, struct string_id name)
{
	return ++*map_reserve(counts, name.v);
}

/* Where the thread of an earlier run is that this one is taken for, plus one; the place for it if
 * there is none. */
static uint32_t *find_thread(struct merge_threads *t, struct map *counts, struct string_id name)
{
	return map_reserve(&t->by_name, (uint64_t)name.v << 32 | count_namesake(counts, name));
}

static uint32_t push(struct profile *out, struct profile_thread *t)
{
	t->serial = (uint32_t)out->threads.count + 1;
	*vec_push(&out->threads) = *t;
	return t->serial;
}

static void join(struct profile_thread *to, const struct profile_thread *from,
		 enum profile_merge mode)
{
	merge_figures_thread(to, from, mode);
	if (to->tid != from->tid)
		to->tid = 0;
}

void merge_threads_add(struct merge_threads *t, struct remap *remap,
		       const struct merge_threads_input *in, struct map *serials)
{
	const struct profile *p = in->profile;
	struct profile *out = remap->to;
	bool all = in->mode == PROFILE_MERGE_SUM;
	struct map counts = {0};

	for (size_t i = 0; i < p->threads.count; i++) {
		struct profile_thread thread = moved(&p->threads.at[i], in);
		uint32_t *serial = map_reserve(serials, thread.serial);
		uint32_t input = p->inputs.count ? thread.input : 1;
		thread.name = remap_string(remap, p, in->table, thread.name);
		thread.input = all && input ? in->first_input + input : 0;
		uint32_t *known = all ? NULL : find_thread(t, &counts, thread.name);
		if (known && *known)
			join(&out->threads.at[*known - 1], &thread, in->mode);
		*serial = known && *known ? *known : push(out, &thread);
		if (known)
			*known = *serial;
	}
	map_free(&counts);
}

uint32_t merge_threads_find(struct map *serials, uint32_t serial)
{
	uint32_t *merged = map_reserve(serials, serial);

	if (!*merged)
		*merged = UINT32_MAX; /* what is reserved must be filled */
	return *merged == UINT32_MAX ? 0 : *merged;
}
