/* merge_shares.h -- which thread has which share of a stack, over several recordings.
 * Runs: offline; called by merge.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_MODEL_MERGE_SHARES_H
#define MIDDEN_MODEL_MERGE_SHARES_H

#include "base/map.h"
#include "profile/profile.h"

/* Shares of 88 bytes: 90 MiB, where a thousand ranks meet in a thousand stacks. Threads that come
 * to a stack later have one share together. */
#define MERGE_SHARES_MAX 1048576u

struct merge_share {
	struct profile_part part;
	uint32_t next; /* of the same stack, plus one */
};

/* Zero-initialise; merge_shares_fini frees. */
struct merge_shares {
	VEC(struct merge_share) all;
	VEC(uint32_t) first;	      /* by merged site: its share that came last, plus one */
	VEC(struct profile_part) own; /* of the recording under way */
	struct map places;	      /* site, thread -> share, plus one */
	size_t most;		      /* shares; 0: MERGE_SHARES_MAX */
	bool known;		      /* there is a recording that tells its threads apart */
};

/* A recording that is put into the merged one. */
struct merge_shares_input {
	const struct profile *profile;
	const uint32_t *sites; /* by its sites: the number in the merged profile */
	struct map *serials;   /* by its serials: those of the merged profile */
	enum profile_merge mode;
};

/* Adds the shares of a recording. Those of a maximum are those of the recording in which the stack
 * came to it, figure by figure: so they still add up. */
void merge_shares_add(struct merge_shares *s, const struct merge_shares_input *in);

/* Writes the shares into the merged profile, whose sites have their final figures; `count`
 * recordings went in. The shares of a site add up to it in every mode. */
void merge_shares_finish(struct merge_shares *s, struct profile *out, uint64_t count);

void merge_shares_fini(struct merge_shares *s);

#endif
