/* watch.h -- the target process from outside: is it there, is it still the same program, how big
 * is it, what are its threads called.
 * Runs: in the collector process, one thread, a few times a second.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_WATCH_H
#define MIDDEN_COLLECT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct watch {
	pid_t pid;
	int pidfd;    /* -1: the kernel has none */
	int statm_fd; /* -1: not readable */
	int status_fd;
	int comm_fd;	  /* the main thread's name */
	int task_fd;	  /* the directory of its threads */
	bool gone;	  /* was dead when we first looked */
	bool shares_tids; /* its thread ids mean the same to us: one pid namespace */
	uint64_t page_bytes;
	uint64_t rss_bytes;
	uint64_t virtual_bytes;
	uint64_t rss_peak_bytes;
};

void watch_open(struct watch *w, pid_t pid);
void watch_close(struct watch *w);

/* The process has ended (it may not have been waited for yet). */
bool watch_is_gone(const struct watch *w);

/* Rests for so long, or until the process has ended. */
void watch_await_end(const struct watch *w, uint64_t ns);

/* The mapping of the file with this inode is still there; true too where we may not look, or
 * cannot know (inode 0).
 * Without it, the process has replaced itself by another program. */
bool watch_has_segment(const struct watch *w, uint64_t inode);

/* The thread exists, as far as we can tell. */
bool watch_has_thread(const struct watch *w, uint32_t tid);

/* How many threads it has; 0: not known. */
uint32_t watch_count_threads(const struct watch *w);

/* What the thread is called now; false if that cannot be had. For the main thread until it has been
 * waited for, for others while they run. */
bool watch_read_main_name(const struct watch *w, char *name, size_t room);
bool watch_read_name(const struct watch *w, uint32_t tid, char *name, size_t room);

/* Reads the resident size, and the kernel's own record of its maximum. */
void watch_sample_rss(struct watch *w);
void watch_sample_rss_peak(struct watch *w);

#endif
