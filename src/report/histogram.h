/* histogram.h -- how large blocks were, and how long they lived, as bars or JSON. Runs: offline,
 * called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_HISTOGRAM_H
#define MIDDEN_REPORT_HISTOGRAM_H

#include <stdio.h>

#include "base/json.h"
#include "profile/profile.h"
#include "report/style.h"

/* The bars are as long as a terminal leaves room for. Nothing for a program that allocated nothing.
 */
void histogram_print_sizes(FILE *out, const struct profile *p, const struct style *style);
void histogram_print_lifetimes(FILE *out, const struct profile *p, const struct style *style);

/* The list `size_histogram`: buckets with anything in them. */
void histogram_add_sizes(struct json *j, const struct profile *p);

/* The list `lifetime_histogram`, and never_freed_blocks. */
void histogram_add_lifetimes(struct json *j, const struct profile *p);

/* The bounds of a bucket. */
uint64_t histogram_get_min(unsigned bucket);
uint64_t histogram_get_max(unsigned bucket);

#endif
