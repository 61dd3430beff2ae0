/* answer_json.h -- what was asked and what is left out, as members of a JSON object. Runs: offline,
 * called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_ANSWER_JSON_H
#define MIDDEN_REPORT_ANSWER_JSON_H

#include "base/json.h"
#include "model/answer.h"

/* pid; null of a merged profile, which is of several processes. */
void answer_json_add_pid(struct json *j, const struct profile *p);

/* program and pid. */
void answer_json_add_run(struct json *j, const struct profile *p);

/* The losses of the recording, `losses`: every counter, also those that are 0. */
void answer_json_add_losses(struct json *j, const struct profile *p);

/* The filter in force, `filter`; null without one. */
void answer_json_add_filter(struct json *j, const struct model *m, const struct filter *f);

/* figure, total_bytes and total_blocks (of what is kept), times, `left_out` by reason and
 * `suppressed` by rule. */
void answer_json_add(struct json *j, const struct answer *a);

#endif
