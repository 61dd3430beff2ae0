/* supervisor.c -- the process above a recording: the program, its collectors, their reports.
 * Runs: in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/launch.h"
#include "cli/message.h"
#include "cli/namer.h"
#include "cli/obstacle.h"
#include "cli/procfs.h"
#include "cli/progress.h"
#include "cli/recording_report.h"
#include "cli/summary.h"

/* So many collectors for one process at a time: one records, and the others are still writing what
 * the process was before it became another program. */
#define WORKERS_PER_PROCESS 32

/* A collector that we forked, and the process it records. */
struct worker {
	pid_t pid; /* 0: reaped */
	pid_t target;
	int report_in;	/* -1: closed */
	int status_out; /* -1: not the program itself, or told already */
	bool has_result;
};

struct supervisor {
	const struct supervisor_request *request;
	char *directory; /* private, holds the socket */
	struct sockaddr_un address;
	int listener;
	int signals;
	pid_t self;
	struct timespec began; /* as the kernel puts it into inodes, which is not to the last ns */
	pid_t program;
	bool program_ended;
	struct recording_ending ending;
	bool interrupted; /* the user does not want to wait for followed processes */
	bool showed_progress;
	unsigned idle;		 /* processes that did nothing, and have no profile */
	struct progress symbols; /* zero: not begun */
	bool refused;		 /* said why somebody was not recorded */
	bool was_flooded;	 /* said that a process wants more than its collectors */
	bool has_launcher;	 /* the last image that was recorded made way for another */
	VEC(struct worker) workers;
	struct namer namer;
	struct summary summary;
};

/* ---- socket ---------------------------------------------------------------------------------- */

static int try_directory(struct supervisor *s, const char *base)
{
	if (!base || !*base || strlen(base) > sizeof(s->address.sun_path) - 32)
		return -1;
	s->directory = mem_format("%s/midden-XXXXXX", base);
	if (mkdtemp(s->directory)) /* mode 0700 */
		return 0;
	free(s->directory);
	s->directory = NULL;
	return -1;
}

static int open_listener(struct supervisor *s, struct error *e)
{
	if (try_directory(s, getenv("XDG_RUNTIME_DIR")) && try_directory(s, getenv("TMPDIR")) &&
	    try_directory(s, "/tmp"))
		return error_set_errno(e, "cannot make a private directory in /tmp");
	s->address = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(s->address.sun_path, sizeof(s->address.sun_path), "%s/record", s->directory);
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listener < 0 ||
	    bind(s->listener, (const struct sockaddr *)&s->address, sizeof(s->address)) ||
	    listen(s->listener, 128))
		return error_set_errno(e, "cannot listen on %s", s->address.sun_path);
	return 0;
}

static void close_listener(struct supervisor *s)
{
	if (s->listener >= 0)
		close(s->listener);
	if (s->directory) {
		(void)unlink(s->address.sun_path);
		(void)rmdir(s->directory);
	}
	free(s->directory);
	s->directory = NULL;
}

/* ---- workers --------------------------------------------------------------------------------- */

static bool is_own_user(int connection)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0 || geteuid() == 0);
}

/* Without --follow only the program's own process is recorded, whatever it turns into by exec, and
 * no child. */
static bool is_wanted(const struct supervisor *s, const struct segment_hello *hello)
{
	const struct recording_options *options = s->request->recording;
	bool is_program = hello->pid == s->program;

	return (options->collect.follow || is_program) &&
	       choice_has(&options->choice, hello->pid, is_program);
}

/* A process that goes on saying hello, which the library does not, would have a collector each
 * time. */
static bool wants_too_many(struct supervisor *s, pid_t target)
{
	unsigned busy = 0;

	for (size_t i = 0; i < s->workers.count; i++)
		busy += s->workers.at[i].target == target && s->workers.at[i].pid > 0;
	if (busy < WORKERS_PER_PROCESS)
		return false;
	if (!s->was_flooded)
		message_print("process %d has %u collectors: it gets no more", (int)target, busy);
	s->was_flooded = true;
	return true;
}

/* How many there have been of this process: it says hello again when it has become another program.
 * One that was forked has none, unless its number was another's before; that one's profile is not
 * to be written over. */
static uint32_t count_former_images(const struct supervisor *s, pid_t target)
{
	uint32_t images = 0;

	for (size_t i = 0; i < s->workers.count; i++)
		images += s->workers.at[i].target == target;
	return images;
}

