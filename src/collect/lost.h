/* lost.h -- which live blocks nothing points to any more, by site. Runs: in the collector process,
 * one thread, when somebody wants to know; the target is stopped for a part of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_LOST_H
#define MIDDEN_COLLECT_LOST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "collect/deadline.h"
#include "collect/halt.h"
#include "collect/twin.h"
#include "profile/profile.h"

struct collector;

/* The blocks of a site that are of one class. */
struct lost_row {
	uint32_t site;
	uint32_t class; /* enum reach_class */
	uint64_t blocks;
	uint64_t bytes;
	uint64_t held_blocks; /* of DEFINITE: lost with them */
	uint64_t held_bytes;
	uint32_t example; /* number of a block among those that were looked at */
	uint32_t chain;	  /* row of `links` plus one: the example, and so on to a root; 0 none */
};

/* A step on the way from a block to what holds it. */
struct lost_link {
	uint32_t kind;	  /* enum profile_link_kind */
	uint32_t site;	  /* of a block: plus one */
	uint32_t module;  /* of a variable: in the segment; 0 not known */
	uint32_t tid;	  /* of a stack, a register, thread-local memory */
	uint32_t holder;  /* row of `links` plus one; 0: this is a root, or nothing holds it */
	uint32_t name;	  /* offset in `names`: the file of a variable */
	uint64_t address; /* of a root: where the pointer is */
	uint64_t offset;  /* of a block: where in its holder the pointer to it is; of CUT: how many
			     blocks are left out */
	uint64_t inside;  /* of a block: where in it the pointer points to */
};

/* Zero-initialise. */
struct lost {
	VEC(struct lost_row) rows;
	VEC(struct lost_link) links;
	VEC(char) names; /* starts with a NUL byte */
	uint64_t ticks;	 /* when it was so; 0: nothing is known */
	uint64_t clears; /* of figures, before it: sites have other numbers after one */
	uint64_t pause_ns;
	struct deadline deadline; /* of the look that is under way, by all ways that are tried */
	uint64_t exit_stack;	  /* see struct roots; 0: it does not exit */
	uint64_t exit_registers;
	uint64_t expected_ns; /* how long a way would have stopped it, too long; 0: none */
	uint64_t read_bytes;
	uint64_t unread_bytes;
	uint32_t flags;	  /* enum profile_lost_flags */
	char fault[512];  /* why the last order could not be followed; "": it could */
	struct halt halt; /* may have threads that have not been let go yet */
	struct twin twin; /* may have one to bury */
	struct resume resume;
};

/* Looks at the target, at a copy of it if that can be had; `leave`: enum collect_leave. 0, or -1
 * with `e`; what was known before is then gone. */
int lost_find(struct collector *c, unsigned leave, struct error *e);

/* Does what the target's orders ask for, lets go who was stopped too late, and buries copies. */
void lost_serve(struct collector *c);

/* The last of that: nobody will serve any more. */
void lost_finish(struct collector *c);

/* Whether lost_serve has anything to do. */
bool lost_is_called(const struct collector *c);

/* Whether anything is known, and the sites are still those of then. */
bool lost_is_known(const struct collector *c);

/* Puts what is known into a profile whose sites and modules are in place. */
void lost_build(const struct collector *c, struct profile *p);

/* Forgets it. */
void lost_clear(struct lost *l);
void lost_fini(struct lost *l);

#endif
