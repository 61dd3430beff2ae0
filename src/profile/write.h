/* write.h -- the tables of a profile into a file that may hold other sections too.
 * Runs: offline; called by the writers of profiles and traces.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_PROFILE_WRITE_H
#define MIDDEN_PROFILE_WRITE_H

#include "profile/profile.h"
#include "profile/sink.h"

/* Everything but the trace and the END section. A fault is in s->error. */
void write_tables(struct sink *s, const struct profile *p);

#endif
