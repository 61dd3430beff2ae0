/* progress.c -- a bar on the terminal while something takes long. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS    UINT64_C(300000000) /* what is done by then needs no bar */
#define INTERVAL_NS UINT64_C(100000000)
#define BAR	    30u
#define LINE	    72u /* columns: the text is at most that long */

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static bool has_room(void)
{
	struct winsize size;

	return isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 &&
	       size.ws_col > LINE;
}

void progress_begin_by(struct progress *p, const char *what, uint64_t (*clock_ns)(void))
{
	*p = (struct progress){.what = what,
			       .clock_ns = clock_ns,
			       .next_ns = clock_ns() + FIRST_NS,
			       .wanted = has_room()};
}

void progress_begin(struct progress *p, const char *what)
{
	progress_begin_by(p, what, now_ns);
}

void progress_note(void *context, size_t done, size_t total)
{
	struct progress *p = context;
	uint64_t now;

	if (!p->wanted || !total || (now = p->clock_ns()) < p->next_ns)
		return;
	char bar[BAR + 1];
	size_t filled = done * BAR / total;
	memset(bar, '.', BAR);
	memset(bar, '#', filled < BAR ? filled : BAR);
	bar[BAR] = '\0';
	(void)fprintf(stderr, "\r%-30.30s [%s] %3zu%%", p->what, bar, done * 100 / total);
	(void)fflush(stderr);
	p->next_ns = now + INTERVAL_NS;
	p->drawn = true;
}

void progress_end(struct progress *p)
{
	if (!p->drawn)
		return;
	(void)fprintf(stderr, "\r%*s\r", (int)LINE, "");
	(void)fflush(stderr);
	p->drawn = false;
}
