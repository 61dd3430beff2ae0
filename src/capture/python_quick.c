/* python_quick.c -- stacks of Python that have been met before, found by comparing alone.
 * Runs: any thread of the target, inside malloc. Called by python.c and pymalloc.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/python_quick.h"

#include "capture/modules.h"

/* How to know what get_current returns without calling it. */
static void find_current(struct python_quick *q)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)q->get_current; /* NOLINT: a function */
	bool is_of_thread;

	if (!code || !arch_find_returned(code, &q->current_at, &is_of_thread))
		q->current_at = 0;
	else
		q->current_mask = is_of_thread ? UINT64_MAX : 0;
}

void python_quick_init(struct python_quick *q, const struct python_interpreter *i, uint32_t depth)
{
	const struct python_offsets *o = i->o;

	q->generation = 0;
	q->get_current = i->get_current;
	/* Where an instruction is a number, it does not tell its code object. */
	if (o->instruction != PYTHON_INSTRUCTION_AT)
		q->get_current = NULL;
	find_current(q);
	q->thread_id = o->thread_id;
	q->thread_cframe = o->thread_cframe;
	q->thread_frame = o->thread_frame;
	q->cframe_frame = o->cframe_frame;
	q->frame_instruction = o->frame_instruction;
	q->frame_previous = o->frame_previous;
	q->frame_code = o->frame_code;
	q->frame_owner = o->frame_owner;
	q->frame_bytes = o->frame_bytes;
	q->shim_owner = o->activation >= PYTHON_ACTIVATION_SHIM ? PYTHON_OWNER_SHIM : UINT32_MAX;
	if (depth < PYTHON_LEAF_PLACES)
		depth = PYTHON_LEAF_PLACES; /* none is quick */
	q->deepest = q->memo.links + (depth - PYTHON_LEAF_PLACES) - 1;
	q->epoch = 0;
	python_known_forget(&q->known);
}

/* ---- after a walk ---------------------------------------------------------------------------- */

static void begin_epoch(struct python_quick *q, uint32_t generation)
{
	if (q->epoch && q->epoch_generation == generation && q->epoch_ended == q->memo.codes_ended)
		return;
	if (q->epoch == UINT32_MAX) { /* what is left of the first ones is not of them again */
		q->epoch = 0;
		python_known_forget(&q->known);
	}
	q->epoch++;
	q->epoch_generation = generation;
	q->epoch_ended = q->memo.codes_ended;
}

void python_quick_allow(struct python_quick *q, uint64_t state, uint32_t generation)
{
	begin_epoch(q, generation);
	if (!q->get_current || (uint64_t)(uintptr_t)q->get_current() != state)
		return;
	q->state = state;
	q->owner = python_reads_word(state + q->thread_id);
	q->generation = generation;
}

/* ---- frames of Python ------------------------------------------------------------------------ */

static bool is_shim(const struct python_quick *q, uint64_t at)
{
	return python_reads_byte(at + q->frame_owner) >= q->shim_owner;
}

/* Gives frames from `f` to `leaf` the nodes that they are known to have. False: one is not known;
 * the stack that is known then is of those outside of it. */
static bool follow(struct python_quick *q, struct python_memo_link *f,
		   const struct python_memo_link *leaf)
{
	for (; f <= leaf; f++) {
		struct python_memo_frame *found = &q->memo.frames[f - q->memo.links];

		if (f->is_shim) {
			if (!is_shim(q, f->at))
				break;
			/* It can be another one than the memo's. */
			f->instruction = python_reads_word(f->at + q->frame_instruction);
			f->node = f[-1].node;
			f->is_stale = true;
			continue;
		}
		*found = (struct python_memo_frame){
			.at = f->at,
			.code = python_reads_word(f->at + q->frame_code),
			.instruction = python_reads_word(f->at + q->frame_instruction),
			.previous = python_reads_word(f->at + q->frame_previous),
			.activation = f->activation};
		f->is_stale = true;
		if (!python_memo_follow(&q->memo, f[-1].node, found, f->at + q->frame_owner))
			break;
		/* One by one: what has just been written so is not read back in larger pieces. */
		f->instruction = found->instruction;
		f->node = found->node;
		f->early = found->early;
		f->is_stale = false;
	}
	if (likely(f > leaf))
		return true;
	q->memo.leaf = f - 1;
	return false;
}

