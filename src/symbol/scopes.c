/* scopes.c -- the full names of C++ functions for which DWARF has no linkage name.
 * Runs: offline; called by units.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/scopes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "base/vec.h"
#include "symbol/dies.h"

#define DEPTH_MAX 64 /* as in units.c: bounds the work that a hostile file can cause */
#define HOPS_MAX \
	16 /* from an inlined call to its origin, its declaration, ...: three in real files */

struct scope {
	Dwarf_Die die;
	uint32_t parent; /* index into the unit's list; 0 the unit itself */
};

struct unit_scopes {
	size_t count;
	struct scope at[]; /* in the order of their addresses, since they are found depth first */
};

struct walk {
	VEC(struct scope) list;
	Dwarf_Off last;
};

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

static void read_below(struct walk *w, Dwarf_Die *parent, uint32_t parent_index, uint32_t depth)
{
	Dwarf_Die child;
	int more = depth < DEPTH_MAX && dies_first(parent, &child, &w->last);

	for (; more; more = dies_next(&child, &w->last)) {
		if (!is_scope(dwarf_tag(&child)))
			continue;
		*vec_push(&w->list) = (struct scope){child, parent_index};
		read_below(w, &child, (uint32_t)w->list.count - 1, depth + 1);
	}
}

static struct unit_scopes *read_unit(Dwarf_Die *root)
{
	struct walk w = {0};
	struct unit_scopes *unit;

	*vec_push(&w.list) = (struct scope){*root, 0};
	read_below(&w, root, 0, 0);
	unit = mem_new(sizeof(*unit) + w.list.count * sizeof(*unit->at), 1);
	unit->count = w.list.count;
	memcpy(unit->at, w.list.at, w.list.count * sizeof(*unit->at));
	vec_free(&w.list);
	return unit;
}

static const struct unit_scopes *get_unit(struct scopes *s, Dwarf_Die *die)
{
	void **place = notes_get(&s->units, die->cu);
	Dwarf_Die root;

	if (!*place && dwarf_diecu(die, &root, NULL, NULL))
		*place = read_unit(&root);
	return *place;
}

static int by_address(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)((const struct scope *)left)->die.addr;
	uintptr_t b = (uintptr_t)((const struct scope *)right)->die.addr;

	return (a > b) - (a < b);
}

static const struct scope *find_scope(const struct unit_scopes *unit, Dwarf_Die *die)
{
	struct scope key = {.die = *die};

	return bsearch(&key, unit->at, unit->count, sizeof(*unit->at), by_address);
}

/* From an inlined call or a definition to the entry that stands in its namespace or class. */
static Dwarf_Die find_declaration(Dwarf_Die *function)
{
	Dwarf_Die die = *function;
	Dwarf_Attribute link;

	for (int hop = 0; hop < HOPS_MAX; hop++) {
		Dwarf_Die next;

		if (!dwarf_attr(&die, DW_AT_abstract_origin, &link) &&
		    !dwarf_attr(&die, DW_AT_specification, &link))
			break;
		if (!dwarf_formref_die(&link, &next))
			break;
		die = next;
	}
	return die;
}

/* What a scope adds to the name; NULL for nothing. */
static const char *get_part(const struct scope *scope)
{
	Dwarf_Die die = scope->die;
	const char *name = dies_find_plain_name(&die);
	int tag = dwarf_tag(&die);

	if (name || tag == DW_TAG_lexical_block)
		return name;
	return tag == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed}";
}

static char *build_name(const struct unit_scopes *unit, const struct scope *scope, const char *own)
{
	char *name = mem_copy_string(own);

	for (size_t i = scope->parent; i; i = unit->at[i].parent) {
		const char *part = get_part(&unit->at[i]);
		char *longer = part ? mem_format("%s::%s", part, name) : mem_copy_string(name);

		free(name);
		name = longer;
	}
	return name;
}

static char *work_out(struct scopes *s, Dwarf_Die *function)
{
	Dwarf_Die declaration = find_declaration(function);
	const struct unit_scopes *unit = get_unit(s, &declaration);
	const struct scope *scope = unit ? find_scope(unit, &declaration) : NULL;
	const char *own = dies_find_plain_name(function);

	if (!own)
		return NULL;
	return scope ? build_name(unit, scope, own) : mem_copy_string(own);
}

const char *scopes_find_name(struct scopes *s, Dwarf_Die *function)
{
	void **place = notes_get(&s->names, function->addr);

	if (!*place)
		*place = work_out(s, function);
	return *place;
}

void scopes_fini(struct scopes *s)
{
	notes_free(&s->units);
	notes_free(&s->names);
}
