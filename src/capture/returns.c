/* returns.c -- whether an address can be one that a call returns to.
 * Runs: any thread of the target, inside malloc. Called by walk_step.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Code without unwind information is left by the frame record that fp points to, but such code may
 * use fp for anything. A record that holds no return address is none. */
#include "capture/returns.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>

#include "capture/codemaps.h"
#include "capture/image.h"
#include "capture/modules.h"
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

/* Whether the object's program headers leave room for code there; yes if they are not to be had. */
static bool may_be_code(const struct image *image, uint64_t address)
{
	unsigned count;

	return image_room(image, address, PF_X) > 0 || !image_find_headers(image, &count);
}

/* Where the kernel may not be asked: plainly, as the object's tables are read. */
static bool copy_code(const struct image *image, uint64_t start, size_t bytes, uint8_t *to)
{
	if (image_room(image, start, PF_R | PF_X) < bytes)
		return false;
	memcpy(to, (const void *)(uintptr_t)start, bytes); /* NOLINT */
	return true;
}

/* The address may be anything, and its object may be unloaded at this moment: hence by way of the
 * kernel. */
static bool read_code(const struct walk *w, const struct image *image, uint64_t start, size_t bytes,
		      uint8_t *to)
{
	struct iovec local = {.iov_base = to, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)start, .iov_len = bytes}; /* NOLINT */
	long got = HOST_CALL6(SYS_process_vm_readv, (int)w->t->slot->tid, &local, 1, &remote, 1, 0);

	if (got == -EPERM || got == -ENOSYS)
		return copy_code(image, start, bytes, to);
	return got == (long)bytes;
}

/* The object's code may begin less than the longest call before. */
static bool follows_call(const struct walk *w, const struct image *image, uint64_t address)
{
	uint8_t code[ARCH_CALL_BYTES] = {0};
	uint64_t page = address & 4095;
	size_t rest = page && page < sizeof(code) ? page : sizeof(code);

	return (read_code(w, image, address - sizeof(code), sizeof(code), code) ||
		read_code(w, image, address - rest, rest, code + sizeof(code) - rest)) &&
	       arch_is_call(code);
}

static bool is_in_object(const struct walk *w, const struct module_span *span, uint64_t address)
{
	const struct image image = {
		.map_start = span->map_start, .map_end = span->map_end, .bias = span->bias};
	uint32_t module;

	if (may_be_code(&image, address - 1) && follows_call(w, &image, address))
		return true;
	return rule_kind(rules_find(w->t, address - 1, w->generation, &module)) == RULE_SIGNAL;
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
		return codemaps_has(address - 1);
	bool answer = is_in_object(w, &span, address);
	atomic_store_explicit(kept, answer_word(w, address, answer), memory_order_relaxed);
	return answer;
}
