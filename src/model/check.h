/* check.h -- limits on the figures of a profile, for automatic tests.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_CHECK_H
#define MIDDEN_MODEL_CHECK_H

#include "model/figure.h"
#include "model/model.h"

enum check_kind {
	CHECK_INTACT, /* neither profile is damaged: always looked at */
	CHECK_LOST,   /* events that were not recorded: none, unless another limit is set */
	CHECK_PEAK,
	CHECK_LEAKED,
	CHECK_UNREACHABLE, /* lost blocks; the profile must tell (leaks.h) */
	CHECK_ALLOCATIONS,
	CHECK_TEMPORARY,
	CHECK_PEAK_GROWTH, /* against another profile, as what follows */
	CHECK_LEAKED_GROWTH,
	CHECK_ALLOCATED_GROWTH,
	CHECK_CALLS_GROWTH,
	CHECK_KINDS
};

/* Parts of a million, so that limits are compared in integers. */
#define CHECK_WHOLE 1000000u

struct check_limit {
	bool set;
	bool relative; /* `value` is a share in parts of a million */
	uint64_t value;
};

struct check_request {
	struct check_limit limits[CHECK_KINDS]; /* of growth: those of PEAK_GROWTH hold for all */
	const struct model *baseline;		/* what growth is measured against; or NULL */
	const bool *suppressed[2]; /* by site of the baseline and of the profile itself: what leaked
				      there does not count; NULL: all counts */
	const char *allow_unchecked; /* programs that need not have been looked at (unchecked.h) */
	bool allow_damaged;	     /* neither damage nor lost events fail by themselves */
	size_t stacks;		     /* that are named for each limit that does not hold */
};

struct check_stack {
	uint32_t site;
	struct amount amount;
	struct amount before; /* with growth: in the other profile */
};

struct check_result {
	enum check_kind kind;
	bool failed;
	struct check_limit limit;
	uint64_t value;			 /* bytes or a number of calls, events */
	uint64_t before;		 /* with growth: in the other profile */
	uint64_t whole;			 /* what a relative limit is a share of */
	struct amount suppressed;	 /* of leaks: what does not count */
	struct amount suppressed_before; /* in the other profile */
	char *unchecked; /* of UNREACHABLE: who was not looked at, for people; NULL: all were */
	VEC(struct check_stack) stacks; /* behind a failure, the largest first */
};

struct check {
	const struct model *model;
	VEC(struct check_result) results; /* in the order of enum check_kind */
	size_t failures;
};

/* "peak", "leaked", ..., "calls-growth": for JSON and JUnit. */
const char *check_name(enum check_kind kind);

/* True if the value is in bytes. */
bool check_is_bytes(enum check_kind kind);
bool check_is_growth(enum check_kind kind);

/* Never NULL. A value equal to its limit holds. */
struct check *check_build(const struct model *m, const struct check_request *request);
void check_free(struct check *c);

#endif
