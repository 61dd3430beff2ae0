/* link.h -- finding a collector and getting the segment from it.
 * Runs: at start-up of a process, in the first malloc or the constructor; and in a followed fork
 * child.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_LINK_H
#define MIDDEN_CAPTURE_LINK_H

#include <stdbool.h>

struct segment_header;

enum link_result {
	LINK_READY,
	LINK_REFUSED, /* the recorder does not want this process: silent pass-through */
	LINK_FAILED,  /* said why on standard error */
};

/* Connects to the recorder named in the environment, or starts a collector of our own; maps the
 * segment and leaves no descriptor open. */
enum link_result link_open(bool forked, struct segment_header **header);

/* After link_open: `midden record` is there; otherwise the collector is one that we started. */
bool link_has_recorder(void);

/* For process 1 of a container, in exit(): its end takes the collector along, so it waits until
 * that has written the profile, within bounds. */
void link_wait_for_collector(struct segment_header *header);

#endif
