/* progress.h -- a bar on the terminal while something takes long. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_PROGRESS_H
#define MIDDEN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
	const char *what;
	uint64_t (*clock_ns)(void);
	uint64_t next_ns; /* when the bar may be drawn again */
	bool wanted;	  /* stderr is a terminal with room for it */
	bool drawn;
};

/* `what` must outlive it. Nothing is drawn on anything but a terminal, nor for what ends soon. */
void progress_begin(struct progress *p, const char *what);

/* The same by another clock than the system's. */
void progress_begin_by(struct progress *p, const char *what, uint64_t (*clock_ns)(void));

/* `context` is a struct progress; may be called by any thread, by one at a time. */
void progress_note(void *context, size_t done, size_t total);

/* Erases the bar. */
void progress_end(struct progress *p);

#endif