/* They have nothing more to say. */
static void end_former_images(const struct supervisor *s, pid_t target)
{
	for (size_t i = 0; i < s->workers.count; i++) {
		const struct worker *w = &s->workers.at[i];

		if (w->target == target && w->pid > 0 && !w->has_result)
			(void)kill(w->pid, SIGUSR1);
	}
}

/* Somebody may wait for the last one who holds an end of a pipe: a collector that outlives us must
 * see its reports fail, and not be kept waiting by a reader that never reads. */
static void close_pipes_of_others(const struct supervisor *s)
{
	for (size_t i = 0; i < s->workers.count; i++) {
		const struct worker *w = &s->workers.at[i];

		if (w->report_in >= 0)
			close(w->report_in);
		if (w->status_out >= 0)
			close(w->status_out);
	}
}

/* In a process that is to outlive this one. */
static void leave(void *context)
{
	const struct supervisor *s = context;

	close(s->listener);
	close(s->signals);
	close_pipes_of_others(s);
}

static void __attribute__((noreturn))
become_collector(struct supervisor *s, const struct segment_hello *hello,
		 const struct recording_wires *wires)
{
	struct recording_options options = *s->request->recording;

	options.collect.undertaker = s->self; /* see reap() */
	recording_isolate();
	leave(s);
	namer_close(&s->namer);
	_exit(recording_run(&options, hello, wires) ? COMMAND_FAILED : COMMAND_GOOD);
}

/* The program goes on unrecorded. `errno` says why. */
static void refuse(struct supervisor *s, int connection, const struct segment_hello *hello)
{
	message_print("cannot start a collector for process %d: %s", (int)hello->pid,
		      strerror(errno));
	recording_refuse(connection);
	s->refused = true;
}

static void start_worker(struct supervisor *s, int connection, const struct segment_hello *hello)
{
	struct worker worker = {.target = hello->pid, .report_in = -1, .status_out = -1};
	bool is_program = hello->pid == s->program;
	bool follow = s->request->recording->collect.follow;
	int report[2], status[2] = {-1, -1};
	uint32_t former = count_former_images(s, hello->pid);

	if (!hello->forked)
		end_former_images(s, hello->pid);
	if (pipe2(report, O_CLOEXEC)) {
		refuse(s, connection, hello);
		return;
	}
	if (is_program && pipe2(status, O_CLOEXEC)) {
		refuse(s, connection, hello);
		close(report[0]);
		close(report[1]);
		return;
	}
	const struct recording_wires wires = {.connection = connection,
					      .status_in = status[0],
					      .report_out = report[1],
					      .is_program = is_program,
					      .has_namer = follow,
					      .began = s->began,
					      .image = former + 1};
	worker.pid = fork();
	if (worker.pid == 0) {
		close(report[0]);
		if (is_program)
			close(status[1]); /* or we would not see the recorder die */
		become_collector(s, hello, &wires);
	}
	close(report[1]);
	if (is_program)
		close(status[0]);
	worker.report_in = report[0];
	worker.status_out = status[1];
	if (worker.pid > 0) {
		*vec_push(&s->workers) = worker;
		return;
	}
	refuse(s, connection, hello);
	close(report[0]);
	if (is_program)
		close(status[1]);
}

static void accept_target(struct supervisor *s)
{
	struct segment_hello hello;
	int connection = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

	if (connection < 0)
		return;
	if (is_own_user(connection) && recording_take_hello(connection, &hello) == 0) {
		if (is_wanted(s, &hello) && !wants_too_many(s, hello.pid))
			start_worker(s, connection, &hello);
		else
			recording_refuse(connection);
	}
	close(connection);
}

static void tell_status(struct supervisor *s)
{
	for (size_t i = 0; i < s->workers.count; i++) {
		struct worker *w = &s->workers.at[i];

		if (w->status_out < 0)
			continue;
		(void)!write(w->status_out, &s->ending, sizeof(s->ending));
		close(w->status_out);
		w->status_out = -1;
	}
}

static void end_progress(struct supervisor *s)
{
	if (s->showed_progress)
		summary_end_progress();
	s->showed_progress = false;
	progress_end(&s->symbols);
}