bool python_quick_settle(struct python_quick *q, struct python_memo_link *leaf)
{
	const uint64_t instruction = q->frame_instruction, previous = q->frame_previous;
	struct python_memo_link *changed = leaf, *f = leaf;

	q->memo.leaf = leaf - 1; /* unless the end is reached */
	for (; f > q->memo.links && python_reads_word(f->at + previous) == f[-1].at; f--)
		if (python_reads_word(f[-1].at + instruction) != f[-1].instruction)
			changed = f - 1;
	if (f != q->memo.links || python_reads_word(f->at + previous))
		return false;
	/* What is known of the innermost one is below others. */
	*leaf = (struct python_memo_link){.at = leaf->at,
					  .activation = leaf->activation,
					  .is_shim = leaf->is_shim,
					  .is_stale = true};
	return follow(q, changed, leaf - 1);
}

#define PLACES_MOST 8 /* so far out a place is looked for, */
#define PLACES_NEW  8 /* for so many frames, one inside of the other */

/* The innermost one with this address among those from `last` inwards; NULL: there is none. */
static struct python_memo_link *find_link(const struct python_memo *m,
					  const struct python_memo_link *last, uint64_t at)
{
	struct python_memo_link *f = m->leaf;

	while (f >= last && f->at != at)
		f--;
	return f >= last ? f : NULL;
}

/* A frame that has been called by that at `outer`, and of which nothing else is known. */
static struct python_memo_link *enter(const struct python_quick *q, struct python_memo_link *outer,
				      uint64_t at)
{
	bool shim = is_shim(q, at);

	outer[1] = (struct python_memo_link){.at = at,
					     .activation = shim ? at : outer->activation,
					     .is_shim = shim,
					     .is_stale = true};
	return outer + 1;
}

struct python_memo_link *python_quick_find_place(struct python_quick *q, uint64_t at)
{
	struct python_memo *m = &q->memo;
	const struct python_memo_link *last =
		m->leaf - m->links > PLACES_MOST ? m->leaf - PLACES_MOST : m->links;
	struct python_memo_link *f;
	uint64_t fresh[PLACES_NEW];
	uint32_t count = 0;

	while (!(f = find_link(m, last, at))) {
		if (count == PLACES_NEW || !at || (at & 7) ||
		    !python_reads_has(&q->reads, at, q->frame_bytes))
			return NULL;
		fresh[count++] = at;
		at = python_reads_word(at + q->frame_previous);
	}
	if (!count)
		return f;
	if (f + count >= m->links + m->room || is_shim(q, fresh[0]))
		return NULL;
	m->leaf = f; /* those inside of it are gone */
	while (count)
		f = enter(q, f, fresh[--count]);
	return f;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

uint32_t python_quick_take_odd(struct python_memo_link *f, const struct python_known *e)
{
	f->early = python_known_early(e);
	/* As python_memo_follow leaves it, where it is early. */
	f->is_stale |= f->early || f->instruction != e->instruction;
	f->instruction = f->early ? ~e->instruction : e->instruction;
	f->node = e->python;
	return e->node;
}

uint32_t python_quick_find_parts(struct python_quick *q, struct python_memo_link *f,
				 const struct python_known_key *k)
{
	const struct python_known *known = python_known_find_far(&q->known, k, q->left);

	if (known)
		return python_quick_take(f, known);
	const struct walk_start start = {.pc = k->pc, .sp = k->sp, .fp = k->fp};
	const uint64_t goal = k->distance ? k->sp + k->distance : 0;

	if (f->instruction != k->instruction && !follow(q, f, f))
		return 0;
	if (!f->node)
		return 0;
	const struct python_leaf *s = python_leaf_find(&q->leaves, &start, goal, k->high);
	if (!s)
		return 0;
	uint32_t node = python_leaf_find_node(&q->leaves, s, f->node);
	if (node && !f->is_shim) /* which is no frame that goes on */
		python_known_note(&q->known, k, f, s, node);
	return node;
}

uint32_t python_quick_try(struct thread *t, const struct walk_start *start)
{
	return python_quick_try_here(t, start);
}
