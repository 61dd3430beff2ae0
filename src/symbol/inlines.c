/* inlines.c -- the calls that were inlined into one function, by address.
 * Runs: offline; called by units.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/inlines.h"

#include <stdbool.h>

#include <dwarf.h>

#include "base/vec.h"
#include "symbol/dies.h"
#include "symbol/spans.h"

/* Blocks and inlined calls in each other; compilers stay far below, and a hostile file must not
 * overrun the stack. */
#define DEPTH_MAX 512

struct inlined {
	Dwarf_Die die;
	uint32_t outer; /* id of the inlined call around this one; 0 the function */
};

struct inlines {
	VEC(struct inlined) list; /* an id is an index plus one */
	struct spans spans;	  /* item: id */
};

struct walk {
	struct inlines *inlines;
	struct dies_target target;
	Dwarf_Off last;
};

static bool is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

static uint32_t add(struct walk *w, Dwarf_Die *die, uint32_t outer, uint32_t depth)
{
	struct inlines *i = w->inlines;

	*vec_push(&i->list) = (struct inlined){*die, outer};
	dies_add_spans(die, &w->target, (uint32_t)i->list.count, depth);
	return (uint32_t)i->list.count;
}

static void read_below(struct walk *w, Dwarf_Die *parent, uint32_t outer, uint32_t depth)
{
	Dwarf_Die child;
	int more = depth < DEPTH_MAX && dies_first(parent, &child, &w->last);

	for (; more; more = dies_next(&child, &w->last)) {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_inlined_subroutine)
			read_below(w, &child, add(w, &child, outer, depth), depth + 1);
		else if (is_block(tag))
			read_below(w, &child, outer, depth + 1);
	}
}

struct inlines *inlines_new(Dwarf_Die *function, const struct object *code)
{
	struct inlines *i = mem_new(1, sizeof(*i));
	struct walk w = {.inlines = i, .target = {&i->spans, code}};

	read_below(&w, function, 0, 0);
	spans_flatten(&i->spans);
	return i;
}

void inlines_free(struct inlines *i)
{
	if (!i)
		return;
	vec_free(&i->list);
	spans_free(&i->spans);
	free(i);
}

static Dwarf_Die *get_die(struct inlines *i, uint32_t id)
{
	return id ? &i->list.at[id - 1].die : NULL;
}

Dwarf_Die *inlines_find(struct inlines *i, uint64_t address, uint32_t *id)
{
	const struct span *span = spans_find(&i->spans, address);

	*id = span ? span->item : 0;
	return get_die(i, *id);
}

Dwarf_Die *inlines_find_outer(struct inlines *i, uint32_t *id)
{
	*id = i->list.at[*id - 1].outer;
	return get_die(i, *id);
}
