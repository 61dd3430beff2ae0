/* python_quick_fixture.h -- frames of Python on a stack, and what a walk would remember of them.
 * Runs: in the unit tests of python_quick.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_PYTHON_QUICK_FIXTURE_H
#define MIDDEN_TESTS_PYTHON_QUICK_FIXTURE_H

#include "fixture.h"

#include "capture/modules.h"
#include "capture/python_quick.h"

/* Frames as 3.11 has them, a thread state with the struct of its activation, which is on a stack
 * with the return addresses of two native frames between it and the hook's caller. */
#define DEPTH	   9u
#define ROOM	   10u
#define STACK	   64u /* words */
#define LOOP	   40u /* where the struct of the activation is */
#define PC	   0x1000u
#define CODE(i)	   (0x10000u + 0x1000u * (uint64_t)(i))
#define AT(i, n)   (CODE(i) + 184 + 2 * (uint64_t)(n))
#define GENERATION 7u

static const struct python_offsets *o;
static uint64_t frames[ROOM + 2][10], state[64], stack[STACK];
static struct python_interpreter interpreter;
static struct python_quick *quick;
static struct thread *thread;
static struct walk_start start;
static struct segment_node nodes[64]; /* one below the other */

static inline uint64_t address_of(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

static inline void *get_current(void)
{
	return state;
}

static inline void set_frame(uint32_t i, uint64_t code, uint64_t instruction)
{
	frames[i][o->frame_code / 8] = code;
	frames[i][o->frame_instruction / 8] = instruction;
	frames[i][o->frame_previous / 8] = i ? address_of(frames[i - 1]) : 0;
}

static inline void set_innermost(uint32_t i)
{
	stack[LOOP + o->cframe_frame / 8] = address_of(frames[i]);
}

/* What a walk that looked everything up would leave behind: frames `kept` to `innermost`, which
 * have the nodes 1 more than their number. */
static inline void remember(uint32_t kept, uint32_t innermost)
{
	struct python_memo *m = &quick->memo;
	struct python_memo_walk w = {.kept = kept, .fresh = innermost + 1 - kept};

	for (uint32_t i = innermost + 1; i-- > kept;)
		m->fresh[innermost - i] = (struct python_memo_frame){
			.at = address_of(frames[i]),
			.code = frames[i][o->frame_code / 8],
			.instruction = frames[i][o->frame_instruction / 8],
			.previous = frames[i][o->frame_previous / 8],
			.is_shown = true,
			.is_read = true};
	python_memo_commit(m, &w, nodes, innermost + 1);
}

/* The native end, as `count` frames show it, which leads to `node` below `outer`. */
static inline void remember_frames(struct memo_frame *native, uint32_t count, uint32_t outer,
				   uint32_t node)
{
	const struct walk_goal goal = {.address = address_of(&stack[LOOP]),
				       .reached = true,
				       .frames = native,
				       .count = count,
				       .generation = GENERATION};
	struct python_leaves *table = &quick->leaves;
	const struct python_leaf *s =
		python_leaf_find(table, &start, goal.address, address_of(&stack[STACK]));

	if (!s)
		s = python_leaf_note(table, &start, &goal);
	assert_non_null(s);
	python_leaf_note_node(table, s, outer, node);
}

/* The same as it is on the stack. */
static inline void remember_end(uint32_t outer, uint32_t node)
{
	struct memo_frame native[3] = {
		{.place = 5, .ra_at = address_of(&stack[12]), .ra_value = stack[12]},
		{.place = 6, .ra_at = address_of(&stack[20]), .ra_value = stack[20]},
		{.place = 7, .ra_at = address_of(&stack[50]), .ra_value = stack[50]}};

	remember_frames(native, 3, outer, node);
}

/* Where frame `i` leads to below `outer`, as it is now. */
static inline void remember_step(uint32_t i, uint32_t outer, uint32_t node)
{
	const struct python_memo_frame f = {.code = frames[i][o->frame_code / 8],
					    .instruction = frames[i][o->frame_instruction / 8]};

	*python_memo_steps(&quick->memo, outer, &f) =
		(struct python_memo_step){.code = f.code,
					  .instruction = f.instruction,
					  .ended = (uint32_t)quick->memo.codes_ended,
					  .outer = outer,
					  .node = node,
					  .is_shown = true};
}

static inline uint32_t find(void)
{
	return python_quick_find_here(quick, thread, &start);
}

static inline int set_up(void **unused)
{
	(void)unused;
	o = python_offsets_find(0x030b);
	interpreter = (struct python_interpreter){.o = o, .get_current = get_current};
	quick = aligned_alloc(64, (sizeof(*quick) + 63) / 64 * 64);
	memset(quick, 0, sizeof(*quick));
	thread = calloc(1, sizeof(*thread));
	thread->max_depth = 64;
	thread->stack.low = address_of(stack);
	thread->stack.high = address_of(&stack[STACK]);
	/* Of just the size, so that AddressSanitizer sees who goes beyond. */
	python_memo_init(&quick->memo, ROOM, malloc(python_memo_bytes(ROOM)));
	quick->memo.codes_ended = atomic_load(&python_memo_codes_ended);
	python_leaf_forget(&quick->leaves);
	python_quick_init(quick, &interpreter, thread->max_depth);
	quick->left = 100;
	atomic_store(&modules_generation, GENERATION);
	state[o->thread_id / 8] = 4711;
	state[o->thread_cframe / 8] = address_of(&stack[LOOP]);
	stack[12] = 0xaaaa;
	stack[20] = 0xbbbb;
	start = (struct walk_start){.pc = PC, .sp = address_of(&stack[4])};
	for (uint32_t i = 0; i < DEPTH; i++)
		set_frame(i, CODE(i), AT(i, 50));
	for (uint32_t i = 1; i < 64; i++)
		nodes[i].place = i;
	set_innermost(DEPTH - 1);
	remember(0, DEPTH - 1);
	remember_end(DEPTH, 33);
	python_quick_allow(quick, address_of(state), GENERATION);
	return 0;
}

static inline int tear_down(void **unused)
{
	(void)unused;
	free(quick->memo.frames);
	free(quick);
	free(thread);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
