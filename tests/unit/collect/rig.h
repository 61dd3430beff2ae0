/* rig.h -- a collector with producers, and the profile that is made of what they say. Runs: in test
 * programs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_RIG_H
#define MIDDEN_TESTS_RIG_H

#include "producer.h"

/* Zero but for `c` where a test wants no producers. */
struct fixture {
	struct collector *c;
	struct producer one;
	struct producer two;
	struct profile *p;
};

static inline int rig_set_up(struct fixture *f, void **state)
{
	*f = (struct fixture){.c = producer_new_collector(0)};
	*state = f;
	return f->c ? 0 : -1;
}

/* Eight stacks, each one frame deeper than the one before: nodes 1 to 8. */
static inline void rig_add_nodes(struct fixture *f)
{
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(producer_add_node(f->c, i, 0x400000u + i, 0), i + 1);
}

static inline int rig_tear_down(void **state)
{
	struct fixture *f = *state;

	profile_free(f->p);
	collect_free(f->c);
	return 0;
}

/* Drains and builds; whatever was published must be consistent. */
static inline struct profile *rig_finish(struct fixture *f)
{
	struct error e = {0};

	producer_drain(f->c);
	profile_free(f->p);
	f->p = collect_build_profile(f->c);
	assert_int_equal(profile_check(f->p, &e), 0);
	return f->p;
}

#endif
