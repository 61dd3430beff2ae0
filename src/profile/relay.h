/* relay.h -- a thread that compresses and writes a section while the next one is made. Runs:
 * offline; called by the writer of profiles.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program that was recorded has ended by then, and whoever started it waits for us. To compress
 * takes as long as to encode. */
#ifndef MIDDEN_PROFILE_RELAY_H
#define MIDDEN_PROFILE_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "profile/sink.h"

struct relay {
	struct sink *sink; /* the thread's while there is a tag, else the caller's */
	struct codec_buffer raw;
	bool has_thread; /* else the caller does it all */
	pthread_t thread;
	pthread_mutex_t lock; /* over all below */
	pthread_cond_t changed;
	uint32_t tag; /* of the section in sink->raw that is to be written; 0: none */
	bool is_over;
};

/* `wanted`: there is enough to write for a thread to be worth it. */
void relay_start(struct relay *r, struct sink *sink, bool wanted);

/* Ends the section whose payload is in r->raw. False if an earlier one could not be written. */
bool relay_write_section(struct relay *r, uint32_t tag);

/* All sections have been written, or a fault is in the sink's error. */
void relay_finish(struct relay *r);

#endif
