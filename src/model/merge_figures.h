/* merge_figures.h -- how the figures of several recordings become one: sum, maximum or mean.
 * Runs: offline, pure; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_FIGURES_H
#define MIDDEN_MODEL_MERGE_FIGURES_H

#include "profile/profile.h"

/* Adds the figures of one recording to what the others came to. A mean is a sum until it is
 * divided. Times of peaks are left alone. */
void merge_figures_site(struct profile_site *to, const struct profile_site *from,
			enum profile_merge mode);
void merge_figures_thread(struct profile_thread *to, const struct profile_thread *from,
			  enum profile_merge mode);
void merge_figures_totals(struct profile_totals *to, const struct profile_totals *from,
			  enum profile_merge mode);
void merge_figures_point(struct profile_point *to, const struct profile_point *from,
			 enum profile_merge mode);
void merge_figures_histograms(struct profile *to, const struct profile *from,
			      enum profile_merge mode);
uint64_t merge_figures_value(uint64_t to, uint64_t from, enum profile_merge mode);

/* Divides sums by the number of recordings, rounded to the nearest; losses are rounded up: what was
 * lost once does not vanish. */
void merge_figures_divide_site(struct profile_site *s, uint64_t count);
void merge_figures_divide_thread(struct profile_thread *t, uint64_t count);
void merge_figures_divide_totals(struct profile_totals *t, uint64_t count);
void merge_figures_divide_point(struct profile_point *p, uint64_t count);
void merge_figures_divide_histograms(struct profile *p, uint64_t count);
uint64_t merge_figures_divide(uint64_t sum, uint64_t count);

/* Where blocks live are not the difference of allocated and freed ones any more, sets what was
 * freed so that they are. */
void merge_figures_balance(struct profile_site *s);

/* What the totals of a profile have beyond its stacks: nothing, unless stacks were lost. Figures
 * that stacks do not have are the totals' own. */
struct profile_totals merge_figures_rest(const struct profile *p);

/* Sets the totals to what the stacks come to, and `rest`. */
void merge_figures_total_up(struct profile *p, const struct profile_totals *rest);

/* Makes the counts, sizes, peak and leaks of `t` the sums of its sites'. */
void merge_figures_total(struct profile_totals *t, const struct profile_site *sites, size_t count);

#endif
