/* following.c -- a program that is still being recorded, state after state, for the viewer. Runs:
 * in the midden command, called by `view`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/following.h"

#include <errno.h>
#include <signal.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/procfs.h"

/* Where a program becomes another one, nobody may answer for a moment. */
#define MISSES_MOST 2u

int following_begin(struct following *f, pid_t pid, const struct load_options *load)
{
	struct error e = {.offset = -1};

	f->pid = pid;
	f->load = load;
	struct profile *p = control_read_profile(pid, &f->origin, &e);
	if (!p) {
		message_print("%s", e.text);
		return COMMAND_FAILED;
	}
	load_symbols(p, load, RESOLVE_MISSING, NULL);
	viewing_init(&f->now, p, load);
	f->now.request.live = true;
	f->now.request.generation = 1;
	return COMMAND_GOOD;
}

static void replace(struct following *f, struct profile *p, bool live)
{
	uint64_t generation = f->now.request.generation + 1;

	if (!p->resolved)
		load_new_symbols(p, f->now.profile, f->load);
	viewing_close(&f->before);
	f->before = f->now;
	f->now = (struct viewing){0};
	viewing_init(&f->now, p, f->load);
	f->now.request.live = live;
	f->now.request.generation = generation;
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool is_running(pid_t pid)
{
	int status;

	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) && !procfs_find_exit(pid, &status);
}

/* What the collector has written by now; NULL: nothing. Another recording may have left a file of
 * that name. */
static struct profile *read_written(const struct following *f)
{
	const struct profile_run *run = &f->now.profile->run;
	struct error ignored = {0};
	struct profile *p = *f->origin.path ? profile_read(f->origin.path, &ignored) : NULL;

	if (p && p->run.pid == run->pid && p->run.start_unix_ns == run->start_unix_ns)
		return p;
	if (p)
		profile_free(p);
	return NULL;
}

/* Nobody answers: true if that is the end. */
static bool look_for_end(struct following *f)
{
	struct profile *p = ++f->misses < MISSES_MOST ? NULL : read_written(f);

	if (p) {
		replace(f, p, false);
		return true;
	}
	if (f->misses < MISSES_MOST || is_running(f->origin.collector))
		return false;
	f->now.request.live = false;
	f->now.request.generation++;
	return true;
}

bool following_step(struct following *f)
{
	struct error ignored = {0};
	struct profile *p = control_read_profile(f->pid, &f->origin, &ignored);

	if (!p)
		return look_for_end(f);
	f->misses = 0;
	replace(f, p, true);
	return true;
}

void following_end(struct following *f)
{
	viewing_close(&f->before);
	viewing_close(&f->now);
}
