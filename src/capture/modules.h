/* modules.h -- which loaded object an address belongs to, right across dlopen and dlclose.
 * Runs: any thread of the target, inside malloc. Called by rules.c on a cache miss.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_MODULES_H
#define MIDDEN_CAPTURE_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/host.h"

struct module_span {
	uint32_t id; /* index in the segment; 0 if its table is full */
	uint64_t map_start;
	uint64_t map_end;
	uint64_t map;	     /* what the loader knows it by */
	uint64_t read_start; /* its unwind information lies between these; as in struct image */
	uint64_t read_end;
	uint64_t code_start; /* whatever is code lies between these */
	uint64_t code_end;
	bool has_build_id; /* then the same id is the same code, even when it was loaded again */
	const uint8_t *eh_frame_hdr; /* or what stands in for it (cfi_index.h); NULL: none */
};

/* Changes whenever an object may have been unloaded: what was cached about addresses is void. */
extern _Atomic uint32_t modules_generation HIDDEN;

/* The memory of an object that stays loaded; 0 bytes if it is not known. */
struct modules_area {
	uint64_t start;
	uint64_t bytes;
};

/* That of the loader itself. */
extern struct modules_area modules_loader HIDDEN;

static inline bool modules_area_holds(const struct modules_area *area, uint64_t address)
{
	return address - area->start < area->bytes;
}

/* That of the object which `address` is in. At start-up, after modules_init. */
struct modules_area modules_find_area(uint64_t address);

/* Whether the loader is there, for a caller of free: it frees what it knew of an object that it has
 * unloaded, whoever asked for that, and before anything else can be loaded there. */
static inline bool modules_is_loader(const void *code)
{
	return modules_area_holds(&modules_loader, (uint64_t)(uintptr_t)code);
}

/* The loader frees `block`. If it is what it knew of an object that was asked for since the last
 * change of the generation, the generation changes. */
void modules_note_free(const void *block);

/* The object that holds `address`, registered in the segment if it is new. False: none (JIT code).
 */
bool modules_find(uint64_t address, struct module_span *span);

/* The id of libmidden.so; UINT32_MAX if it is not to be found. */
uint32_t modules_find_own(void);

/* Whether the object of a span is still there, and has been all the time since `generation`: then
 * so is what was read of it. */
bool modules_is_loaded(const struct module_span *span, uint32_t generation);

/* Finds the loader. At start-up. */
void modules_init(void);

/* Forgets what this process registered: a fork child has a segment of its own. */
void modules_reset(void);

#endif
