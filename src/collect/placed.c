/* placed.c -- the live blocks in order of address. Runs: in a copy of the collector, when somebody
 * wants to know what lies where.
 * SPDX-License-Identifier: Apache-2.0 */
#include "collect/placed.h"

#include <string.h>

#include "base/pages.h"

/* Blocks begin at multiples of 8 at least; what little is left below that is settled last. */
#define LOW_BITS    3u
#define DIGIT_BITS  11u
#define DIGITS	    (1u << DIGIT_BITS)
#define DIGIT_COUNT 6u /* 3 + 66 bits */

void placed_fini(struct placed_list *l)
{
	vec_free(&l->blocks);
}

struct building {
	struct placed_list *list;
	const struct account *account;
};

static void add_block(void *context, struct live_block *block)
{
	const struct building *b = context;
	uint64_t size = block->size;

	if (account_is_sample(block))
		size = b->account->sampling->samples.at[(uint32_t)size].size;
	*vec_push(&b->list->blocks) = (struct placed){block->ptr, size, block->site};
}

void placed_build(struct placed_list *l, struct account *a)
{
	struct building b = {l, a};
	size_t most = (size_t)a->peak.live_blocks;

	l->blocks.count = 0;
	vec_reserve(&l->blocks, most);
	pages_advise(l->blocks.at, most * sizeof(l->blocks.at[0]));
	live_visit(&a->live, add_block, &b);
	for (uint32_t slot = 0; slot < a->slot_count; slot++)
		if (a->actors[slot].resizing.ptr)
			add_block(&b, &a->actors[slot].resizing);
	placed_sort(l);
}

static uint32_t get_digit(uint64_t ptr, unsigned digit)
{
	uint64_t key = ptr >> LOW_BITS;

	return (uint32_t)(key >> (digit * DIGIT_BITS)) & (DIGITS - 1);
}

/* How many have which digit, of all digits in one pass. */
static void count_digits(const struct placed_list *l, uint32_t counts[DIGIT_COUNT][DIGITS])
{
	memset(counts, 0, DIGIT_COUNT * sizeof(counts[0]));
	for (size_t i = 0; i < l->blocks.count; i++)
		for (unsigned digit = 0; digit < DIGIT_COUNT; digit++)
			counts[digit][get_digit(l->blocks.at[i].ptr, digit)]++;
}

static void deal(const struct placed *from, struct placed *to, size_t count, uint32_t *counts,
		 unsigned digit)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < DIGITS; i++) {
		uint32_t here = counts[i];

		counts[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[counts[get_digit(from[i].ptr, digit)]++] = from[i];
}

/* What has the same digits is next to each other by now, and there is hardly any. */
static void settle_low_bits(struct placed_list *l)
{
	struct placed *at = l->blocks.at;

	for (size_t i = 1; i < l->blocks.count; i++) {
		const struct placed moved = at[i];
		size_t to = i;

		for (; to && at[to - 1].ptr > moved.ptr; to--)
			at[to] = at[to - 1];
		at[to] = moved;
	}
}

/* A pass for each digit in which blocks differ, the lowest first: heaps lie close together, so of
 * six there are three or four. */
void placed_sort(struct placed_list *l)
{
	size_t count = l->blocks.count;
	size_t bytes = count * sizeof(struct placed);
	uint32_t(*counts)[DIGITS] = mem_new(DIGIT_COUNT, sizeof(*counts));
	struct placed *other = count ? pages_new(bytes) : NULL;
	struct placed *from = l->blocks.at, *to = other;

	count_digits(l, counts);
	for (unsigned digit = 0; count && digit < DIGIT_COUNT; digit++) {
		if (counts[digit][get_digit(from[0].ptr, digit)] == count)
			continue;
		deal(from, to, count, counts[digit], digit);
		struct placed *last = from;
		from = to;
		to = last;
	}
	if (count && from == other)
		memcpy(l->blocks.at, other, bytes);
	pages_free(other, bytes);
	free(counts);
	settle_low_bits(l);
}
