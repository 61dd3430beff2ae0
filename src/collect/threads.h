/* threads.h -- figures per thread. Runs: in the collector process, one thread, for every event.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread is known by its serial. The target gives serials out one after another, so a record's
 * place follows from it; threads beyond the last own place share one record, however many there
 * are. A recording that is made to be left on (sampling mode) has few own places, so that a service
 * which keeps starting threads does not make the collector grow. */
#ifndef MIDDEN_COLLECT_THREADS_H
#define MIDDEN_COLLECT_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/peak.h"
#include "format/segment.h"

#define THREADS_MAX	    65536u /* records, the shared one included */
#define THREADS_SAMPLED_MAX 1024u  /* in sampling mode: 400 KiB with their totals */

/* In whole pages; all 0: nobody has looked. */
struct thread_stack {
	uint64_t reserved_bytes; /* how deep it can become */
	uint64_t resident_bytes;
	uint64_t deepest_bytes; /* that it has been */
};

struct thread {
	struct holding held; /* blocks that it allocated, whoever freed them */
	uint64_t frees;	     /* done by it, whoever allocated them */
	uint64_t freed_bytes;
	uint64_t temporary;
	uint64_t reallocations;
	uint64_t failed_allocations;
	uint64_t losses;
	uint64_t last_ptr; /* its latest allocation, for when it comes back in another slot */
	uint64_t last_ticks;
	uint64_t start_ticks;
	uint64_t end_ticks; /* UINT64_MAX: runs */
	uint32_t tid;
	uint32_t serial;
	bool shared;
	bool named;		   /* by the program, as of its end */
	struct thread_stack stack; /* as last looked at */
	uint32_t deepest_node;	   /* as its functions said: see SEGMENT_ORDER_DEEPEST; or 0 */
	uint64_t deepest_bytes;
	char name[SEGMENT_NAME_BYTES];
};

/* Zero-initialise, but for `most`. */
struct threads {
	VEC(struct thread) list;
	VEC(uint32_t) by_serial; /* serial (at most `most`) -> index in `list` + 1, 0 none */
	uint32_t most;		 /* records, the shared one included; set before the first one */
	uint32_t highest_serial;
};

void threads_fini(struct threads *t);

/* The index of the record for a thread with this serial (not 0), made if need be. */
uint32_t threads_reserve(struct threads *t, uint32_t serial);

/* Whether the program gave a name to the thread `tid`, which has ended. */
bool threads_has_named(const struct threads *t, uint32_t tid);

/* How many threads there were, those without an own record included. */
uint64_t threads_get_count(const struct threads *t);

#endif