/* One bar for all collectors: as a rule one of them is at it. */
static void tell_symbols(struct supervisor *s, size_t done, size_t total)
{
	if (!s->symbols.what) {
		end_progress(s);
		progress_begin(&s->symbols, "midden: looking up symbols");
	}
	progress_note(&s->symbols, done, total);
}

static bool has_later_image(const struct supervisor *s, const struct worker *w)
{
	for (const struct worker *x = w + 1; x < s->workers.at + s->workers.count; x++)
		if (x->target == w->target)
			return true;
	return false;
}

static void take_report(struct supervisor *s, struct worker *w)
{
	struct recording_report report;

	if (!recording_report_take(w->report_in, &report)) {
		close(w->report_in);
		w->report_in = -1;
		if (!w->has_result) {
			end_progress(s);
			message_print("process %d: its collector died, the profile is lost",
				      (int)w->target);
		}
		return;
	}
	if (!report.is_result && report.symbols_total) {
		tell_symbols(s, (size_t)report.symbols_done, (size_t)report.symbols_total);
		return;
	}
	if (!report.is_result) {
		summary_print_progress(&report.status);
		s->showed_progress = true;
		return;
	}
	end_progress(s);
	w->has_result = true;
	s->has_launcher = report.is_launcher && !has_later_image(s, w);
	s->idle += report.is_empty && !report.failed;
	if (report.is_unnamed && !report.failed)
		namer_add(&s->namer, report.path);
	summary_print(&s->summary, &report, w->target == s->program);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* While the dead program has not been waited for, its name can still be had. */
static void note_name(struct supervisor *s)
{
	siginfo_t info = {0};

	if (s->program_ended ||
	    waitid(P_PID, (id_t)s->program, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid != s->program)
		return;
	char *name = procfs_read_name(s->program);
	(void)snprintf(s->ending.name, sizeof(s->ending.name), "%s", name);
	free(name);
}

/* Others than the program and the collectors are copies of the program (collect/twin.h). */
static void reap(struct supervisor *s)
{
	struct rusage used;
	int status;
	pid_t pid;

	note_name(s);
	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		if (pid == s->program && !s->program_ended) {
			s->program_ended = true;
			s->ending.wait_status = status;
			s->ending.rss_peak_bytes = (uint64_t)used.ru_maxrss * 1024;
			tell_status(s);
		}
		for (size_t i = 0; i < s->workers.count; i++)
			if (s->workers.at[i].pid == pid)
				s->workers.at[i].pid = 0;
	}
}

static bool has_live_target(const struct supervisor *s)
{
	for (size_t i = 0; i < s->workers.count; i++)
		if (s->workers.at[i].report_in >= 0 && s->workers.at[i].target != s->program &&
		    kill(s->workers.at[i].target, 0) == 0)
			return true;
	return false;
}

/* All profiles are written. */
static bool is_recorded(const struct supervisor *s)
{
	for (size_t i = 0; i < s->workers.count; i++)
		if (s->workers.at[i].report_in >= 0)
			return false;
	return s->program_ended;
}

/* By whoever started us (nohup): it is taken all the same, as it is blocked, for the program may
 * have a use for it. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void take_signal(struct supervisor *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	int number = (int)info.ssi_signo;
	if (number == SIGCHLD) {
		reap(s);
	} else if (s->program_ended) {
		/* The profiles of what has ended are being written; only what still runs is
		 * left, or names alone. */
		s->interrupted = s->interrupted || (number != SIGWINCH && !is_ignored(number) &&
						    (has_live_target(s) || is_recorded(s)));
	} else if (info.ssi_code <= 0) {
		/* Sent by a process, to us alone; the terminal sends its signals to the program as
		 * well. */
		(void)kill(s->program, number);
	}
}

