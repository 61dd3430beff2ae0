/* triggers.h -- snapshots that nobody has to ask for: by time, by amounts of memory, by a signal.
 * Runs: in a collector process; options also in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_TRIGGERS_H
#define MIDDEN_CLI_TRIGGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/collect.h"

enum trigger_figure {
	TRIGGER_RSS,
	TRIGGER_VIRTUAL,
	TRIGGER_LIVE,
	TRIGGER_MEMORY,
	TRIGGER_ALLOCATIONS,
	TRIGGER_STACK,
	TRIGGER_FIGURES
};

#define TRIGGERS_MOST 16

/* A snapshot is taken when a figure reaches the limit, and again once it was below it. Allocations
 * only become more, and a stack that was deep has been: there each further such amount counts. */
struct trigger_limit {
	enum trigger_figure figure;
	uint64_t most; /* bytes; of TRIGGER_MEMORY percent, of TRIGGER_ALLOCATIONS calls */
	char text[64]; /* as it was given: the snapshot's name */
};

/* Zero-initialise: none. */
struct trigger_options {
	uint64_t every_ns;
	int signal;
	uint32_t count;
	struct trigger_limit limits[TRIGGERS_MOST];
};

/* Options from words: "10", "0.5" (seconds); "rss=500M,allocations=1M"; "USR2", "12". -1 with
 * `e`. The last but one adds to what there is. */
int triggers_parse_every(struct trigger_options *o, const char *text, struct error *e);
int triggers_parse_limits(struct trigger_options *o, const char *text, struct error *e);
int triggers_parse_signal(struct trigger_options *o, const char *text, struct error *e);

/* Zero-initialise, but for the options. */
struct triggers {
	const struct trigger_options *options;
	uint64_t next_ns;   /* of the recording: when the next snapshot by time is due */
	uint64_t looked_ns; /* when the system's memory was last looked at */
	uint64_t memory_percent;
	uint64_t stack_looked_ns;
	uint64_t stack_bytes;
	uint64_t reached[TRIGGERS_MOST]; /* how often the limit is in the figure that was seen */
};

/* Takes the snapshots that are due; those by signals are taken by collect/signals.c. */
void triggers_look(struct triggers *t, struct collector *c);

#endif
