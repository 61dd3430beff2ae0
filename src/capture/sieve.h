/* sieve.h -- which frees need to be looked at: one load tells nearly all of them that they do not.
 * Runs: any thread of the target, inside malloc, maybe in a signal handler. Called by the hooks,
 * sampler.c and modules.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A bit says whether any block that is kept in mind has a hash. The bits are 16 KiB, so that they
 * displace little of what the program has in its cache; how many blocks are behind each of them is
 * counted elsewhere, where only those look who keep one in mind or forget it. */
#ifndef MIDDEN_CAPTURE_SIEVE_H
#define MIDDEN_CAPTURE_SIEVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"
#include "capture/unwatched.h"

#define SIEVE_HASHES 65536u

/* Bits of 32 hashes, and above them how often one has been set: who clears a bit sees by that
 * whether somebody was faster. */
#define SIEVE_WORD_HASHES 32u
extern _Atomic uint64_t sieve_words[SIEVE_HASHES / SIEVE_WORD_HASHES] HIDDEN;

/* Blocks side by side have bits side by side, so that a program that works on few blocks needs
 * little of the table in its cache. Blocks that are aligned to pages share 256 of them; they are
 * large, and what it costs to look for one in vain is nothing beside what they are made for. */
static inline UNWATCHED uint32_t sieve_hash(const void *block)
{
	return (uint32_t)((uintptr_t)block >> 4) % SIEVE_HASHES;
}

/* sieve_may_hold where the words must not be named. */
static inline UNWATCHED bool sieve_has(const _Atomic uint64_t *words, const void *block)
{
	uint32_t hash = sieve_hash(block);
	uint64_t word =
		atomic_load_explicit(&words[hash / SIEVE_WORD_HASHES], memory_order_relaxed);

	return (uint32_t)word >> hash % SIEVE_WORD_HASHES & 1;
}

/* False: nobody has this block in mind. Whoever made it has entered it before anybody else had its
 * address. */
static inline bool sieve_may_hold(const void *block)
{
	return sieve_has(sieve_words, block);
}

/* Enters a block; takes one out that is in it. */
void sieve_add(const void *block);
void sieve_remove(const void *block);

/* Enters an address for good. */
void sieve_watch(const void *block);

/* Takes all out, those for good too. Nobody else may use it meanwhile. */
void sieve_clear(void);

#endif
