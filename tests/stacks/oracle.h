/* oracle.h -- marked allocations, each noted with the stack that an independent unwinder finds.
 * Runs: inside the programs of this directory; tests/e2e/stacks reads what it leaves.
 * SPDX-License-Identifier: Apache-2.0
 *
 * oracle_mark takes the stack of its caller with libunwind or libgcc's unwinder, looks it up among
 * those seen before, and then allocates one block whose size is the number of that stack. So the
 * size of a site tells which stack it must have, and two stacks that were confused show up as a
 * site with two sizes. Notes are kept in a file mapped shared (ORACLE_FILE; the layout is struct
 * oracle_page), so nothing needs to be written at the end. Nothing in here allocates besides the
 * marked block. All signals are blocked meanwhile.
 *
 * Environment: ORACLE_FILE, ORACLE_UNWINDER=libunwind|libgcc|none (default: libunwind if built in;
 * none: only the allocations, all of one size). */
#ifndef MIDDEN_TESTS_STACKS_ORACLE_H
#define MIDDEN_TESTS_STACKS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORACLE_MAGIC	  UINT64_C(0x6f7261636c653031)
#define ORACLE_ENTRIES	  (UINT64_C(1) << 16)
#define ORACLE_WORDS	  (UINT64_C(1) << 22)
#define ORACLE_MODULES	  254u
#define ORACLE_PATH_BYTES 240u
#define ORACLE_DEPTH	  (UINT64_C(1) << 18) /* frames of one stack */
#define ORACLE_SIZE_BASE  1000u		      /* size of the first stack's blocks */

/* A frame is one word: the pc, and above it: */
#define ORACLE_PC_BITS	 48
#define ORACLE_EXACT	 (UINT64_C(1) << 48) /* pc itself was executing */
#define ORACLE_MODULE_AT 56		     /* index of its module + 1; 0 none */

struct oracle_module {
	uint64_t bias;
	char path[ORACLE_PATH_BYTES]; /* as the loader has it: "" is the program */
};

/* A stack, the caller of oracle_mark first. */
struct oracle_entry {
	uint64_t hash;
	uint64_t count; /* marked allocations made with it */
	uint32_t first; /* index into words */
	uint32_t depth;
};

struct oracle_page {
	uint64_t magic;
	uint64_t entry_count;
	uint64_t word_count;
	uint64_t module_count;
	uint64_t faults; /* stacks that the unwinder gave up on, or for which there was no room */
	uint64_t mark_start; /* marked allocations have their leaf in here */
	uint64_t mark_end;
	uint64_t reserved;
	struct oracle_module modules[ORACLE_MODULES];
	struct oracle_entry entries[ORACLE_ENTRIES];
	uint64_t words[ORACLE_WORDS];
};

/* Notes the stack from the caller on and makes one marked allocation with it. Thread-safe, and safe
 * in signal handlers. */
void oracle_mark(void);

/* The same with a stack that the program knows better than any unwinder: pcs[0..depth), where
 * pcs[0] is replaced by the return address into the caller. */
void oracle_mark_known(uint64_t *pcs, size_t depth);

/* The return addresses of the caller's frame and outwards, as oracle_mark would note them without
 * modules; returns how many. */
size_t oracle_take(uint64_t *pcs, size_t room);

#ifdef __cplusplus
}
#endif

#endif
