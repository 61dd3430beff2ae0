/* surveying.h -- when a recorded program's pages are looked at: at snapshots, at the peak of its
 * resident size, when it ends, when somebody asks. Runs: in a collector process, and in the copies
 * of it that look.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_SURVEYING_H
#define MIDDEN_CLI_SURVEYING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/collect.h"
#include "collect/survey.h"

/* What came of a look that somebody asked for. */
struct surveying_answer {
	struct collect_snapshot kept;
	struct profile_survey found;
	char fault[SURVEY_FAULT_BYTES];
};

struct surveying {
	struct collector *collector;
	bool wanted; /* at snapshots, at the peak and at the end */
	/* Tells whoever asked, through the connection that it is given, which it need not close. */
	void (*answer)(int connection, const struct surveying_answer *answer);
	/* The rest begins as 0. */
	pid_t copy; /* 0: there is none */
	int file;   /* what the copy found */
	struct survey_order order;
	bool is_asked;	/* somebody waits for it: */
	int connection; /* owned */
	struct collect_snapshot kept;
	uint32_t snapshots;  /* seen so far, */
	uint64_t epoch;	     /* of these figures (survey_get_epoch) */
	uint64_t peak_bytes; /* resident when that was last looked at */
	uint64_t ended_ns;   /* when the last look ended, and how long it took */
	uint64_t cost_ns;
};

/* To be called often: takes what a copy has found, begins the next look. */
void surveying_serve(struct surveying *s);

/* Takes a snapshot under this name and looks at what is resident. False: another look is under way;
 * ask again. The connection is duplicated. */
bool surveying_ask(struct surveying *s, const char *name, int connection);

/* Waits for the copy. */
void surveying_fini(struct surveying *s);

#endif
