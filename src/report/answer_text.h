/* answer_text.h -- what was asked and what is left out, in words: the lines before a tree or table.
 * Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_REPORT_ANSWER_TEXT_H
#define MIDDEN_REPORT_ANSWER_TEXT_H

#include <stdio.h>

#include "model/answer.h"
#include "report/style.h"

/* The filter in force, in the words of the options, and what of it means nothing here; nothing
 * without one. */
void answer_text_print_filter(FILE *out, const struct model *m, const struct filter *f,
			      const struct style *style);

/* What the filter leaves out, reason by reason; nothing if it is empty. */
void answer_text_print_left_out(FILE *out, const struct answer *a, const struct style *style);

/* "Held at the peak: 1.00 MiB in 2 blocks", with which state of the time line stands for the time
 * asked for, what is suppressed, and a note if the stacks do not add up to what the recorder
 * counted. */
void answer_text_print_title(FILE *out, const struct answer *a, const struct style *style);

/* True if no stack that is kept has anything; the sentence for it is then all there is to print. */
bool answer_text_is_empty(const struct answer *a);
void answer_text_print_empty(FILE *out, const struct answer *a);

#endif
