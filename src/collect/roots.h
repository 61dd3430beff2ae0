/* roots.h -- which memory of a process is read when looking for what is lost, and what it is.
 * Runs: in the collector process, one thread, while the target is stopped and after that.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All private memory that can be written is read: variables, stacks from the stack pointer on,
 * thread-local memory, heaps, other maps. What belongs to libmidden.so itself is left out, and so
 * are the stacks of threads that have ended, which libc keeps for the next ones. */
#ifndef MIDDEN_COLLECT_ROOTS_H
#define MIDDEN_COLLECT_ROOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/deadline.h"
#include "collect/gather.h"
#include "collect/halt.h"
#include "collect/pagemap.h"
#include "collect/reach.h"
#include "collect/regions.h"
#include "collect/segment_map.h"

enum root_kind {
	ROOT_HEAP, /* the allocator's: blocks are looked at one by one, what is between is not */
	ROOT_GLOBAL,
	ROOT_STACK,
	ROOT_LOCAL, /* thread-local variables, and the frames next to them */
	ROOT_MAPPING,
	ROOT_REGISTER,
	ROOT_PLAIN, /* anonymous: not settled yet */
};

struct root_span {
	uint64_t start;
	uint64_t end;
	uint64_t pointer; /* of LOCAL: the thread pointer; of PLAIN: that of a thread that had its
			     stack there, 0 none */
	uint32_t region;  /* of `regions` */
	uint32_t module;  /* of GLOBAL: in the segment; 0 not known */
	pid_t tid;	  /* of STACK, LOCAL, REGISTER; 0: of no thread that lives */
	enum root_kind kind;
	bool is_apart; /* a copy of the process would not have it */
	bool is_arena; /* of libc's malloc, which has it for threads */
};

/* Zero-initialise. */
struct roots {
	struct regions regions;
	VEC(struct gather_range) own;	/* the library's maps */
	VEC(struct gather_range) apart; /* what a fork leaves out, but for those */
	VEC(struct root_span) spans;	/* in order of address, without registers */
	VEC(struct gather_range) ranges;
	const struct segment_map *map;
	/* Of a thread that exits: where the program's part of its stack begins, and before that its
	 * registers there; 0: not known. To be filled in */
	uint64_t exit_stack;
	uint64_t exit_registers;
	const struct deadline *deadline; /* when it is over, lists are cut short; NULL: they are
					    not. To be filled in */
	uint64_t malloc_inode;		 /* of the file with the real malloc; 0: not known */
	bool is_libc;			 /* which is libc */
	bool is_cut;			 /* the last list was cut short */
	bool is_guarded; /* another process is asked about its pages, and about a fork */
};

/* What can be found out while the target runs. */
void roots_prepare(struct roots *r, const struct segment_map *map, pid_t pid);

/* Lists the spans. `h` is NULL if the threads could not be stopped. 0, or -1 with `e`. */
int roots_plan(struct roots *r, const struct halt *h, pid_t pid, struct error *e);

enum roots_part {
	ROOTS_ALL,
	ROOTS_APART,  /* what a copy would not have */
	ROOTS_COPIED, /* what it has */
};

/* Lists the ranges to read of these spans, as far as this process, or a copy of it, has touched
 * them. */
void roots_list(struct roots *r, pid_t pid, enum roots_part part);

/* How many bytes these are. */
uint64_t roots_add_up(const struct roots *r);

/* Settles what anonymous memory is, once the blocks are known: of the stacks of threads that have
 * ended only the descriptors stay. */
void roots_settle(struct roots *r, const struct reach *reach);

/* True if a pointer in this span to this place in a block is one of libc's allocator to what comes
 * behind the block. */
bool roots_is_malloc_own(const struct roots *r, const struct root_span *span, uint64_t offset,
			 uint64_t size);

/* True if the word at this address is where a thread keeps its table of thread-local blocks, which
 * points behind the start of its block. */
bool roots_is_table(const struct root_span *span, uint64_t address, uint64_t offset);

void roots_fini(struct roots *r);

#endif
