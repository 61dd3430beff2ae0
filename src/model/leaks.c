/* leaks.c -- the blocks that were not freed, by how they are still held and by site.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/leaks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *const names[PROFILE_LOST_CLASSES] = {
	[PROFILE_LOST_DEFINITE] = "definite",
	[PROFILE_LOST_INDIRECT] = "indirect",
	[PROFILE_LOST_INTERIOR] = "interior",
	[PROFILE_LOST_HELD] = "reachable",
};

const char *leaks_get_name(unsigned class)
{
	return names[class];
}

unsigned leaks_find_class(const char *name, size_t bytes)
{
	unsigned i = 0;

	while (i < PROFILE_LOST_CLASSES &&
	       (strlen(names[i]) != bytes || strncmp(names[i], name, bytes) != 0))
		i++;
	return i;
}

/* What holds most first; sites in their order, so that the same profile gives the same report. */
static int compare_rows(const void *left, const void *right)
{
	const struct leaks_row *a = left, *b = right;
	uint64_t x = a->amount.bytes + a->held.bytes, y = b->amount.bytes + b->held.bytes;

	if (a->lost->class != b->lost->class)
		return a->lost->class < b->lost->class ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	return (a->lost->site > b->lost->site) - (a->lost->site < b->lost->site);
}

/* Lost, or perhaps: what is reachable needs no excuse. */
static bool is_suspect(const struct profile_lost *row)
{
	return row->class != PROFILE_LOST_HELD;
}

static void add(struct amount *to, struct amount more)
{
	to->bytes += more.bytes;
	to->blocks += more.blocks;
}

/* ---- stacks that read the same --------------------------------------------------------------- */

/* Several places of one line, as of a loop that was unrolled, are one for people. */
struct reading {
	struct leaks_row row;
	uint64_t hash; /* of the frames as they are shown */
};

static uint64_t hash_stack(const struct model *m, uint32_t site, struct model_stack *stack)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	model_get_stack(m, site, stack);
	for (size_t i = 0; i < stack->frames.count; i++)
		hash = (hash ^ stack->frames.at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static int compare_readings(const void *left, const void *right)
{
	const struct reading *a = left, *b = right;
	const struct profile_lost *x = a->row.lost, *y = b->row.lost;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

static bool read_the_same(const struct model *m, const struct reading *a, const struct reading *b)
{
	struct model_stack one = {0}, other = {0};

	if (a->row.lost->class != b->row.lost->class || a->hash != b->hash)
		return false;
	model_get_stack(m, a->row.lost->site, &one);
	model_get_stack(m, b->row.lost->site, &other);
	bool same = one.frames.count == other.frames.count &&
		    memcmp(one.frames.at, other.frames.at,
			   one.frames.count * sizeof(*one.frames.at)) == 0;
	vec_free(&one.frames);
	vec_free(&other.frames);
	return same;
}

void leaks_join(struct leaks *l)
{
	struct model_stack stack = {0};
	size_t count = l->rows.count;
	struct reading *list = mem_new(count, sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = (struct reading){l->rows.at[i],
					   hash_stack(l->model, l->rows.at[i].lost->site, &stack)};
	vec_free(&stack.frames);
	qsort(list, count, sizeof(*list), compare_readings);
	l->rows.count = 0;
	for (size_t i = 0, first = 0; i < count; i++) {
		if (i == 0 || !read_the_same(l->model, &list[first], &list[i])) {
			*vec_push(&l->rows) = list[i].row;
			first = i;
			continue;
		}
		add(&l->rows.at[l->rows.count - 1].amount, list[i].row.amount);
		add(&l->rows.at[l->rows.count - 1].held, list[i].row.held);
	}
	free(list);
	if (l->rows.count)
		qsort(l->rows.at, l->rows.count, sizeof(l->rows.at[0]), compare_rows);
}

void leaks_build(struct leaks *l, const struct model *m, const bool *suppressed, unsigned wanted)
{
	const struct profile *p = model_get_profile(m);

	*l = (struct leaks){.model = m};
	for (size_t i = 0; i < p->lost.count; i++) {
		const struct profile_lost *row = &p->lost.at[i];
		struct amount amount = {.bytes = row->bytes, .blocks = row->blocks};

		if (suppressed && suppressed[row->site] && is_suspect(row)) {
			add(&l->suppressed, amount);
			continue;
		}
		add(&l->classes[row->class], amount);
		if (wanted >> row->class & 1)
			*vec_push(&l->rows) = (struct leaks_row){
				.lost = row,
				.amount = amount,
				.held = {.bytes = row->held_bytes, .blocks = row->held_blocks},
			};
	}
	if (l->rows.count)
		qsort(l->rows.at, l->rows.count, sizeof(l->rows.at[0]), compare_rows);
}

struct amount leaks_get_lost(const struct leaks *l)
{
	struct amount sum = l->classes[PROFILE_LOST_DEFINITE];

	add(&sum, l->classes[PROFILE_LOST_INDIRECT]);
	return sum;
}

void leaks_free(struct leaks *l)
{
	vec_free(&l->rows);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *name_variable(const struct profile *p, const struct profile_link *link)
{
	const char *name = profile_string(p, link->name);

	/* A path: the variable has no name that is known. */
	if (!*name || *name == '/' || *name == '[')
		return mem_format("a variable at 0x%" PRIx64 " of %s", link->address,
				  *name ? base_name(name) : "an unknown file");
	return mem_format("the variable %s", name);
}

char *leaks_name_root(const struct profile *p, const struct profile_link *link)
{
	switch (link->kind) {
	case PROFILE_LINK_GLOBAL:
		return name_variable(p, link);
	case PROFILE_LINK_STACK:
		return mem_format("the stack of thread %" PRIu32, link->thread);
	case PROFILE_LINK_LOCAL:
		/* Both lie close to the thread pointer, and nothing tells where one ends. */
		return link->thread
			       ? mem_format("thread-local memory or the outermost frames of thread "
					    "%" PRIu32,
					    link->thread)
			       : mem_copy_string("thread-local memory of a thread that ended");
	case PROFILE_LINK_REGISTER:
		return mem_format("a register of thread %" PRIu32, link->thread);
	case PROFILE_LINK_MAPPING:
		return mem_format("mapped memory at 0x%" PRIx64, link->address);
	case PROFILE_LINK_HEAP:
		return mem_format("a block that was not recorded, at 0x%" PRIx64, link->address);
	case PROFILE_LINK_CUT:
		return mem_format("%" PRIu64 " more blocks", link->offset);
	default:
		return NULL;
	}
}
