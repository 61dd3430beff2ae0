/* lost_look.c -- from words of memory to pointers between blocks.
 * Runs: in the collector process, one thread; the target goes on meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/lost_look.h"

#include <stdlib.h>
#include <sys/uio.h>

#define PEEKS_MOST    200000u /* half a microsecond each */
#define COOKIE	      8u      /* before the elements of an array of objects */
#define STRING_HEAD   24u     /* length, capacity and users, before the characters */
#define PULSE_WORDS   262144u
#define PULSE_PEEKS   4096u
#define WORDS_AT_ONCE 1024u
/* Pointers to one block that are kept as roots: one to its start, and some to its inside, of which
 * one may be of the customary kind. A target could have many words with the same value. */
#define ROOTS_MOST 8u
#define HAS_START  0x80u

/* ---- linking --------------------------------------------------------------------------------- */

/* Goes through blocks and spans along with the words, which are all in order of address. */
struct linking {
	struct look *look;
	size_t block; /* the first that does not end before the word */
	size_t span;
	uint64_t words;
	/* Some words that are looked up together. */
	size_t count;
	uint64_t addresses[WORDS_AT_ONCE];
	uint64_t values[WORDS_AT_ONCE];
	uint32_t targets[WORDS_AT_ONCE];
};

static void close_blocks(struct linking *k, size_t until)
{
	struct reach *r = &k->look->reach;

	while (r->firsts.count <= until)
		*vec_push(&r->firsts) = r->targets.count;
}

/* The whole word must be the block's. */
static bool is_in_block(struct linking *k, uint64_t address)
{
	const struct reach *r = &k->look->reach;

	while (k->block < r->blocks.count &&
	       r->blocks.at[k->block].start + r->blocks.at[k->block].size < address + 8)
		k->block++;
	return k->block < r->blocks.count && address >= r->blocks.at[k->block].start;
}

static const struct root_span *find_span(struct linking *k, uint64_t address)
{
	const struct roots *roots = &k->look->roots;

	while (k->span < k->look->registers && roots->spans.at[k->span].end <= address)
		k->span++;
	if (k->span == k->look->registers || roots->spans.at[k->span].start > address)
		return NULL;
	return &roots->spans.at[k->span];
}

static void keep_root(struct look *l, struct reach_root root)
{
	uint8_t *count = &l->root_counts[root.target & ~REACH_INSIDE];

	if (*count & HAS_START || (root.target & REACH_INSIDE && *count >= ROOTS_MOST))
		return;
	if (root.target & REACH_INSIDE)
		++*count;
	else
		*count |= HAS_START;
	*vec_push(&l->reach.roots) = root;
}

static uint32_t get_inside(const struct look *l, uint64_t value, uint32_t target)
{
	uint64_t inside = value - l->reach.blocks.at[target & ~REACH_INSIDE].start;

	return inside < REACH_FAR ? (uint32_t)inside : REACH_FAR;
}

static void add_root(struct linking *k, uint64_t address, uint64_t value, uint32_t target)
{
	struct look *l = k->look;
	const struct root_span *span = find_span(k, address);
	const struct reach_block *block = &l->reach.blocks.at[target & ~REACH_INSIDE];
	uint64_t offset = value - block->start;

	if (!span || (span->kind == ROOT_HEAP && !l->has_strangers))
		return;
	if (offset && roots_is_malloc_own(&l->roots, span, offset, block->size))
		return;
	if (roots_is_table(span, address, offset))
		target &= ~REACH_INSIDE;
	keep_root(l, (struct reach_root){.address = address,
					 .target = target,
					 .span = (uint32_t)k->span,
					 .inside = get_inside(l, value, target)});
}

/* A block's pointer to itself says nothing. */
static void link_word(struct linking *k, uint64_t address, uint64_t value, uint32_t target)
{
	struct look *l = k->look;

	if (target == REACH_NONE)
		return;
	if (!is_in_block(k, address)) {
		add_root(k, address, value, target);
		return;
	}
	if ((target & ~REACH_INSIDE) == k->block)
		return;
	close_blocks(k, k->block);
	*vec_push(&l->reach.targets) = target;
	*vec_push(&l->reach.insides) = target & REACH_INSIDE ? get_inside(l, value, target) : 0;
}

static void link_words(struct linking *k)
{
	reach_find_many(&k->look->reach, k->values, k->targets, k->count);
	for (size_t i = 0; i < k->count; i++)
		link_word(k, k->addresses[i], k->values[i], k->targets[i]);
	k->count = 0;
}

static bool take_word(void *context, uint64_t address, uint64_t value)
{
	struct linking *k = context;

	k->addresses[k->count] = address;
	k->values[k->count++] = value;
	if (k->count == WORDS_AT_ONCE)
		link_words(k);
	if (++k->words % PULSE_WORDS == 0)
		k->look->reach.pulse(k->look->reach.context);
	return true;
}

/* The registers of a thread are a span of their own, behind those of memory. */
static void link_registers(struct look *l)
{
	const struct halt *h = &l->collector->lost.halt;

	for (size_t i = 0; l->halted && i < h->threads.count; i++) {
		const struct halt_thread *t = &h->threads.at[i];
		uint32_t stack = reach_find(&l->reach, t->sp);
		uint32_t span = (uint32_t)l->roots.spans.count;

		*vec_push(&l->roots.spans) =
			(struct root_span){.tid = t->tid, .kind = ROOT_REGISTER};
		for (uint32_t k = 0; k < t->word_count; k++) {
			uint32_t target = reach_find(&l->reach, t->words[k]);

			if (target != REACH_NONE)
				keep_root(l, (struct reach_root){
						     .address = k, .target = target, .span = span});
		}
		/* A stack that the program has made of a block: in use, whoever points to it. */
		if (stack != REACH_NONE)
			keep_root(l, (struct reach_root){.target = stack & ~REACH_INSIDE,
							 .span = span});
	}
}

