/* build_mapped.h -- the figures of maps as part of a profile. Runs: in the collector process, one
 * thread, when one is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_BUILD_MAPPED_H
#define MIDDEN_COLLECT_BUILD_MAPPED_H

#include "collect/collector.h"

/* Totals, and figures by kind; `sites` of them are there already. Nothing if maps are not recorded.
 */
void build_mapped(struct collector *c, struct profile *p);

#endif
