/* sieve.c -- which frees need to be looked at: one load tells nearly all of them that they do not.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/sieve.h"

#define COUNT_STUCK 255u
#define SET_ONCE    (UINT64_C(1) << 32)

_Atomic uint64_t sieve_words[SIEVE_HASHES / SIEVE_WORD_HASHES];

/* How many blocks have each hash; 255 stays, whatever goes. */
static _Atomic uint8_t counts[SIEVE_HASHES];

static uint64_t bit_of(uint32_t hash)
{
	return UINT64_C(1) << hash % SIEVE_WORD_HASHES;
}

/* The count after adding 1 or -1 to it. */
static uint8_t change_count(uint32_t hash, int by)
{
	uint8_t seen = atomic_load(&counts[hash]), next;

	do {
		next = seen == COUNT_STUCK ? seen : (uint8_t)(seen + by);
	} while (!atomic_compare_exchange_weak(&counts[hash], &seen, next));
	return next;
}

static void set_bit(uint32_t hash)
{
	_Atomic uint64_t *at = &sieve_words[hash / SIEVE_WORD_HASHES];
	uint64_t seen = atomic_load(at);

	/* The lower half cannot overflow into the upper one, which may wrap. */
	while (!atomic_compare_exchange_weak(at, &seen, (seen + SET_ONCE) | bit_of(hash)))
		;
}

/* Unless somebody has entered a block with this hash meanwhile. Whoever does counts it first and
 * sets the bit then. So if that was before we read the word, the count is not 0; if it is between
 * that and the exchange, the exchange fails; if it is later, the bit is set again. */
static void clear_bit(uint32_t hash)
{
	_Atomic uint64_t *at = &sieve_words[hash / SIEVE_WORD_HASHES];
	uint64_t seen = atomic_load(at);

	while (atomic_load(&counts[hash]) == 0 &&
	       !atomic_compare_exchange_weak(at, &seen, seen & ~bit_of(hash)))
		;
}

void sieve_add(const void *block)
{
	uint32_t hash = sieve_hash(block);

	(void)change_count(hash, 1);
	set_bit(hash);
}

void sieve_remove(const void *block)
{
	uint32_t hash = sieve_hash(block);

	if (change_count(hash, -1) == 0)
		clear_bit(hash);
}

void sieve_watch(const void *block)
{
	uint32_t hash = sieve_hash(block);

	atomic_store(&counts[hash], COUNT_STUCK);
	set_bit(hash);
}

void sieve_clear(void)
{
	for (uint32_t i = 0; i < SIEVE_HASHES; i++)
		atomic_store_explicit(&counts[i], 0, memory_order_relaxed);
	for (uint32_t i = 0; i < SIEVE_HASHES / SIEVE_WORD_HASHES; i++)
		atomic_store_explicit(&sieve_words[i], 0, memory_order_relaxed);
}
