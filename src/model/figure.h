/* figure.h -- what a profile can be asked about a site: peak, leaked, allocated, calls and more.
 * Runs: offline, called by the trees, reports and exports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_FIGURE_H
#define MIDDEN_MODEL_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

enum figure {
	FIGURE_PEAK,	  /* live when the program held the most bytes */
	FIGURE_LEAKED,	  /* live when the program ended */
	FIGURE_ALLOCATED, /* all that was ever allocated, by bytes */
	FIGURE_CALLS,	  /* the same, by number of calls */
	FIGURE_TEMPORARY, /* freed before its thread allocated anything else; by number, bytes are
			     not kept */
	FIGURE_KINDS,	  /* those above are what exports offer; reports have more: */
	FIGURE_LIVE,	  /* live at a time: answer.h works it out */
	FIGURE_GROWTH,	  /* live at a time less what was live at an earlier one: answer.h */
	FIGURE_OWN_PEAK,  /* the most that each site ever held, each at its own time; by bytes */
	FIGURE_REALLOC,	  /* allocations that came from a realloc of an existing block; by number */
	FIGURE_ALL
};

/* Where blocks were sampled, both are estimates; interval.h tells within what. */
struct amount {
	uint64_t bytes;
	uint64_t blocks;
	double bytes_variance;
	double blocks_variance;
	uint64_t period; /* of the samples, in bytes; 0: the numbers are exact */
	/* Of the whole program, and an estimate: the mean size of its blocks, some of which may
	 * have left no sample. 0 otherwise. */
	uint64_t unseen_block_bytes;
};

/* "peak", "leaked", ...: the one name used on command lines and in JSON. */
const char *figure_name(enum figure f);

/* The figure of that name among those that exports offer; FIGURE_KINDS if there is none. */
enum figure figure_find(const char *name);

/* The same among all; FIGURE_ALL if there is none. */
enum figure figure_find_any(const char *name);

/* True if the number of blocks matters and not their bytes. */
bool figure_is_count(enum figure f);

/* What an amount of the figure knows; the other member is 0. */
bool figure_has_bytes(enum figure f);
bool figure_has_blocks(enum figure f);

/* Nothing for live and growth, which need a time. Does not know of a period. */
struct amount figure_get(const struct profile_site *site, enum figure f);

/* The same with the period, of a site of the profile. */
struct amount figure_get_estimate(const struct profile *p, size_t site, enum figure f);

/* Gives an amount of a sampled profile, of whose doubt nothing was kept, the most that there can
 * be. */
struct amount figure_bound(const struct profile *p, struct amount a);

/* The same for an amount of a site. */
struct amount figure_bound_site(const struct profile *p, size_t site, struct amount a);

/* Whether what was allocated in all is counted: it is not where small objects of Python alone are
 * estimates. */
bool figure_is_counted(const struct profile *p);

/* The same of the whole program's: not after its figures were cleared, either. */
bool figure_is_total_counted(const struct profile *p);

/* The figure of the whole program, as the recorder counted it; nothing for live, growth and
 * own-peak. */
struct amount figure_get_total(const struct profile *p, enum figure f);

/* The number by which amounts are compared and shares are taken. */
uint64_t figure_get_value(struct amount a, enum figure f);

static inline struct amount amount_plus(struct amount a, struct amount b)
{
	return (struct amount){
		.bytes = a.bytes + b.bytes,
		.blocks = a.blocks + b.blocks,
		.bytes_variance = a.bytes_variance + b.bytes_variance,
		.blocks_variance = a.blocks_variance + b.blocks_variance,
		.period = a.period > b.period ? a.period : b.period,
	};
}

/* `b` is a part of `a`, or both are exact. */
static inline struct amount amount_minus(struct amount a, struct amount b)
{
	return (struct amount){
		.bytes = a.bytes - b.bytes,
		.blocks = a.blocks - b.blocks,
		.bytes_variance = a.bytes_variance - b.bytes_variance,
		.blocks_variance = a.blocks_variance - b.blocks_variance,
		.period = a.period,
	};
}

/* From one state to another one: doubts add up. */
static inline struct amount amount_change(struct amount from, struct amount to)
{
	struct amount change = amount_plus(to, from);

	change.bytes = to.bytes - from.bytes;
	change.blocks = to.blocks - from.blocks;
	return change;
}

static inline bool amount_is_zero(struct amount a)
{
	return a.bytes == 0 && a.blocks == 0;
}

#endif
