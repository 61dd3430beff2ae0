/* surveying.c -- when a recorded program's pages are looked at: at snapshots, at the peak of its
 * resident size, when it ends, when somebody asks. Runs: in a collector process, and in the copies
 * of it that look.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/surveying.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/offshoot.h"
#include "format/clock.h"

/* A peak is looked at again when the program has grown by a sixteenth and a MiB beyond the last
 * one, and not so often that the copies take more than a sixth of a processor. */
#define STEP(bytes) ((bytes) / 16 + (1u << 20))
#define REST_TIMES  5u
#define REST_NS	    UINT64_C(50000000)

#define RESULT_FD   3

static void __attribute__((noreturn)) be_copy(const struct surveying *s)
{
	(void)prctl(PR_SET_NAME, "midden-pages");
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(OFFSHOOT_SECONDS);
	(void)dup2(s->file, RESULT_FD);
	offshoot_close_from(RESULT_FD + 1);
	survey_take(s->collector, &s->order, RESULT_FD);
	_exit(0);
}

/* A look that only who asks wants is for that snapshot alone. */
static uint32_t get_first(const struct surveying *s, uint32_t snapshot)
{
	return s->wanted && snapshot > s->snapshots ? s->snapshots + 1 : snapshot;
}

static bool start(struct surveying *s, enum profile_reason reason, uint32_t snapshot)
{
	int file = memfd_create("midden-pages", MFD_CLOEXEC);

	if (file < 0)
		return false;
	s->file = file;
	s->order = (struct survey_order){.reason = reason,
					 .snapshot = snapshot,
					 .first = get_first(s, snapshot),
					 .epoch = survey_get_epoch(s->collector)};
	survey_lend(s->collector, true);
	pid_t copy = fork();
	if (copy == 0)
		be_copy(s);
	survey_lend(s->collector, false);
	s->copy = copy > 0 ? copy : 0;
	if (copy < 0)
		close(file);
	return copy > 0;
}

static void tell(struct surveying *s, struct surveying_answer *answer)
{
	if (!s->is_asked)
		return;
	answer->kept = s->kept;
	s->answer(s->connection, answer);
	close(s->connection);
	s->is_asked = false;
}

/* What the copy left behind; nothing if it was killed. */
static void finish(struct surveying *s)
{
	struct surveying_answer answer = {0};

	if (!survey_keep(s->collector, s->file, &answer.found, answer.fault))
		(void)snprintf(answer.fault, sizeof(answer.fault),
			       "the process that looked at the pages was killed");
	close(s->file);
	s->copy = 0;
	s->ended_ns = clock_monotonic_ns();
	s->cost_ns = answer.found.cost_ns;
	if (s->order.reason == PROFILE_REASON_END)
		survey_release(s->collector);
	tell(s, &answer);
}

/* Other errors: it has been reaped unseen. */
static bool has_ended(pid_t copy, int flags)
{
	pid_t ended;

	do
		ended = waitpid(copy, NULL, flags);
	while (ended < 0 && errno == EINTR);
	return ended != 0;
}

static void reap(struct surveying *s, int flags)
{
	if (s->copy && has_ended(s->copy, flags))
		finish(s);
}

/* Where figures started over, so did the numbers of snapshots. */
static void follow_epoch(struct surveying *s)
{
	uint64_t epoch = survey_get_epoch(s->collector);

	if (s->epoch != epoch)
		s->snapshots = 0;
	s->epoch = epoch;
}

/* Snapshots since the last look share one. */
static bool serve_snapshot(struct surveying *s)
{
	uint32_t count = survey_count_snapshots(s->collector);

	follow_epoch(s);
	bool is_started =
		s->wanted && count > s->snapshots && start(s, PROFILE_REASON_SNAPSHOT, count);
	s->snapshots = count;
	return is_started;
}

static bool is_at_peak(const struct surveying *s, uint64_t rss_bytes)
{
	uint64_t rest = s->cost_ns * REST_TIMES;

	return s->wanted && rss_bytes > s->peak_bytes + STEP(s->peak_bytes) &&
	       clock_monotonic_ns() - s->ended_ns > (rest > REST_NS ? rest : REST_NS);
}

static void serve_peak(struct surveying *s)
{
	struct collect_status status;

	collect_get_status(s->collector, &status);
	if (is_at_peak(s, status.rss_bytes) && start(s, PROFILE_REASON_PEAK, 0))
		s->peak_bytes = status.rss_bytes;
}

void surveying_serve(struct surveying *s)
{
	reap(s, WNOHANG);
	if (s->copy || serve_snapshot(s))
		return;
	if (survey_is_awaited(s->collector)) {
		if (!s->wanted || !start(s, PROFILE_REASON_END, 0))
			survey_release(s->collector);
	} else {
		serve_peak(s);
	}
}

bool surveying_ask(struct surveying *s, const char *name, int connection)
{
	struct surveying_answer answer = {0};
	struct error e = {0};

	reap(s, WNOHANG);
	if (s->copy)
		return false;
	follow_epoch(s);
	s->connection = fcntl(connection, F_DUPFD_CLOEXEC, RESULT_FD + 1);
	s->is_asked = s->connection >= 0;
	if (survey_check_mode(s->collector, &e))
		(void)snprintf(answer.fault, sizeof(answer.fault), "%s", e.text);
	else if (!collect_take_snapshot(s->collector, name, &s->kept))
		(void)snprintf(answer.fault, sizeof(answer.fault),
			       "there is no room for more snapshots");
	else if (!start(s, PROFILE_REASON_SNAPSHOT, (uint32_t)s->kept.number))
		(void)snprintf(answer.fault, sizeof(answer.fault),
			       "no process can be made that looks at the pages");
	s->snapshots = survey_count_snapshots(s->collector);
	if (*answer.fault)
		tell(s, &answer);
	return true;
}

void surveying_fini(struct surveying *s)
{
	reap(s, 0);
}
