/* sizes.h -- what blocks of certain sizes come to, stack by stack. Runs: offline; called by
 * answers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A profile keeps the smallest and the largest size of a stack's blocks, and how many of them have
 * how many bytes in all. Which block has which size is in its trace only, if there is one. */
#ifndef MIDDEN_MODEL_SIZES_H
#define MIDDEN_MODEL_SIZES_H

#include "model/figure.h"
#include "model/filter.h"
#include "model/moment.h"

/* Puts what the blocks of the sizes that the filter asks for have of a figure into `amounts`, one
 * for each site; `at` is the moment of `live`. False, with `amounts` of no meaning, if the figure
 * is not one that blocks have, or the trace is not there, not complete or damaged. */
bool sizes_fill(const struct profile *p, const struct filter *f, enum figure figure,
		const struct moment *at, struct amount *amounts);

/* What can be told without a trace about the blocks behind an amount of a site: FILTER_KEPT if all
 * have the sizes asked for, FILTER_SIZE if none has, else FILTER_VERDICTS. */
enum filter_verdict sizes_judge(const struct filter *f, const struct profile_site *site,
				struct amount a);

#endif
