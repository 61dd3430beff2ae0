/* namer.c -- looks up the names for the profiles of followed processes, one after the other.
 * Runs: in `midden record`, and in a process of its own that does the work.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/namer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/pipes.h"
#include "cli/recording.h"
#include "model/resolve.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

#define MODULES_MOST 64u /* that stay open, half of them for variables: libc takes 12 MB */
#define MODEST_NICE  19

struct answer {
	uint64_t done;
	uint64_t total;
	uint32_t is_over;
};

/* ---- the process that does it ---------------------------------------------------------------- */

struct server {
	int orders_in;
	int answers_out;
};

/* Ends the process when what it is at is of no use: the recorder is gone, or another one that is in
 * a hurry does it in less time than is left here, at what may be a hundredth of a busy core. */
static void tell_progress(void *context, size_t done, size_t total)
{
	const struct server *s = context;

	if (!pipes_has_other_end(s->answers_out) ||
	    (done < total / 2 && !pipes_has_other_end(s->orders_in)))
		_exit(0);
	(void)pipes_write(s->answers_out, &(struct answer){.done = done, .total = total},
			  sizeof(struct answer));
}

/* A profile that is not there any more, or is somebody else's by now, is left alone; and so are all
 * once the recorder is gone: its user may do with them what he likes. */
static void name_profile(const char *path, const struct resolve_options *how, int answers_out)
{
	struct error ignored = {0};
	struct profile *p = profile_read(path, &ignored);

	if (p && !p->resolved && !p->damaged) {
		(void)resolve_profile(p, how, NULL);
		if (pipes_has_other_end(answers_out) && access(path, W_OK) == 0)
			(void)profile_write(p, path, &ignored);
	}
	profile_free(p);
}

static void __attribute__((noreturn)) serve(int orders_in, int answers_out, bool in_a_hurry)
{
	struct server self = {orders_in, answers_out};
	struct symbol_options symbols = {.pool = symbol_pool_new(MODULES_MOST)};
	const struct resolve_options how = {
		.symbols = &symbols,
		.variables = true,
		.threads = in_a_hurry ? 0 : 1,
		.progress = tell_progress,
		.context = &self,
	};
	char path[PATH_MAX];

	if (!in_a_hurry)
		(void)setpriority(PRIO_PROCESS, 0, MODEST_NICE);
	while (pipes_read(orders_in, path, sizeof(path))) {
		name_profile(path, &how, answers_out);
		if (!pipes_write(answers_out, &(struct answer){.is_over = 1},
				 sizeof(struct answer)))
			break;
	}
	_exit(0); /* what it holds goes quicker so */
}

/* ---- its parent ------------------------------------------------------------------------------ */

static void __attribute__((noreturn))
become_server(struct namer *n, const int *orders, const int *answers)
{
	recording_isolate();
	(void)prctl(PR_SET_NAME, "midden-names");
	n->enter(n->context);
	close(orders[1]);
	close(answers[0]);
	serve(orders[0], answers[1], n->in_a_hurry);
}

static bool start(struct namer *n)
{
	int orders[2], answers[2];

	if (pipe2(orders, O_CLOEXEC))
		return false;
	if (pipe2(answers, O_CLOEXEC)) {
		close(orders[0]);
		close(orders[1]);
		return false;
	}
	pid_t pid = fork();
	if (pid == 0)
		become_server(n, orders, answers);
	close(orders[0]);
	close(answers[1]);
	if (pid < 0) {
		close(orders[1]);
		close(answers[0]);
		return false;
	}
	n->pid = pid;
	n->orders_out = orders[1];
	n->answers_in = answers[0];
	return true;
}

/* Gives it the next one. What cannot be done is left to the first report. */
static void go_on(struct namer *n)
{
	char path[PATH_MAX] = "";

	if (n->is_at_work || n->next == n->paths.count || (n->pid && n->orders_out < 0))
		return;
	if (!n->pid && !start(n)) {
		n->next = n->paths.count;
		return;
	}
	memcpy(path, n->paths.at[n->next], strlen(n->paths.at[n->next]));
	n->is_at_work = pipes_write(n->orders_out, path, sizeof(path));
}

void namer_add(struct namer *n, const char *path)
{
	if (strlen(path) >= PATH_MAX)
		return;
	*vec_push(&n->paths) = mem_copy_string(path);
	go_on(n);
}

int namer_get_fd(const struct namer *n)
{
	return n->pid ? n->answers_in : -1;
}

/* One that has ended while it was at work has died of that profile, unless it was to end. */
static void note_end(struct namer *n)
{
	namer_close(n);
	n->pid = 0;
	n->next += n->is_at_work && n->orders_out >= 0;
	n->is_at_work = false;
	n->done = n->total = 0;
}

void namer_take(struct namer *n)
{
	struct answer answer;

	if (!pipes_read(n->answers_in, &answer, sizeof(answer))) {
		note_end(n);
	} else if (answer.is_over) {
		n->next++;
		n->is_at_work = false;
		n->done = n->total = 0;
	} else {
		n->done = answer.done;
		n->total = answer.total;
	}
	go_on(n);
}

static void end_server(struct namer *n)
{
	if (n->pid && n->orders_out >= 0)
		close(n->orders_out);
	n->orders_out = -1;
}

/* The one that stands back could not come forward again: another one takes over. */
void namer_hurry(struct namer *n)
{
	if (n->in_a_hurry)
		return;
	n->in_a_hurry = true;
	if (n->pid)
		end_server(n);
}

size_t namer_give_up(struct namer *n)
{
	size_t kept = n->next + n->is_at_work, left = n->paths.count - n->next;

	while (n->paths.count > kept)
		free(n->paths.at[--n->paths.count]);
	return left;
}

bool namer_is_done(const struct namer *n)
{
	return n->next == n->paths.count;
}

void namer_get_progress(const struct namer *n, size_t *done, size_t *total)
{
	*done = 1000 * n->next + (n->total ? 1000 * n->done / n->total : 0);
	*total = 1000 * n->paths.count;
}

void namer_close(const struct namer *n)
{
	if (!n->pid)
		return;
	if (n->orders_out >= 0)
		close(n->orders_out);
	close(n->answers_in);
}

void namer_fini(struct namer *n)
{
	namer_close(n);
	while (n->paths.count)
		free(n->paths.at[--n->paths.count]);
	vec_free(&n->paths);
}