void lost_look_link(struct look *l)
{
	struct linking *k = mem_new(1, sizeof(*k));
	const struct gather_range all = {0, UINT64_MAX};

	l->root_counts = mem_new(l->reach.blocks.count + 1, sizeof(*l->root_counts));
	l->registers = (uint32_t)l->roots.spans.count;
	k->look = l;
	gather_visit(&l->gather, &all, take_word, k);
	link_words(k);
	close_blocks(k, l->reach.blocks.count);
	free(k);
	link_registers(l);
	free(l->root_counts);
}

/* ---- single pointers ------------------------------------------------------------------------- */

struct seeking {
	const struct look *look;
	uint64_t start; /* of the block that is pointed to */
	uint64_t end;
	struct lost_place found;
	bool any;
	bool only_start; /* a pointer to the inside will not do */
};

static bool seek_word(void *context, uint64_t address, uint64_t value)
{
	struct seeking *s = context;

	if (value < s->start || value >= s->end)
		return true;
	if (s->only_start && value != s->start)
		return true;
	s->found = (struct lost_place){address, value - s->start};
	s->any = true;
	return false;
}

static struct gather_range get_range(const struct look *l, uint32_t holder)
{
	const struct reach *r = &l->reach;

	if (holder & REACH_ROOT) {
		uint64_t address = r->roots.at[holder & ~REACH_ROOT].address;

		return (struct gather_range){address, address + 8};
	}
	return (struct gather_range){r->blocks.at[holder].start,
				     r->blocks.at[holder].start + r->blocks.at[holder].size};
}

static void seek(struct seeking *s, uint32_t target, uint32_t holder)
{
	struct gather_range range = get_range(s->look, holder);
	const struct reach_block *block = &s->look->reach.blocks.at[target];

	s->start = block->start;
	s->end = s->start + (block->size ? block->size : 1);
	gather_visit(&s->look->gather, &range, seek_word, s);
}

static bool is_register(const struct look *l, uint32_t holder)
{
	return holder & REACH_ROOT && l->reach.roots.at[holder & ~REACH_ROOT].span >= l->registers;
}

struct lost_place lost_look_find(const struct look *l, uint32_t target, uint32_t holder)
{
	struct seeking s = {.look = l, .only_start = true};

	if (is_register(l, holder))
		return (struct lost_place){l->reach.roots.at[holder & ~REACH_ROOT].address, 0};
	seek(&s, target, holder);
	s.only_start = false;
	if (!s.any)
		seek(&s, target, holder);
	return s.found;
}

/* ---- pointers to the inside ------------------------------------------------------------------ */

static bool peek(const struct look *l, uint64_t address, uint64_t *words, size_t count)
{
	size_t bytes = count * sizeof(*words);
	struct iovec local = {.iov_base = words, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address,
			       .iov_len = bytes}; /* NOLINT */

	return process_vm_readv(l->collector->watch.pid, &local, 1, &remote, 1, 0) ==
	       (ssize_t)bytes;
}

static bool is_array(const struct look *l, const struct reach_block *block)
{
	uint64_t count;

	return block->size > COOKIE && peek(l, block->start, &count, 1) && count &&
	       count <= block->size && (block->size - COOKIE) % count == 0;
}

static bool is_string(const struct look *l, const struct reach_block *block)
{
	uint64_t head[3];

	return block->size > STRING_HEAD && peek(l, block->start, head, 3) && head[0] <= head[1] &&
	       head[1] == block->size - STRING_HEAD - 1;
}

/* Points to a table of functions: constant data of a file, whose first word is code. */
static bool is_methods(const struct look *l, uint64_t word)
{
	const struct regions *regions = &l->roots.regions;
	const struct region *table = word % 8 ? NULL : regions_find(regions, word);
	uint64_t first;

	if (!table || !table->inode || table->is_writable || !peek(l, word, &first, 1))
		return false;
	const struct region *code = regions_find(regions, first);
	return code && code->is_executable;
}

/* An object with several bases has a table for each: the pointer is to the part of one of them. */
static bool is_base(const struct look *l, const struct reach_block *block, uint64_t inside)
{
	uint64_t first, second;

	return inside % 8 == 0 && inside + 8 <= block->size && peek(l, block->start, &first, 1) &&
	       peek(l, block->start + inside, &second, 1) && first != second &&
	       is_methods(l, first) && is_methods(l, second);
}

static bool is_customary(const struct look *l, const struct reach_block *block, uint64_t inside)
{
	return (inside == COOKIE && is_array(l, block)) ||
	       (inside == STRING_HEAD && is_string(l, block)) || is_base(l, block, inside);
}

bool lost_look_accept(void *look, const struct reach_doubt *doubt)
{
	struct look *l = look;

	if (l->peeks++ >= PEEKS_MOST || is_register(l, doubt->holder))
		return false;
	if (l->peeks % PULSE_PEEKS == 0)
		l->reach.pulse(l->reach.context);
	return is_customary(l, &l->reach.blocks.at[doubt->target], doubt->inside);
}
