/* thread_report.h -- a figure thread by thread, as a table or JSON. Runs: offline, called by sheet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_THREAD_REPORT_H
#define MIDDEN_REPORT_THREAD_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "model/by_thread.h"
#include "report/style.h"

struct thread_report {
	const struct profile *profile;
	const struct by_thread *threads;
	enum figure figure;
	double threshold; /* rows with a smaller share, in percent, are summed up */
	size_t limit;	  /* rows at most; 0: all */
};

/* With its title. */
void thread_report_print(FILE *out, const struct thread_report *r, const struct style *style);

/* The members figure, total_bytes, total_blocks and thread_list, with nothing left out. */
void thread_report_add(struct json *j, const struct thread_report *r);

#endif
