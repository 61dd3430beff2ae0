/* tracking.c -- a program's figures over time, for `midden top`: now, a moment ago, and at a mark.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/tracking.h"

#include <errno.h>
#include <signal.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/procfs.h"

/* Where a program becomes another one, nobody may answer for a moment. */
#define MISSES_MOST 2u

static int begin_with_file(struct tracking *t, const char *file)
{
	struct profile *p = load_profile(file, t->pulse.load);

	if (!p)
		return COMMAND_FAILED;
	pulse_take(&t->pulse, p);
	return COMMAND_GOOD;
}

int tracking_begin(struct tracking *t, pid_t pid, const char *file, const struct load_options *load)
{
	struct error e = {.offset = -1};

	t->pulse.load = load;
	if (!pid)
		return begin_with_file(t, file);
	t->pulse.pid = pid;
	if (pulse_step(&t->pulse, &e) != 0) {
		message_print("%s", e.text);
		return COMMAND_FAILED;
	}
	t->live = true;
	tracking_set_mark(t);
	return COMMAND_GOOD;
}

static bool is_running(pid_t pid)
{
	int status;

	return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) && !procfs_find_exit(pid, &status);
}

/* The file that the collector has written has what came after we last asked. */
static bool read_last(struct tracking *t)
{
	struct error ignored = {0};
	struct profile *last = profile_read(t->pulse.origin.path, &ignored);

	if (!last)
		return false;
	if (last->run.pid != t->pulse.profile->run.pid) { /* written anew by somebody else */
		profile_free(last);
		return false;
	}
	load_new_symbols(last, t->pulse.profile, t->pulse.load);
	pulse_take(&t->pulse, last);
	return true;
}

bool tracking_step(struct tracking *t)
{
	struct ranking_base last = {0};
	struct error ignored = {0};

	if (!t->live)
		return false;
	ranking_note(&last, t->pulse.profile);
	if (pulse_step(&t->pulse, &ignored) != 0) {
		t->misses++;
		t->live = t->misses < MISSES_MOST || is_running(t->pulse.origin.collector);
		if (t->live || !read_last(t)) {
			ranking_base_free(&last);
			return false;
		}
	}
	ranking_base_free(&t->before);
	t->before = last;
	t->misses = 0;
	return true;
}

void tracking_set_mark(struct tracking *t)
{
	ranking_note(&t->mark, t->pulse.profile);
}

void tracking_unset_mark(struct tracking *t)
{
	ranking_base_free(&t->mark);
}

struct ranking_request tracking_get_request(const struct tracking *t)
{
	return (struct ranking_request){
		.model = t->pulse.model,
		.mark = &t->mark,
		.before = &t->before,
		.key = t->view.key,
		.by_stack = t->view.by_stack,
		.filter = t->view.filter,
	};
}

struct top_text tracking_get_text(const struct tracking *t, const struct ranking *r)
{
	return (struct top_text){
		.model = t->pulse.model,
		.ranking = r,
		.mark = &t->mark,
		.key = t->view.key,
		.by_stack = t->view.by_stack,
		.filter = t->view.filter,
		.state = t->live || !t->pulse.pid ? "" : "ended",
	};
}

void tracking_end(struct tracking *t)
{
	pulse_end(&t->pulse);
	ranking_base_free(&t->mark);
	ranking_base_free(&t->before);
}
