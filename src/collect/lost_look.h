/* lost_look.h -- one look at what is lost, for the files that share the work.
 * Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_LOST_LOOK_H
#define MIDDEN_COLLECT_LOST_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collector.h"
#include "collect/gather.h"
#include "collect/lost.h"
#include "collect/lost_way.h"
#include "collect/reach.h"
#include "collect/roots.h"
#include "collect/stash.h"

struct look {
	struct collector *collector;
	struct roots roots;
	struct gather gather;
	struct stash stash;
	struct reach reach;
	enum lost_way way;
	bool has_other;	      /* that is to be tried, if this one cannot be gone */
	bool halted;	      /* the threads were stopped: registers are known */
	bool is_copied;	      /* what was read is a copy, made while they were */
	bool is_ended;	      /* this way cannot be gone: another one may */
	bool is_late;	      /* its time was over: it was let go */
	bool has_strangers;   /* blocks that were not recorded */
	uint8_t *root_counts; /* by block: see ROOTS_MOST */
	uint64_t planning_ns; /* that the list of spans took, while they ran */
	uint64_t attended_ns; /* when dead ones were last waited for */
	uint64_t peeks;	      /* at the target's memory, which are bounded */
	uint32_t registers;   /* spans from there on are of registers, one for each thread */
};

/* Makes pointers of what was gathered: which lie in which blocks, and which in none. */
void lost_look_link(struct look *l);

/* Whether a pointer to the inside of a block is one that programs use in place of its start: to the
 * elements of an array of C++ objects, the characters of an old string, the second base of an
 * object. For struct reach. */
bool lost_look_accept(void *look, const struct reach_doubt *doubt);

/* Where in a holder the pointer to a block is, and where it points to. */
struct lost_place {
	uint64_t address;
	uint64_t inside;
};
struct lost_place lost_look_find(const struct look *l, uint32_t target, uint32_t holder);

/* Figures by site and class, and a chain for each. */
void lost_look_sum(const struct look *l, struct lost *to);

#endif
