/* trace.h -- the complete log of events in a profile, for reading. Runs: offline rooms only.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A trace is never in memory as a whole: a cursor holds one block of it. Its bytes are as hostile
 * as the rest of the file, and are checked when they are met. */
#ifndef MIDDEN_PROFILE_TRACE_H
#define MIDDEN_PROFILE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

/* Times never go back from event to event. */
struct trace_event {
	uint64_t time_ns; /* ticks of the trace's clock while it is written */
	uint64_t address;
	uint64_t size;
	uint32_t site;	 /* that allocated the block: index into the profile's sites */
	uint32_t thread; /* serial of the one that did it; 0: not known */
	uint32_t kind;	 /* enum wire_event */
};

/* A block comes to life with it. */
bool trace_is_arrival(const struct trace_event *e);

/* How many events there are; 0 without a trace. */
uint64_t trace_get_count(const struct profile *p);

struct trace_cursor;

/* Stands before the first event. Never NULL; the profile must outlive it. Without a trace it is at
 * its end. */
struct trace_cursor *trace_cursor_new(const struct profile *p);
void trace_cursor_free(struct trace_cursor *c);

/* The next event, valid until the next call; NULL at the end or after a fault, which
 * trace_cursor_check tells apart. */
const struct trace_event *trace_cursor_next(struct trace_cursor *c);

/* Goes to the event of this number, or to the end. */
void trace_cursor_seek(struct trace_cursor *c, uint64_t number);

/* Goes to the first event at or after this time, or to the end. */
void trace_cursor_seek_time(struct trace_cursor *c, uint64_t time_ns);

/* 0, or -1 with the fault that ended the reading. */
int trace_cursor_check(const struct trace_cursor *c, struct error *e);

#endif
