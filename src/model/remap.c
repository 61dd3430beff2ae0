/* remap.c -- the strings, modules, frames and stack nodes of one profile in the numbers of another.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/remap.h"

#include <string.h>

struct string_id remap_string(struct remap *r, const struct profile *from,
			      struct remap_table *table, struct string_id id)
{
	if (!id.v)
		return id;
	uint32_t *known = map_reserve(&table->strings, id.v);
	if (!*known)
		*known = profile_add_string(r->to, profile_string(from, id)).v + 1;
	return (struct string_id){*known - 1};
}

/* The number of a pair. */
static uint32_t number_pair(struct remap *r, struct map *m, uint32_t a, uint32_t b)
{
	uint32_t *number = map_reserve(m, (uint64_t)a << 32 | b);

	if (!*number)
		*number = ++r->numbers;
	return *number;
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Shorter ones are chosen by hand as a rule, and may be the same in all that somebody builds. */
#define TELLING_BYTES 8

/* A build-id tells what a file is wherever it lies: in a container, on another node, as a copy. */
static bool is_same_module(const struct profile_module *a, const struct profile_module *b)
{
	return (a->path.v == b->path.v || a->build_id_bytes >= TELLING_BYTES) &&
	       a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0;
}

static uint64_t hash_module(const struct profile_module *m)
{
	uint64_t hash = m->build_id_bytes >= TELLING_BYTES ? 0 : m->path.v;

	for (size_t i = 0; i < m->build_id_bytes; i++)
		hash = hash * UINT64_C(0x100000001b3) ^ m->build_id[i];
	return hash;
}

/* The module that is the same file in the other profile, wherever it was loaded. */
static uint32_t find_module(struct remap *r, const struct profile_module *wanted)
{
	for (uint64_t key = hash_module(wanted);; key++) {
		uint32_t *place = map_reserve(&r->modules, key);
		if (*place && is_same_module(&r->to->modules.at[*place], wanted))
			return *place;
		if (*place)
			continue;
		*place = (uint32_t)r->to->modules.count;
		*vec_push(&r->to->modules) = *wanted;
		return *place;
	}
}

/* A module without a path is the program: it gets one, since there may be several programs now. */
static uint32_t *add_modules(struct remap *r, const struct profile *from, struct remap_table *table)
{
	uint32_t *numbers = mem_new(from->modules.count, sizeof(*numbers));

	for (size_t i = 1; i < from->modules.count; i++) {
		struct profile_module m = from->modules.at[i];
		m.path = remap_string(r, from, table, m.path.v ? m.path : from->run.executable);
		numbers[i] = find_module(r, &m);
	}
	return numbers;
}

/* ---- frames ---------------------------------------------------------------------------------- */

#define NOBODY UINT32_MAX /* module 0 owns frames too: those of generated code */

/* The module that a frame was seen in, by frame: what is called the same in two programs is not the
 * same. A frame seen before ends the walk, what follows was claimed with it. */
static uint32_t *find_owners(const struct profile *from)
{
	uint32_t *owners = mem_new(from->frames.count, sizeof(*owners));

	for (size_t i = 0; i < from->frames.count; i++)
		owners[i] = NOBODY;
	for (size_t i = 1; i < from->nodes.count; i++) {
		const struct profile_node *n = &from->nodes.at[i];
		for (uint32_t f = n->frames; f && owners[f] == NOBODY; f = from->frames.at[f].next)
			owners[f] = n->module; /* 0 for a named one, whose name is all there is */
	}
	return owners;
}

static uint32_t find_frame(struct remap *r, const struct profile_frame *wanted, uint32_t module)
{
	uint32_t n = number_pair(r, &r->names, wanted->function.v, wanted->file.v);

	n = number_pair(r, &r->lines, n, wanted->line);
	n = number_pair(r, &r->owners, n, module);
	uint32_t *frame = map_reserve(&r->frames, (uint64_t)n << 32 | wanted->next);
	if (!*frame) {
		*frame = (uint32_t)r->to->frames.count;
		*vec_push(&r->to->frames) = *wanted;
	}
	return *frame;
}

static uint32_t *add_frames(struct remap *r, const struct profile *from, struct remap_table *table,
			    const uint32_t *modules)
{
	uint32_t *numbers = mem_new(from->frames.count, sizeof(*numbers));
	uint32_t *owners = find_owners(from);

	for (size_t i = 1; i < from->frames.count; i++) {
		struct profile_frame f = from->frames.at[i];
		f.function = remap_string(r, from, table, f.function);
		f.file = remap_string(r, from, table, f.file);
		f.next = numbers[f.next];
		numbers[i] = find_frame(r, &f, owners[i] == NOBODY ? 0 : modules[owners[i]]);
	}
	free(owners);
	return numbers;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* What tells a node from its siblings. Where the build-id is known the address says it all; names
 * may have been looked up in one profile and not in the other. A named one has no address. */
static uint32_t number_place(struct remap *r, const struct profile_node *n)
{
	const struct profile_module *m = &r->to->modules.at[n->module];
	uint32_t *address = map_reserve(&r->offsets, n->pc - m->bias);

	if (!*address)
		*address = ++r->numbers;
	uint32_t place = number_pair(r, &r->places, *address,
				     n->module << 2 | (uint32_t)n->exact << 1 | n->cut);
	if (n->named)
		place = number_pair(r, &r->kinds, place, n->named);
	return m->build_id_bytes ? place : number_pair(r, &r->symbols, place, n->frames + 1);
}

static uint32_t find_node(struct remap *r, const struct profile_node *wanted)
{
	uint32_t place = number_place(r, wanted);
	uint32_t *node = map_reserve(&r->nodes, (uint64_t)wanted->parent << 32 | place);

	if (!*node) {
		*node = (uint32_t)r->to->nodes.count;
		*vec_push(&r->to->nodes) = *wanted;
	} else if (!r->to->nodes.at[*node].frames) {
		r->to->nodes.at[*node].frames = wanted->frames;
	}
	return *node;
}

void remap_add(struct remap *r, const struct profile *from, struct remap_table *table)
{
	uint32_t *modules = table->modules = add_modules(r, from, table);
	uint32_t *frames = add_frames(r, from, table, modules);

	table->nodes = mem_new(from->nodes.count, sizeof(*table->nodes));
	for (size_t i = 1; i < from->nodes.count; i++) {
		struct profile_node n = from->nodes.at[i];
		uint64_t bias = from->modules.at[n.module].bias;
		n.parent = table->nodes[n.parent];
		n.module = modules[n.module];
		n.frames = frames[n.frames];
		n.pc = n.pc - bias + r->to->modules.at[n.module].bias;
		table->nodes[i] = find_node(r, &n);
	}
	free(frames);
}

void remap_table_fini(struct remap_table *table)
{
	map_free(&table->strings);
	free(table->nodes);
	free(table->modules);
}

void remap_fini(struct remap *r)
{
	struct map *const maps[] = {&r->modules, &r->names,  &r->lines,	  &r->frames, &r->owners,
				    &r->offsets, &r->places, &r->symbols, &r->kinds,  &r->nodes};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_free(maps[i]);
}
