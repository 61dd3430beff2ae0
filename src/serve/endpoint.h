/* endpoint.h -- how a recorded program stands, over HTTP, for other tools: pprof's paths, metrics,
 * snapshots. Runs: in a process of its own beside a collector; answers in threads, a few at a time.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every request needs the token. It must name this machine as its host too, unless the endpoint
 * listens on all addresses, which have names that are not known here. */
#ifndef MIDDEN_SERVE_ENDPOINT_H
#define MIDDEN_SERVE_ENDPOINT_H

#include <stdint.h>

#include "base/error.h"
#include "model/model.h"
#include "serve/openmetrics.h"

#define ENDPOINT_NAME_MOST 95u /* bytes of a snapshot's name */

struct endpoint_snapshot {
	uint64_t number;
	uint64_t time_ns;
	uint64_t live_bytes;
	uint64_t live_blocks;
};

/* Where the answers come from. The calls come from several threads, one at a time. */
struct endpoint_source {
	void *context;
	/* How things are now; good until the next call. NULL with `e`: nobody knows. */
	const struct model *(*look)(void *context, struct error *e);
	/* Has what is live now kept under a name. 0, or -1 with `e`. */
	int (*keep)(void *context, const char *name, struct endpoint_snapshot *kept,
		    struct error *e);
	void (*weigh)(void *context, struct openmetrics_cost *cost);
};

struct endpoint_options {
	int listener;	     /* a socket that listens; the endpoint's from here on */
	const char *address; /* that it listens on */
	const char *token;
};

struct endpoint;

/* Begins to answer; what the arguments point to must stay. NULL with `e`. */
struct endpoint *endpoint_open(const struct endpoint_options *options,
			       const struct endpoint_source *source, struct error *e);

void endpoint_close(struct endpoint *p);

#endif
