/* live_tags.h -- the head of a group in the table of live blocks: a byte for each place. Runs:
 * in the collector process, one thread, for every event.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heads are read and written in words of 8 bytes. A block is often freed right after it was made:
 * had its tag been stored as one byte, the words around it could not be read until that store is
 * out of the pipeline. */
#ifndef MIDDEN_COLLECT_LIVE_TAGS_H
#define MIDDEN_COLLECT_LIVE_TAGS_H

#include <stdint.h>

#define LIVE_GROUP_BLOCKS  15u
#define LIVE_PASSED_STICKS 255u
#define LIVE_PASSED_SHIFT  56u

/* Place i has byte i % 8 of words[i / 8], from the low end; 0: empty. The last byte counts the
 * blocks that were on their way past here when stored; it sticks at 255. */
struct live_head {
	uint64_t words[2];
};

/* ---- the places with a tag, as a mask -------------------------------------------------------- */

#if defined(__SSE2__)
#include <emmintrin.h>

#define LIVE_PLACE_BITS 1u /* bits of the mask per place */
#define LIVE_ALL_PLACES UINT64_C(0x7fff)

static inline uint64_t live_match(const struct live_head *head, uint8_t tag)
{
	uint64_t tags = tag * UINT64_C(0x0101010101010101);
	__m128i all = _mm_set1_epi64x((long long)tags);
	__m128i low = _mm_loadl_epi64((const __m128i *)&head->words[0]);
	__m128i high = _mm_loadl_epi64((const __m128i *)&head->words[1]);
	__m128i equal = _mm_cmpeq_epi8(_mm_unpacklo_epi64(low, high), all);

	return (uint64_t)_mm_movemask_epi8(equal) & LIVE_ALL_PLACES;
}

#elif defined(__ARM_NEON) && defined(__AARCH64EL__)
#include <arm_neon.h>

#define LIVE_PLACE_BITS 4u
#define LIVE_ALL_PLACES UINT64_C(0x0111111111111111)

static inline uint64_t live_match(const struct live_head *head, uint8_t tag)
{
	uint8x16_t tags = vreinterpretq_u8_u64(
		vcombine_u64(vld1_u64(&head->words[0]), vld1_u64(&head->words[1])));
	uint16x8_t equal = vreinterpretq_u16_u8(vceqq_u8(tags, vdupq_n_u8(tag)));
	/* Half of each byte: 64 bits for the 16 of them. */
	uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(equal, 4)), 0);

	return mask & LIVE_ALL_PLACES;
}

#else
#error "live_match needs a way to compare 16 bytes at once"
#endif

static inline uint64_t live_match_used(const struct live_head *head)
{
	return live_match(head, 0) ^ LIVE_ALL_PLACES;
}

/* Of a mask that is not 0. */
static inline uint32_t live_get_first(uint64_t mask)
{
	return (uint32_t)__builtin_ctzll(mask) / LIVE_PLACE_BITS;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The place must be empty. */
static inline void live_set_tag(struct live_head *head, uint32_t place, uint8_t tag)
{
	head->words[place / 8] |= (uint64_t)tag << place % 8 * 8;
}

static inline void live_clear_tag(struct live_head *head, uint32_t place)
{
	head->words[place / 8] &= ~(UINT64_C(0xff) << place % 8 * 8);
}

static inline uint32_t live_get_passed(const struct live_head *head)
{
	return (uint32_t)(head->words[1] >> LIVE_PASSED_SHIFT);
}

static inline void live_count_passed(struct live_head *head)
{
	if (live_get_passed(head) < LIVE_PASSED_STICKS)
		head->words[1] += UINT64_C(1) << LIVE_PASSED_SHIFT;
}

static inline void live_uncount_passed(struct live_head *head)
{
	if (live_get_passed(head) < LIVE_PASSED_STICKS)
		head->words[1] -= UINT64_C(1) << LIVE_PASSED_SHIFT;
}

#endif
