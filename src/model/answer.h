/* answer.h -- a question to a profile (which figure, when, of which stacks) and its answer, stack
 * by stack. Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Trees, tables and exports are shapes of the same answer: they get its amounts and need not know
 * what was asked. What the filter leaves out is in the answer too, by reason: kept and left out add
 * up to the whole. */
#ifndef MIDDEN_MODEL_ANSWER_H
#define MIDDEN_MODEL_ANSWER_H

#include "model/figure.h"
#include "model/filter.h"
#include "model/model.h"
#include "model/moment.h"
#include "model/suppress.h"

struct view {
	enum figure figure;
	struct moment at;		      /* live, growth */
	struct moment from;		      /* growth */
	const struct filter *filter;	      /* NULL: all stacks */
	const struct suppress_list *suppress; /* leaked: rules to set apart what they name; NULL:
						 none */
	bool whole_stacks;		      /* stacks with mixed sizes are not to be divided */
};

/* Stacks that were left out for one reason, or kept. */
struct answer_part {
	struct amount amount;
	size_t sites; /* with an amount other than 0; one divided between threads counts in both */
};

/* Amounts of `growth` are signed: its sums are to be read as int64_t, and `amounts` has what grew,
 * `shrunk` what shrank, turned positive in its bytes (or in its blocks where the bytes stayed). */
struct answer {
	const struct model *model;
	struct view view;
	struct amount *amounts; /* by site; 0 for what is left out */
	struct amount *shrunk;	/* by site; NULL unless growth */
	uint8_t *verdicts;	/* by site: enum filter_verdict */
	uint32_t *rules;	/* by site: the rule that suppresses it; NULL without rules */
	struct amount whole;	/* of all sites */
	struct amount counted;	/* what the recorder counted for the program */
	struct answer_part parts[FILTER_VERDICTS];
	/* Of what is kept: stacks that have blocks of other sizes than the filter asks for too, and
	 * which of them count is not recorded. */
	struct answer_part mixed;
	bool sizes_traced; /* blocks were told apart by size in the trace */
};

/* Never NULL. The view's filter and rules must outlive the answer. */
struct answer *answer_new(const struct model *m, const struct view *view);
void answer_free(struct answer *a);

/* True if the figure of a site can be told apart by thread as far as the filter asks for it. */
bool answer_is_possible(const struct profile *p, const struct filter *f, enum figure figure);

#endif
