/* recording_report.h -- what a collector tells the recorder.
 * Runs: in a collector process; recording_report_take in the recorder.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_RECORDING_REPORT_H
#define MIDDEN_CLI_RECORDING_REPORT_H

#include "cli/recording.h"
#include "profile/profile.h"

/* Puts the figures of a profile into the report. */
void recording_report_fill(struct recording_report *r, const struct profile *p);

/* Puts into the filled report why it cannot be told what is lost, if that was wanted: `fault`, or
 * what follows from the program's end. */
void recording_report_explain_lost(struct recording_report *r, const char *fault, bool wanted);

/* Writes it to the pipe; -1: nobody listens. */
void recording_report_send(int out, const struct recording_report *r);

/* Reads one from the other end. False: there is none any more. */
bool recording_report_take(int in, struct recording_report *r);

/* There is nothing in the profile that anybody could want to see. */
bool recording_report_has_nothing(const struct profile *p);

#endif
