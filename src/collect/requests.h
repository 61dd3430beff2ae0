/* requests.h -- whether a process that has requests under way (io_uring, aio) can be forked.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A direct read has a device write to pages by itself. Of pages that the kernel has pinned for it
 * (FOLL_PIN) a fork gives the child copies at once, and the parent keeps the ones that are written
 * to. Of pages that it holds by a mere reference (FOLL_GET) it does not know: when the parent
 * writes to such a page for the first time after the fork, it gets another one, and what the
 * device brings is lost to it. All else that requests do goes through the page tables, or writes
 * to no page.
 *
 * Linux 6.5 and later pin wherever a block device is behind it. Other file systems may not; there
 * is no telling whether a request of theirs is under way, as its descriptor may be closed by now.
 * So none of them may be mounted where the process is. Where overlays or fuse are, which depend on
 * what is beneath or behind them, no descriptor may be open for direct reads from one. */
#ifndef MIDDEN_COLLECT_REQUESTS_H
#define MIDDEN_COLLECT_REQUESTS_H

#include <stdbool.h>
#include <sys/types.h>

/* By /proc as of now: to be asked while the process is stopped. `has_ring`: it has an io_uring. */
bool requests_survive_fork(pid_t pid, bool has_ring);

/* ---- its parts ------------------------------------------------------------------------------- */

/* Whether a kernel with this name ("6.12.48-amd64") pins what block devices write to. */
bool requests_are_pinned_by(const char *release);

/* What direct reads from a file system do. */
enum requests_mount {
	REQUESTS_PIN,	  /* or there are none */
	REQUESTS_DOUBTED, /* it depends on what is beneath */
	REQUESTS_UNSAFE,
};

/* Of a line of /proc/PID/mountinfo. */
enum requests_mount requests_judge_mount(const char *line);

#endif