/* `before` is the mask that the program gets; *ignored: SIGCHLD was, for whoever started us. */
static int open_signals(struct supervisor *s, sigset_t *before, bool *ignored)
{
	static const int taken[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP,
				    SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
	sigset_t set;

	/* Ignored, it would reap our children unseen. */
	*ignored = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(&set, taken[i]);
	(void)sigprocmask(SIG_BLOCK, &set, before);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC);
	return s->signals < 0 ? -1 : 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool is_finished(const struct supervisor *s)
{
	return s->program_ended && (s->interrupted || (is_recorded(s) && namer_is_done(&s->namer)));
}

static void take_names(struct supervisor *s)
{
	size_t done, total;

	namer_take(&s->namer);
	namer_get_progress(&s->namer, &done, &total);
	if (is_recorded(s) && s->request->recording->symbol_progress)
		tell_symbols(s, done, total);
}

static void wait_once(struct supervisor *s)
{
	VEC(struct pollfd) ready = {0};
	VEC(size_t) which = {0};

	*vec_push(&ready) = (struct pollfd){.fd = s->signals, .events = POLLIN};
	*vec_push(&ready) = (struct pollfd){.fd = s->listener, .events = POLLIN};
	*vec_push(&ready) = (struct pollfd){.fd = namer_get_fd(&s->namer), .events = POLLIN};
	for (size_t i = 0; i < s->workers.count; i++) {
		if (s->workers.at[i].report_in < 0)
			continue;
		*vec_push(&ready) =
			(struct pollfd){.fd = s->workers.at[i].report_in, .events = POLLIN};
		*vec_push(&which) = i;
	}
	if (poll(ready.at, ready.count, -1) > 0) {
		/* Reports before new workers: a push may move the array. */
		for (size_t i = 3; i < ready.count; i++)
			if (ready.at[i].revents)
				take_report(s, &s->workers.at[which.at[i - 3]]);
		if (ready.at[2].revents)
			take_names(s);
		if (ready.at[0].revents)
			take_signal(s);
		if (ready.at[1].revents)
			accept_target(s);
	}
	vec_free(&ready);
	vec_free(&which);
}

static void say_if_nothing(const struct supervisor *s)
{
	const char *program = s->request->arguments[0];

	if (s->workers.count == 0 && !s->refused &&
	    choice_is_narrow(&s->request->recording->choice)) {
		message_print("no process was recorded: none is what --only, --ranks or "
			      "--children-only ask for");
	} else if (s->workers.count == 0 && !s->refused) {
		char *why = obstacle_explain(program);

		message_print("nothing was recorded of %s: %s", program, why);
		free(why);
	} else if (s->has_launcher) {
		message_print("nothing was recorded: %s became a program that did not load "
			      "libmidden.so (statically linked, setuid, or of another "
			      "architecture?)",
			      program);
	} else if (s->interrupted && !is_recorded(s)) {
		message_print("some processes are still running; their profiles are written when "
			      "they end");
	}
}

/* Only when interrupted is there anything left. */
static void say_if_unnamed(struct supervisor *s)
{
	size_t left = namer_give_up(&s->namer);

	if (left && !s->request->quiet)
		message_print("the symbols of %zu profile%s are left to the first report on them",
			      left, left == 1 ? "" : "s");
}

int supervisor_run(const struct supervisor_request *request)
{
	struct supervisor s = {.request = request, .listener = -1, .signals = -1, .self = getpid()};

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &s.began);
	s.namer = (struct namer){.enter = leave, .context = &s};
	s.summary = (struct summary){.quiet = request->quiet,
				     .follow = request->recording->collect.follow,
				     .verbose = request->verbose};
	struct error e = {0};
	sigset_t before;
	int status = COMMAND_FAILED;
	bool ignored;

	if (open_listener(&s, &e) == 0 && open_signals(&s, &before, &ignored) == 0) {
		bool is_jealous;
		char *path = obstacle_find_elf(request->arguments[0], &is_jealous);
		const struct launch launch = {
			.arguments = request->arguments,
			.path = path,
			.library = request->library,
			.socket = s.address.sun_path,
			.signals = &before,
			.ignores_children = ignored,
			.calms_sanitizer = is_jealous || request->recording->collect.follow};

		s.program = launch_start(&launch, &status, &e);
		free(path);
	}
	if (s.program <= 0) {
		close_listener(&s);
		message_print("%s", e.set ? e.text : "cannot wait for signals");
		return status;
	}
	if (request->announce)
		message_print("recording process %d", (int)s.program);
	(void)signal(SIGPIPE, SIG_IGN); /* only now: the program would inherit it */
	while (!is_finished(&s)) {
		wait_once(&s);
		if (is_recorded(&s))
			namer_hurry(&s.namer);
	}
	end_progress(&s);
	close_listener(&s);
	if (!request->quiet)
		summary_print_idle(s.idle);
	summary_print_all(&s.summary);
	say_if_nothing(&s);
	say_if_unnamed(&s);
	vec_free(&s.workers);
	namer_fini(&s.namer);
	launch_hand_on(s.ending.wait_status);
}
