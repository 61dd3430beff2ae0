/* collect.h -- from a target's segment to a profile. Runs: in the collector process, one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_COLLECT_H
#define MIDDEN_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "format/segment.h"
#include "profile/profile.h"

/* What a recording waits for. The first two may be NULL: then they are not. */
struct collect_start {
	/* Whether the object at that path, "" the program, is the one. */
	bool (*has_library)(void *context, const char *path);
	/* Whether the code at an address of the object's file is in the function; `has_name`: of a
	 * function that has a name and no address. */
	bool (*has_function)(void *context, const char *path, uint64_t address);
	bool (*has_name)(void *context, const char *function);
	void *context;
};

struct collect_config {
	uint64_t buffer_bytes; /* event buffers in the segment, at least 1 MiB is given */
	uint32_t max_depth;
	uint32_t patience_ms;
	enum segment_python python;
	enum segment_pymalloc pymalloc;
	bool follow;
	uint32_t mode;		/* enum segment_mode; the rest is for SAMPLE */
	uint32_t sample_blocks; /* 0: as many as there is room for */
	uint64_t sample_period;
	uint64_t sample_seed;
	uint64_t small_period; /* of small objects of Python, where all else is recorded */
	bool maps;	       /* what the program maps itself is recorded too */
	bool delayed;	       /* the program will switch recording on */
	const struct collect_start *start; /* nothing is recorded before that; NULL: at once */
	bool leaks;			   /* the program asks what is lost when it exits */
	bool enter_exit;		   /* stacks by what instrumented functions say */
	bool stacks;			   /* those of threads are looked at when they end */
	int signal;			   /* that asks for snapshots; 0 none */
	bool surveys;			   /* look at what is resident: see survey.h */
	pid_t undertaker; /* waits for every child it has: see twin.h; 0: there is nobody */
	struct trace_writer *trace; /* gets every event; NULL: none is wanted. Not owned */
};

struct collector;

/* Makes the segment for a target that said hello: a memfd (or an unlinked file where there is no
 * memfd), sealed against resizing, header filled in. NULL with `e` on failure. */
struct collector *collect_new(const struct collect_config *config,
			      const struct segment_hello *hello, struct error *e);
void collect_free(struct collector *c);

/* The segment's descriptor, to hand to the target; collect_close_fd once that is done. */
int collect_get_fd(const struct collector *c);
void collect_close_fd(struct collector *c);

/* Where the recording stands, for progress lines and live views; O(1). */
struct collect_status {
	uint64_t events;
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes;
	uint64_t allocations;
	uint64_t frees;
	uint64_t lost_events;
	uint64_t threads_live;
	uint64_t elapsed_ns;
	uint64_t rss_bytes;	/* as last looked up */
	uint64_t virtual_bytes; /* so too */
};
void collect_get_status(const struct collector *c, struct collect_status *status);

/* The most that any thread's stack that lives has ever used, in whole pages; 0 if the kernel does
 * not tell. Reads the process's list of mappings. */
uint64_t collect_find_deepest_stack(struct collector *c);

/* The status that the target gave to exit(); false: it did not get there (or says so). */
bool collect_find_exit(const struct collector *c, int *code);

/* Whether the program has given its main thread a name of its own. */
bool collect_has_given_name(const struct collector *c);

/* Whether the program became another one, as far as it could say so itself. */
bool collect_has_execed(const struct collector *c);

/* Whether it was seen to start other processes. */
bool collect_has_children(const struct collector *c);

/* Whether the target has ever got as far as recording. */
bool collect_has_begun(const struct collector *c);

/* Whether the program seems to bring a malloc of its own, which hides ours. */
bool collect_has_foreign_allocator(const struct collector *c);

/* Whether the target may not read through the kernel, so that stacks of its own making (coroutines,
 * signal stacks) end where they begin. */
bool collect_has_reads_denied(const struct collector *c);

/* Whether functions were to say that they are entered, and none has. */
bool collect_has_nothing_entered(const struct collector *c);

/* Why collect_run came back. */
enum collect_end {
	COLLECT_END_GONE = 0,	   /* the process is dead; all it published has been handled */
	COLLECT_END_EXEC = 1,	   /* it replaced itself by another program */
	COLLECT_END_ABANDONED = 2, /* the target gave up on us (we were stopped for too long), or we
				      on it (it claims more blocks than can be) */
	COLLECT_END_STOPPED = 3,   /* `stop` became true */
	COLLECT_END_TICK = 4,	   /* `tick_ns` have passed: call again */
};

/* Drains until the target is gone, or for about tick_ns (0: no limit). `stop` may be NULL. */
enum collect_end collect_run(struct collector *c, uint64_t tick_ns, const volatile bool *stop);

/* One drain round without waiting; the number of events handled (tests, benchmarks). */
uint64_t collect_drain(struct collector *c);

/* What a snapshot kept. */
struct collect_snapshot {
	uint64_t number; /* from 1 */
	uint64_t time_ns;
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t namesakes; /* earlier ones with the same name */
};

/* Keeps what is live now, stack by stack, under a name. False if there is no room for it. */
bool collect_take_snapshot(struct collector *c, const char *name, struct collect_snapshot *kept);

/* A profile that the program wants in a file, and waits for. */
struct collect_write {
	char *path; /* absolute; malloc'ed */
	uint32_t slot;
	uint32_t question;
};

/* The next one, for the caller to see to; collect_run comes back early where there is one. False:
 * there is none. */
bool collect_take_write(struct collector *c, struct collect_write *wanted);

/* Tells whoever waits for it how it went. */
void collect_answer_write(struct collector *c, const struct collect_write *wanted, bool done);

/* What a look may be to the target that it is not by itself; bits. */
enum collect_leave {
	COLLECT_LONG_STOP = 1,	/* it is stopped for as long as it takes (see deadline.h) */
	COLLECT_CHILD_COPY = 2, /* it may get a child (see twin.h) */
};

/* Finds out which blocks nothing points to any more, for which the target is stopped for a moment,
 * or with leave (enum collect_leave) for longer; profiles have it from then on. 0, or -1 with
 * `e`. */
int collect_find_lost(struct collector *c, unsigned leave, struct error *e);
void collect_forget_lost(struct collector *c);

/* Why the program could not be told when it asked itself; "": it could, or did not ask. */
const char *collect_get_lost_fault(const struct collector *c);

/* For a copy of this process that a fork made, to build a profile in: what the last round handled
 * is all there is from here on, and the trace stays its owner's. The copy has no table of live
 * blocks (see cells.c), so it can handle no events; its descriptors may be closed. Looks at the
 * stacks and loaded objects of a program that is still there. */
void collect_freeze(struct collector *c);

/* The profile so far (`run` holds only what the collector knows: pid, duration, clock-derived
 * times, machine, children, page size; the caller adds program, command, exit status). The
 * collector stays usable. */
struct profile *collect_build_profile(struct collector *c);

/* The same without what was before, and who had which share of a site: the sites as they are, one
 * point of time, no snapshots. Its size depends on the number of stacks alone, for those who ask
 * every second. */
struct profile *collect_build_brief(struct collector *c);

#endif
