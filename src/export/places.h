/* places.h -- frames as valgrind's tools write them. Runs: offline, called by the formats of
 * valgrind's tools.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_EXPORT_PLACES_H
#define MIDDEN_EXPORT_PLACES_H

#include "model/model.h"

/* "0x1149: main (app.c:12)", "0x1149: ??? (in /usr/bin/app)", "0x0: [no stack]"; one line of UTF-8,
 * cleaned as by labels_clean. The address is one in the module. The caller frees it. */
char *places_format(const struct model_frame *f, const char *replaced);

#endif
