/* writing.c -- profiles that the recorded program wants in files while it runs. Runs: in a
 * collector process, and in the copies of it that write.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/writing.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/offshoot.h"
#include "cli/outfile.h"

/* fork() has frozen all figures. Symbols are left to whoever reads the file: a program that waits
 * for it should not wait for them. */
static void __attribute__((noreturn)) be_copy(const struct writing *w)
{
	struct error e = {0};

	(void)prctl(PR_SET_NAME, "midden-write");
	(void)signal(SIGUSR1, SIG_IGN);
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(OFFSHOOT_SECONDS);
	offshoot_close_from(STDERR_FILENO + 1);
	collect_freeze(w->collector);
	int result = outfile_is_strangers(w->current.path)
			     ? -1
			     : profile_write(w->build(w->context, false), w->current.path, &e);
	_exit(result ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void answer(struct writing *w, bool done)
{
	collect_answer_write(w->collector, &w->current, done);
	free(w->current.path);
	w->copy = 0;
}

static void reap(struct writing *w)
{
	int status = 0;

	if (w->copy && waitpid(w->copy, &status, WNOHANG) != 0)
		answer(w, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

static void start_next(struct writing *w)
{
	if (w->copy || !w->waiting.count)
		return;
	w->current = w->waiting.at[0];
	w->waiting.count--;
	memmove(w->waiting.at, w->waiting.at + 1, w->waiting.count * sizeof(w->waiting.at[0]));
	pid_t copy = fork();
	if (copy == 0)
		be_copy(w);
	w->copy = copy;
	if (copy < 0)
		answer(w, false);
}

void writing_serve(struct writing *w)
{
	struct collect_write wanted;

	while (collect_take_write(w->collector, &wanted))
		*vec_push(&w->waiting) = wanted;
	reap(w);
	start_next(w);
}

void writing_fini(struct writing *w)
{
	for (size_t i = 0; i < w->waiting.count; i++)
		free(w->waiting.at[i].path);
	vec_free(&w->waiting);
	if (w->copy)
		free(w->current.path);
}
