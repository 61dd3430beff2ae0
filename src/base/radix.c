/* radix.c -- sorts large arrays by a number that each element holds. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/radix.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define WIDE_BITS   11u /* the counts of one pass fit into the first cache */
#define NARROW_BITS 8u	/* of a digit where there are fewer elements than counts */
#define FEW	    24u /* elements: cheaper to move about than to count */

struct layout {
	size_t size_bytes;
	size_t offset;
	unsigned digit_bits;
};

static uint64_t get_key(const uint8_t *element, const struct layout *l)
{
	uint64_t key;

	memcpy(&key, element + l->offset, sizeof(key));
	return key;
}

static bool is_sorted(const uint8_t *at, size_t count, const struct layout *l)
{
	for (size_t i = 1; i < count; i++)
		if (get_key(at + (i - 1) * l->size_bytes, l) > get_key(at + i * l->size_bytes, l))
			return false;
	return true;
}

/* The bits in which keys differ. */
static uint64_t find_differing(const uint8_t *at, size_t count, const struct layout *l)
{
	uint64_t first = get_key(at, l), differing = 0;

	for (size_t i = 1; i < count; i++)
		differing |= get_key(at + i * l->size_bytes, l) ^ first;
	return differing;
}

static void distribute(uint8_t *to, const uint8_t *from, size_t count, const struct layout *l,
		       unsigned shift)
{
	size_t places[1u << WIDE_BITS];
	size_t place = 0, digits = (size_t)1 << l->digit_bits;

	memset(places, 0, digits * sizeof(*places));
	for (size_t i = 0; i < count; i++)
		places[get_key(from + i * l->size_bytes, l) >> shift & (digits - 1)]++;
	for (size_t digit = 0; digit < digits; digit++) {
		size_t here = places[digit];

		places[digit] = place;
		place += here;
	}
	for (size_t i = 0; i < count; i++) {
		const uint8_t *element = from + i * l->size_bytes;
		size_t digit = get_key(element, l) >> shift & (digits - 1);

		memcpy(to + places[digit]++ * l->size_bytes, element, l->size_bytes);
	}
}

/* By insertion; `hand` has room for one. */
static void sort_few(uint8_t *at, size_t count, const struct layout *l, uint8_t *hand)
{
	size_t size = l->size_bytes;

	for (size_t i = 1; i < count; i++) {
		uint64_t key = get_key(at + i * size, l);
		size_t to = i;

		while (to && get_key(at + (to - 1) * size, l) > key)
			to--;
		memcpy(hand, at + i * size, size);
		memmove(at + (to + 1) * size, at + to * size, (i - to) * size);
		memcpy(at + to * size, hand, size);
	}
}

/* Digit by digit from the lowest, to and fro between the array and `other`. */
static void sort_many(uint8_t *at, size_t count, const struct layout *l, uint8_t *other)
{
	uint8_t *from = at, *to = other;
	uint64_t differing = find_differing(at, count, l);

	for (unsigned shift = 0; shift < 64 && differing >> shift; shift += l->digit_bits) {
		if (!(differing >> shift & ((1u << l->digit_bits) - 1)))
			continue;
		distribute(to, from, count, l, shift);
		from = to;
		to = from == other ? at : other;
	}
	if (from == other)
		memcpy(at, other, count * l->size_bytes);
}

void radix_sort(void *at, size_t count, size_t size_bytes, size_t offset)
{
	const struct layout l = {size_bytes, offset, count >> WIDE_BITS ? WIDE_BITS : NARROW_BITS};

	if (is_sorted(at, count, &l))
		return;
	uint8_t *other = mem_resize(NULL, count, size_bytes);
	if (count <= FEW)
		sort_few(at, count, &l, other);
	else
		sort_many(at, count, &l, other);
	free(other);
}
