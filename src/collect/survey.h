/* survey.h -- looks at which blocks keep which pages in memory: taken in a copy of the collector,
 * kept by the collector. Runs: in both, as said.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collector lends its table of live blocks to a copy that it forks, and goes on. The copy joins
 * the blocks with the target's page map, which takes a while and stops nobody, and leaves what it
 * found in a file of no name. */
#ifndef MIDDEN_COLLECT_SURVEY_H
#define MIDDEN_COLLECT_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/types.h"
#include "profile/profile.h"

#define SURVEY_FAULT_BYTES 512u

/* What is to be looked at, and under what name it is kept. */
struct survey_order {
	enum profile_reason reason;
	uint32_t snapshot; /* its number, from 1; 0: none */
	uint32_t first;	   /* the number of the first that this look is for too; 0: none */
	uint64_t epoch;	   /* of the figures, survey_get_epoch: stale after they started over */
};

/* One look. `row` has ticks in place of ns, and no text. */
struct survey {
	struct profile_survey row;
	uint64_t epoch;
	char fault[SURVEY_FAULT_BYTES]; /* "": it went well */
	VEC(struct profile_pin) pins;	/* of sites that hold anything */
	VEC(struct profile_cell) cells;
	struct types types; /* of Python's objects */
};

/* Zero-initialise. */
struct surveys {
	VEC(struct survey) list;
	uint64_t rows; /* of all of them */
	uint64_t lost; /* that there was no room for */
};

/* Whether blocks are known one by one. -1 with `e`: they are not in this mode. */
int survey_check_mode(const struct collector *c, struct error *e);

/* How many snapshots there are; who is told of the next at once by collect_run has seen these. */
uint32_t survey_count_snapshots(struct collector *c);

/* Changes whenever sites are numbered anew. */
uint64_t survey_get_epoch(const struct collector *c);

/* Before and after the copy is forked. */
void survey_lend(struct collector *c, bool lent);

/* In the copy: looks, and writes what it finds to the file. */
void survey_take(struct collector *c, const struct survey_order *order, int fd);

/* In the collector: reads what the copy wrote and keeps it. The row with a `fault` is for whoever
 * asked; false: there is nothing, the copy did not get that far. */
bool survey_keep(struct collector *c, int fd, struct profile_survey *row, char *fault);

/* The order in which the target waits to end; false: it does not. */
bool survey_is_awaited(const struct collector *c);

/* It may end. */
void survey_release(struct collector *c);

/* Puts what is kept into a profile that has all sites. */
void survey_build(const struct collector *c, struct profile *p);

void surveys_fini(struct surveys *s);

#endif
