/* pages.h -- big zeroed blocks straight from the kernel, in huge pages where it has them. Runs:
 * offline rooms only.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For tables that are probed at random: a huge page needs one TLB entry where small pages need
 * 512. What is freed goes back to the kernel at once. */
#ifndef MIDDEN_BASE_PAGES_H
#define MIDDEN_BASE_PAGES_H

#include <stddef.h>

/* Never NULL: like mem_new, ends the process when memory runs out. Blocks of 2 MiB and more are
 * aligned to it. */
void *pages_new(size_t bytes);

/* The same for who can do without: NULL where the kernel says no. Small pages if there are no huge
 * ones, and nothing is taken before it is touched. */
void *pages_find(size_t bytes);

/* Memory from elsewhere that is about to be written from start to end: where whole huge pages lie
 * in it, the kernel is entered once for each of them and not for every small page. */
void pages_advise(void *at, size_t bytes);

/* Leaves a block of pages_new out of the copies of this process that fork makes: they cost nothing
 * then, however big the block is, and must not touch it. */
void pages_withhold(void *block, size_t bytes);

/* Takes that back: copies have the block as it is when they are made. */
void pages_lend(void *block, size_t bytes);

/* `bytes` as given to pages_new; NULL is allowed. */
void pages_free(void *block, size_t bytes);

#endif
