/* pair.h -- two profiles and what changed between them. Runs: in unit tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_MODEL_PAIR_H
#define MIDDEN_TESTS_MODEL_PAIR_H

#include "model/diff.h"
#include "sample.h"

struct pair {
	struct profile *profiles[2];
	struct model *models[2];
	struct diff *diff;
};

/* Takes the profiles over. */
static inline struct pair pair_new(struct profile *before, struct profile *now, enum figure figure,
				   enum diff_by by)
{
	static const struct model_options usual = {0};
	struct pair c = {.profiles = {before, now}};

	c.models[0] = model_new(before, &usual);
	c.models[1] = model_new(now, &usual);
	const struct model *models[2] = {c.models[0], c.models[1]};
	c.diff = diff_build(models, &(struct diff_request){.figure = figure, .by = by});
	return c;
}

static inline void pair_free(struct pair *c)
{
	diff_free(c->diff);
	for (unsigned side = 0; side < 2; side++) {
		model_free(c->models[side]);
		profile_free(c->profiles[side]);
	}
}

#endif
