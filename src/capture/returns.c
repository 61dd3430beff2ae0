/* returns.c -- whether an address can be one that a call returns to.
 * Runs: any thread of the target, inside malloc. Called by walk_step.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Code without unwind information is left by the frame record that fp points to, but such code may
 * use fp for anything. A record that holds no return address is none. */
#include "capture/returns.h"

#include <stdatomic.h>

#include "capture/codemaps.h"
#include "capture/modules.h"
#include "capture/peek.h"
#include "capture/rules.h"

#define ADDRESS_BITS 48

/* Answers about addresses in objects, shared by all threads, a word each: address and answer, xor a
 * multiple of the generation. An odd number's multiples are different for all generations, and no
 * two of them differ in the answer's bit alone. */
#define ANSWER_BITS 10
static _Atomic uint64_t answers[1u << ANSWER_BITS];

static _Atomic uint64_t *answer_of(uint64_t address)
{
	return &answers[address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ANSWER_BITS)];
}

static uint64_t answer_word(const struct walk *w, uint64_t address, bool answer)
{
	return w->generation * UINT64_C(0x9e3779b97f4a7c15) ^
	       ((uint64_t)answer << ADDRESS_BITS | address);
}

/* ---- in an object ---------------------------------------------------------------------------- */

/* The object's code may begin less than the longest call before. */
static bool follows_call(uint64_t address)
{
	uint8_t code[ARCH_CALL_BYTES] = {0};
	uint64_t page = address & 4095;
	size_t rest = page && page < sizeof(code) ? page : sizeof(code);

	return (peek_copy(address - sizeof(code), code, sizeof(code)) ||
		peek_copy(address - rest, code + sizeof(code) - rest, rest)) &&
	       arch_is_call(code);
}

static bool is_in_object(const struct walk *w, const struct module_span *span, uint64_t address)
{
	uint32_t module;

	if (address - 1 - span->code_start < span->code_end - span->code_start &&
	    follows_call(address))
		return true;
	return rule_kind(rules_find(w->t, address - 1, w->generation, &module)) == RULE_SIGNAL;
}

/* ---- elsewhere ------------------------------------------------------------------------------- */

/* Of all that a word may point to, little follows a call: the kernel's list, which takes long to
 * read, is asked for that alone. */
static bool may_follow_call(uint64_t address)
{
	uint8_t code[ARCH_CALL_BYTES], any = 0;

	if (peek_strictly(address - sizeof(code), code, sizeof(code)))
		return arch_is_call(code);
	return !peek_strictly((uint64_t)(uintptr_t)&any, code, 1); /* it may not be read at all */
}

static bool is_in_other_code(uint64_t address)
{
	return codemaps_is_known(address - 1) ||
	       (may_follow_call(address) && codemaps_has(address - 1));
}

/* ---- the question ---------------------------------------------------------------------------- */

bool returns_has(const struct walk *w, uint64_t address)
{
	struct module_span span;

	if (address < 4096 || address >> ADDRESS_BITS || address - w->low <= w->span)
		return false;
	_Atomic uint64_t *kept = answer_of(address);
	uint64_t word = atomic_load_explicit(kept, memory_order_relaxed);
	if (word == answer_word(w, address, true))
		return true;
	if (word == answer_word(w, address, false))
		return false;
	if (!modules_find(address - 1, &span))
		return is_in_other_code(address);
	bool answer = is_in_object(w, &span, address);
	atomic_store_explicit(kept, answer_word(w, address, answer), memory_order_relaxed);
	return answer;
}
