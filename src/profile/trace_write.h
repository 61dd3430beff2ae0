/* trace_write.h -- the complete log of events, written as the recording goes. Runs: in the
 * collector process, for every event.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The blocks go into the temporary that becomes the profile's file in the end, so that they are
 * written once. Space for the tables of the profile is kept reserved behind them: a disk that is
 * full ends the trace, not the recording. */
#ifndef MIDDEN_PROFILE_TRACE_WRITE_H
#define MIDDEN_PROFILE_TRACE_WRITE_H

#include <stdint.h>

#include "base/error.h"
#include "profile/trace.h"

struct trace_writer;

/* In a file beside `path`, which must not be a device or pipe. NULL with `e`. */
struct trace_writer *trace_write_open(const char *path, struct error *e);

/* Room for the next event, which the caller fills in at once, with ticks for time. */
struct trace_event *trace_write_reserve(struct trace_writer *w);

/* Events so far, those that could not be written included. */
uint64_t trace_write_get_count(const struct trace_writer *w);

/* Writes the rest of the trace and the profile, to whose tables it adds the index and what was
 * lost, and puts the file under `path`, in the directory it was opened in. 0, or -1 with `e` and no
 * file. Frees the writer. */
int trace_write_close(struct trace_writer *w, struct profile *p, const char *path, struct error *e);

/* Gives up the trace and its file. NULL may be abandoned. */
void trace_write_abandon(struct trace_writer *w);

#endif
