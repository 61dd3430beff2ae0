/* servant.c -- the process that answers HTTP requests about a recording. Runs: in a collector, and
 * in the process that it forks.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/servant.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/procfs.h"
#include "cli/pulse.h"
#include "serve/endpoint.h"
#include "serve/listen.h"

#define DESCRIPTORS_MAX 4096
/* The program may just have become another one, whose former servant has the port yet. */
#define LISTEN_TRIES 100
#define LISTEN_MS    100
/* A collector that has just begun, or that is busy; or the name is its predecessor's yet. */
#define LOOK_TRIES 100
#define LOOK_MS	   50

static const struct load_options no_options = {.symbols = true};

/* ---- what the endpoint asks for -------------------------------------------------------------- */

static const struct model *look(void *context, struct error *e)
{
	struct pulse *p = context;

	for (int i = 0; i < LOOK_TRIES; i++) {
		struct error now = {0};

		if (pulse_step(p, &now) == 0 && p->origin.collector == getppid())
			return p->model;
		if (i == LOOK_TRIES - 1)
			(void)error_set(e, "%s", now.set ? now.text : "another recorder answers");
		(void)poll(NULL, 0, LOOK_MS);
	}
	return NULL;
}

static int keep(void *context, const char *name, struct endpoint_snapshot *kept, struct error *e)
{
	struct pulse *p = context;
	struct collect_snapshot taken;

	if (!p->model && !look(p, e))
		return -1;
	if (control_take_snapshot(p->pid, name, &taken, e) != 0)
		return -1;
	*kept = (struct endpoint_snapshot){taken.number, taken.time_ns, taken.live_bytes,
					   taken.live_blocks};
	return 0;
}

static void weigh(void *context, struct openmetrics_cost *cost)
{
	const struct pulse *p = context;
	struct procfs_cost collector = procfs_read_cost(p->origin.collector);
	struct procfs_cost own = procfs_read_cost(getpid());

	cost->processes[0] = (struct openmetrics_process){"collector", collector.cpu_ns,
							  collector.resident_bytes};
	cost->processes[1] =
		(struct openmetrics_process){"endpoint", own.cpu_ns, own.resident_bytes};
	cost->count = 2;
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Somebody may wait for the last one who holds an end of a pipe. */
static void keep_only(struct servant_options *o)
{
	for (int fd = 3; fd < DESCRIPTORS_MAX; fd++)
		if (fd != o->listener && fd != o->announce)
			close(fd);
}

static void tell(const struct servant_options *o, const char *format, const char *what)
{
	if (o->announce >= 0)
		(void)dprintf(o->announce, format, what);
}

static int listen_patiently(struct servant_options *o)
{
	struct error e = {0};

	for (int i = 0; o->listener < 0 && i < LISTEN_TRIES; i++) {
		e = (struct error){0};
		if (servant_listen(o, &e) != 0)
			(void)poll(NULL, 0, LISTEN_MS);
	}
	if (o->listener < 0)
		tell(o, "midden: %s: the recording is not served\n", e.text);
	return o->listener < 0 ? -1 : 0;
}

static void announce(struct servant_options *o)
{
	char *url = servant_make_url(o);

	tell(o, "midden: serving %s\n", url);
	free(url);
	if (o->announce >= 0)
		close(o->announce);
	o->announce = -1;
}

static void __attribute__((noreturn))
be_servant(struct servant_options *o, pid_t target, pid_t collector)
{
	struct pulse pulse = {.pid = target, .load = &no_options};
	const struct endpoint_source source = {&pulse, look, keep, weigh};
	struct error e = {0};

	(void)prctl(PR_SET_NAME, "midden-serve");
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != collector)
		_exit(0); /* it died before it could be noticed */
	(void)signal(SIGUSR1, SIG_IGN);
	(void)mallopt(M_ARENA_MAX, 1); /* one answer is made at a time */
	keep_only(o);
	if (listen_patiently(o) != 0)
		_exit(1);
	announce(o);
	const struct endpoint_options options = {o->listener, o->address, o->token};
	if (!endpoint_open(&options, &source, &e))
		_exit(1);
	for (;;)
		(void)pause();
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void servant_start(struct servant *s, const struct servant_options *o, pid_t target)
{
	pid_t collector = getpid();

	pid_t pid = o->wanted ? fork() : -1;

	if (pid == 0) {
		struct servant_options own = *o;

		be_servant(&own, target, collector);
	}
	s->pid = pid > 0 ? pid : 0;
	close_fd(o->listener);
	close_fd(o->announce);
}

void servant_stop(struct servant *s)
{
	if (!s->pid)
		return;
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
	s->pid = 0;
}
