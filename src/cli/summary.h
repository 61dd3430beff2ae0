/* summary.h -- what `midden record` tells at the end, and while it runs. Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_SUMMARY_H
#define MIDDEN_CLI_SUMMARY_H

#include <stdbool.h>

#include "cli/recording.h"

/* The lines about one recorded process. */
void summary_print(const struct recording_report *report, bool quiet, bool follow);

/* The line about processes that did nothing, if there are any. */
void summary_print_idle(unsigned count);

/* Rewrites the progress line; summary_end_progress removes it. */
void summary_print_progress(const struct collect_status *status);
void summary_end_progress(void);

#endif
