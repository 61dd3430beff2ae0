/* walk_sink.c -- the frames of a stack that may be deeper than is kept: its leaf and root ends.
 * Runs: any thread of the target, inside malloc. Called by walk.c and walk_full.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/walk_sink.h"

#include "capture/rules.h"

void walk_sink_init(struct walk_sink *s, struct thread *t)
{
	*s = (struct walk_sink){.frames = t->frames};
	s->root_room = t->max_depth / 4;
	s->leaf_room = t->max_depth - s->root_room - 1;
}

/* The first leaf_room frames are kept in order; the others in a ring behind a gap of one, of
 * which the last root_room + 1 remain. */
void walk_sink_keep(struct walk_sink *s, uint32_t place)
{
	if (place & RULES_HIDDEN)
		return;
	s->frames[s->next++] = place;
	s->count++;
	if (s->next == s->leaf_room || s->next == s->leaf_room + s->root_room + 2)
		s->next = s->leaf_room + 1;
}

static void reverse(uint32_t *f, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t other = f[i];

		f[i] = f[n - 1 - i];
		f[n - 1 - i] = other;
	}
}

static void rotate(uint32_t *f, uint32_t n, uint32_t first)
{
	reverse(f, first);
	reverse(f + first, n - first);
	reverse(f, n);
}

/* Closes the gap, or puts the ring in order and the mark of the cut in place of its oldest
 * frame. */
uint32_t walk_sink_finish(struct walk_sink *s, struct segment_losses *losses)
{
	uint32_t *gap = s->frames + s->leaf_room;
	uint32_t ring = s->root_room + 1;
	uint32_t outer = s->count - s->leaf_room;

	if (s->count <= s->leaf_room)
		return s->count;
	if (outer > ring) {
		rotate(gap + 1, ring, outer % ring);
		gap[1] = SEGMENT_NODE_CUT;
		thread_count(&losses->truncated_stacks);
		outer = ring;
	}
	__builtin_memmove(gap, gap + 1, outer * sizeof(*gap));
	return s->leaf_room + outer;
}
