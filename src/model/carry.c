/* carry.c -- names that were looked up for an earlier profile of a recording, for a later one.
 * Runs: offline; called by the live view.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/carry.h"

#include <string.h>

static bool is_same_recording(const struct profile *a, const struct profile *b)
{
	return a->run.pid == b->run.pid && a->run.start_unix_ns == b->run.start_unix_ns;
}

/* A module may have been known to exist before its path was. */
static bool has_modules(const struct profile *to, const struct profile *from)
{
	if (to->modules.count < from->modules.count)
		return false;
	for (size_t i = 1; i < from->modules.count; i++) {
		const struct profile_module *a = &to->modules.at[i];
		const struct profile_module *b = &from->modules.at[i];

		if (a->bias != b->bias || a->map_start != b->map_start ||
		    strcmp(profile_string(to, a->path), profile_string(from, b->path)) != 0)
			return false;
	}
	return true;
}

static bool is_same_name(const struct profile *a, uint32_t i, const struct profile *b, uint32_t j)
{
	const struct profile_frame *x = &a->frames.at[i], *y = &b->frames.at[j];

	return x->line == y->line &&
	       strcmp(profile_string(a, x->function), profile_string(b, y->function)) == 0 &&
	       strcmp(profile_string(a, x->file), profile_string(b, y->file)) == 0;
}

static bool is_same_node(const struct profile *to, const struct profile *from, uint32_t i)
{
	const struct profile_node *a = &to->nodes.at[i], *b = &from->nodes.at[i];

	return a->pc == b->pc && a->parent == b->parent && a->module == b->module &&
	       a->exact == b->exact && a->cut == b->cut && a->named == b->named &&
	       (!a->named || is_same_name(to, a->frames, from, b->frames));
}

/* Appends the frames of `from`, in their order; returns what to add to their numbers. */
static uint32_t copy_frames(struct profile *to, const struct profile *from)
{
	uint32_t shift = (uint32_t)to->frames.count - 1;

	for (size_t i = 1; i < from->frames.count; i++) {
		struct profile_frame frame = from->frames.at[i];

		frame.function = profile_add_string(to, profile_string(from, frame.function));
		frame.file = profile_add_string(to, profile_string(from, frame.file));
		frame.next += frame.next ? shift : 0;
		*vec_push(&to->frames) = frame;
	}
	return shift;
}

uint32_t carry_names(struct profile *to, const struct profile *from)
{
	uint32_t count = 1;

	if (!from->resolved || !is_same_recording(to, from) || !has_modules(to, from))
		return 0;
	uint32_t shift = copy_frames(to, from);
	while (count < to->nodes.count && count < from->nodes.count &&
	       is_same_node(to, from, count)) {
		uint32_t frames = from->nodes.at[count].frames;

		to->nodes.at[count++].frames = frames ? frames + shift : 0;
	}
	return count;
}
