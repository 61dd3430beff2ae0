/* pathkey.c -- a number for each sequence of functions that the stacks of two profiles consist of.
 * Runs: offline; called by diff.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sequences are paths in one tree of functions, from the program's start on, and their numbers are
 * its nodes. The stacks of a profile are a tree already: each of its nodes is followed once. */
#include "model/pathkey.h"

#include <stdlib.h>

/* A path as far as it has been followed. */
struct progress {
	uint32_t path;
	uint32_t length; /* frames that count */
	uint64_t gaps;	 /* bit i: frames were left out behind the i-th that counts */
	bool known;
};

struct pathkey {
	const struct model *models[2];
	const struct match *match;
	enum pathkey_rule rule;
	struct map tree;	   /* parent << 32 | function -> node */
	uint32_t count;		   /* nodes given out; 0 is the root */
	struct progress *known[2]; /* by node of the profile */
	bool *shared[2];	   /* by number: the model has the function */
	struct model_stack stack, origins;
};

static void note_functions(struct pathkey *k, unsigned side)
{
	const uint32_t *numbers = k->match->numbers[side][MATCH_BARE];

	k->shared[side] = mem_new(k->match->count, sizeof(bool));
	for (size_t i = 0; i < model_get_frame_count(k->models[side]); i++)
		k->shared[side][numbers[i]] = true;
}

struct pathkey *pathkey_new(const struct model *const models[2], const struct match *match,
			    enum pathkey_rule rule)
{
	struct pathkey *k = mem_new(1, sizeof(*k));

	k->match = match;
	k->rule = rule;
	for (unsigned side = 0; side < 2; side++) {
		k->models[side] = models[side];
		k->known[side] =
			mem_new(model_get_profile(models[side])->nodes.count, sizeof(**k->known));
		if (rule == PATHKEY_SHARED)
			note_functions(k, side);
	}
	return k;
}

void pathkey_free(struct pathkey *k)
{
	if (!k)
		return;
	for (unsigned side = 0; side < 2; side++) {
		free(k->known[side]);
		free(k->shared[side]);
	}
	map_free(&k->tree);
	vec_free(&k->stack.frames);
	vec_free(&k->origins.frames);
	free(k);
}

static bool counts(const struct pathkey *k, unsigned side, uint32_t frame, uint32_t number)
{
	if (k->rule == PATHKEY_CALLS)
		return !model_get_frame(k->models[side], frame)->inlined;
	if (k->rule == PATHKEY_SHARED)
		return k->shared[!side][number];
	return true;
}

static enum match_level get_level(const struct pathkey *k)
{
	if (k->rule == PATHKEY_STRICT)
		return MATCH_STRICT;
	return k->rule == PATHKEY_LOOSE ? MATCH_LOOSE : MATCH_BARE;
}

/* Frames before the first that counts are the loader's and libc's: there is no gap. */
static void note_gap(struct progress *p)
{
	if (p->length)
		p->gaps |= UINT64_C(1) << p->length % 64;
}

static void extend(struct pathkey *k, unsigned side, struct progress *p, size_t position)
{
	enum match_level level = get_level(k);
	uint32_t frame = k->stack.frames.at[position];
	uint32_t number = k->match->numbers[side][level][frame];
	bool is_leaf = position == 0 && k->rule == PATHKEY_SHARED;

	if (!is_leaf && !counts(k, side, frame, number)) {
		note_gap(p);
		return;
	}
	uint32_t *child = map_reserve(&k->tree, (uint64_t)p->path << 32 | number);
	if (!*child)
		*child = ++k->count;
	p->path = *child;
	p->length++;
}

/* True if the frame is the innermost one of its node, the whole of which is on the stack. The leaf
 * is not: what was left out of it is not known here. */
static bool completes_node(const struct pathkey *k, size_t position)
{
	const uint32_t *origins = k->origins.frames.at;

	return position > 0 && origins[position - 1] != origins[position];
}

uint32_t pathkey_get(struct pathkey *k, unsigned side, uint32_t site, uint64_t *gaps)
{
	struct progress *known = k->known[side];
	struct progress p = {0};
	size_t position = 0;

	model_get_calls(k->models[side], site, &k->stack, &k->origins);
	const uint32_t *origins = k->origins.frames.at;
	size_t count = k->stack.frames.count;
	/* A stack that was cut for its depth shares nodes with others, but not their paths. */
	bool whole = count < MODEL_STACK_MAX;
	while (position < count &&
	       !(whole && completes_node(k, position) && known[origins[position]].known))
		position++;
	if (position < count)
		p = known[origins[position]];
	while (position-- > 0) {
		extend(k, side, &p, position);
		p.known = true;
		if (whole && completes_node(k, position))
			known[origins[position]] = p;
	}
	*gaps = p.gaps;
	return p.path;
}
