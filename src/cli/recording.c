/* recording.c -- one recorded process: from its hello to its profile file.
 * Runs: in a collector process, forked by `midden record` or started by the library as `midden
 * collect`.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/special.h"
#include "cli/ahead.h"
#include "cli/control.h"
#include "cli/fleeting.h"
#include "cli/handover.h"
#include "cli/outfile.h"
#include "cli/pipes.h"
#include "cli/procfs.h"
#include "cli/recording_report.h"
#include "cli/writing.h"
#include "model/resolve.h"
#include "profile/trace_write.h"

#define MAPPED_BYTES (128 << 10)
#define HELLO_MS     5000 /* a target says hello at once, or it is none */
#define STATUS_MS    5000 /* the recorder reaps the program about when we see it die */
#define PROGRESS_NS  UINT64_C(250000000)
#define SYMBOLS_NS   UINT64_C(100000000)
#define CONTROL_NS   UINT64_C(20000000) /* how long somebody who asks may have to wait */
#define BUSY_NS	     UINT64_C(1000000)	/* the same after another one: it may ask again */

/* What is known of the program while it lives. */
struct subject {
	char *program;
	char *executable;
	char *command;
	char *directory;
	struct rank rank;
};

/* One recording, from its hello on. */
struct recording_job {
	const struct recording_options *options;
	const struct recording_wires *wires;
	struct subject subject;
	struct trace_writer *trace; /* NULL: none */
	struct beginning beginning;
	struct ahead *ahead; /* NULL: it has not begun */
};

/* How the look-up of symbols is told. */
struct symbol_teller {
	int out;
	uint64_t told_ns;
};

/* ---- the process ----------------------------------------------------------------------------- */

/* Set by SIGUSR1: the process runs another program by now. */
static volatile bool replaced;

static void note_replaced(int number)
{
	(void)number;
	replaced = true;
}

/* The program's limit on files is not meant for the segment. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_FSIZE, &limit);
	}
}

void recording_isolate(void)
{
	static const int ignored[] = {SIGINT,  SIGQUIT, SIGHUP,	 SIGTERM,
				      SIGPIPE, SIGTSTP, SIGUSR2, SIGXFSZ};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	/* Large tables from the kernel, which has cleared them: libc, once it has given back a
	 * large block, would take them from its heap and clear every page itself. */
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	(void)prctl(PR_SET_NAME, RECORDING_NAME);
	(void)setpgid(0, 0);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	(void)signal(SIGUSR1, note_replaced);
	raise_file_limit();
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		(void)dup2(null, fd);
	if (null > 2)
		close(null);
}

/* ---- handshake ------------------------------------------------------------------------------- */

int recording_take_hello(int connection, struct segment_hello *hello)
{
	struct pollfd ready = {.fd = connection, .events = POLLIN};
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	ssize_t got;
	int count;

	do
		count = poll(&ready, 1, HELLO_MS);
	while (count < 0 && errno == EINTR);
	if (count != 1)
		return -1;
	do
		got = recv(connection, hello, sizeof(*hello), MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof(*hello) || hello->magic != SEGMENT_HELLO_MAGIC ||
	    hello->version != SEGMENT_VERSION)
		return -1;
	/* The kernel's word for it: in another pid namespace the target does not know. */
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0)
		hello->pid = peer.pid;
	return 0;
}

static int send_welcome(int connection, const struct segment_welcome *welcome, int segment)
{
	return handover_send(connection, welcome, sizeof(*welcome), segment, 0) ? 0 : -1;
}

void recording_refuse(int connection)
{
	const struct segment_welcome no = {
		.magic = SEGMENT_HELLO_MAGIC, .version = SEGMENT_VERSION, .refused = 1};

	(void)send_welcome(connection, &no, -1);
}

static int welcome_target(struct collector *c, int connection, struct error *e)
{
	struct segment_welcome yes = {.magic = SEGMENT_HELLO_MAGIC, .version = SEGMENT_VERSION};
	struct stat segment;
	int result = fstat(collect_get_fd(c), &segment);

	if (result == 0) {
		yes.total_bytes = (uint64_t)segment.st_size;
		result = send_welcome(connection, &yes, collect_get_fd(c));
	}
	collect_close_fd(c);
	return result ? error_set(e, "the program went away before the recording began") : 0;
}

/* ---- the subject ----------------------------------------------------------------------------- */

static void subject_init(struct subject *s, pid_t pid)
{
	s->program = procfs_read_program(pid);
	s->executable = procfs_find_executable(pid);
	s->command = procfs_read_command(pid);
	s->directory = procfs_read_link(pid, "cwd");
	s->rank = rank_read(pid);
}

static void subject_fini(struct subject *s)
{
	free(s->program);
	free(s->executable);
	free(s->command);
	free(s->directory);
}

static void describe(struct profile *p, const struct subject *s)
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	p->run.program = profile_add_string(p, s->program);
	p->run.executable = profile_add_string(p, s->executable);
	p->run.command = profile_add_string(p, s->command);
	p->run.directory = profile_add_string(p, s->directory);
	p->run.host = profile_add_string(p, host);
	p->run.version = profile_add_string(p, MIDDEN_VERSION);
	p->run.rank = s->rank.number == RANK_NONE ? 0 : s->rank.number + 1;
	p->run.ranks = s->rank.count;
	/* The loader gives the program itself no name. */
	for (size_t i = 1; i < p->modules.count; i++)
		if (p->modules.at[i].path.v == 0)
			p->modules.at[i].path = p->run.executable;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* How the program ended, from the recorder that reaps it, or as far as it can be seen from
 * outside. */
static bool find_ending(const struct collector *c, int status_in, pid_t pid,
			struct recording_ending *ending)
{
	struct pollfd ready = {.fd = status_in, .events = POLLIN};
	int code;

	*ending = (struct recording_ending){0};
	if (status_in >= 0 && poll(&ready, 1, STATUS_MS) == 1 &&
	    read(status_in, ending, sizeof(*ending)) == (ssize_t)sizeof(*ending))
		return true;
	if (procfs_find_exit(pid, &ending->wait_status))
		return true;
	bool said = collect_find_exit(c, &code);
	ending->wait_status = said ? W_EXITCODE(code, 0) : 0;
	return said;
}

/* The name that the main thread had in the end. */
static void note_name(struct profile *p, const char *name)
{
	for (size_t i = 0; *name && i < p->threads.count; i++)
		if (p->threads.at[i].tid == (uint32_t)p->run.pid)
			p->threads.at[i].name = profile_add_string(p, name);
}

/* What the kernel tells in the end is that of the program's children too. */
static void note_rss_peak(struct profile *p, const struct collector *c, uint64_t told_bytes)
{
	struct profile_totals *t = &p->totals;

	if (told_bytes > t->rss_peak_bytes && (!t->rss_peak_bytes || !collect_has_children(c)))
		t->rss_peak_bytes = told_bytes;
}

static void note_status(struct profile *p, const struct recording_ending *ending, bool is_named)
{
	int status = ending->wait_status;

	p->run.end = WIFSIGNALED(status) ? PROFILE_END_SIGNALED : PROFILE_END_EXITED;
	if (WIFSIGNALED(status))
		p->run.exit_signal = WTERMSIG(status);
	else
		p->run.exit_code = WEXITSTATUS(status);
	if (!is_named)
		note_name(p, ending->name);
}

static void note_end(struct profile *p, const struct collector *c, enum collect_end end,
		     int status_in)
{
	struct recording_ending ending;

	p->run.exit_code = -1;
	p->run.exit_signal = 0;
	if (end == COLLECT_END_EXEC || end == COLLECT_END_STOPPED)
		p->run.end = PROFILE_END_EXEC;
	else if (end == COLLECT_END_ABANDONED)
		p->run.end = PROFILE_END_ABANDONED;
	else if (end == COLLECT_END_GONE && find_ending(c, status_in, (pid_t)p->run.pid, &ending)) {
		note_status(p, &ending, collect_has_given_name(c));
		note_rss_peak(p, c, ending.rss_peak_bytes);
	}
}

static struct control_listeners list_listeners(const struct recording_wires *wires, pid_t pid)
{
	pid_t recorder = wires->is_program && wires->report_out >= 0 ? getppid() : 0;

	return (struct control_listeners){{pid, recorder > 1 ? recorder : 0}, {-1, -1}};
}

/* What a copy of this process needs to know. */
struct so_far {
	struct collector *collector;
	const struct recording_job *job;
};

static struct profile *build_so_far(void *context, bool brief)
{
	const struct so_far *s = context;
	struct profile *p =
		brief ? collect_build_brief(s->collector) : collect_build_profile(s->collector);

	describe(p, &s->job->subject);
	note_end(p, s->collector, COLLECT_END_ABANDONED, -1);
	return p;
}

/* Others have a working directory of their own. "" for what cannot be told. */
static void make_absolute(char *to, size_t room, const char *path)
{
	char *directory = *path == '/' ? NULL : get_current_dir_name();
	int length = snprintf(to, room, "%s%s%s", directory ? directory : "", directory ? "/" : "",
			      path);

	if (*to != '/' || length < 0 || (size_t)length >= room)
		*to = '\0';
	free(directory);
}

/* Looks up now and then from the events: at what others ask for, and to tell how it goes. */
static enum collect_end run_to_end(struct collector *c, const struct recording_job *job,
				   const struct recording_report *report,
				   struct control_listeners *listeners)
{
	struct so_far so_far = {.collector = c, .job = job};
	struct control_duty duty = {.collector = c, .build = build_so_far, .context = &so_far};
	struct writing writing = {.collector = c, .build = build_so_far, .context = &so_far};
	struct triggers triggers = {.options = &job->options->triggers};
	struct surveying surveying = {.collector = c,
				      .wanted = job->options->collect.surveys,
				      .answer = control_answer_survey};
	struct recording_report now = {0};
	uint64_t told_ns = 0, tick_ns = CONTROL_NS;
	enum collect_end end;

	duty.surveying = &surveying;
	make_absolute(duty.path, sizeof(duty.path), report->path);
	while ((end = collect_run(c, tick_ns, &replaced)) == COLLECT_END_TICK) {
		tick_ns = control_serve(listeners, &duty) ? BUSY_NS : CONTROL_NS;
		writing_serve(&writing);
		triggers_look(&triggers, c);
		surveying_serve(&surveying);
		collect_get_status(c, &now.status);
		if (!job->options->progress || now.status.elapsed_ns - told_ns < PROGRESS_NS)
			continue;
		told_ns = now.status.elapsed_ns;
		recording_report_send(job->wires->report_out, &now);
	}
	control_close(listeners);
	writing_fini(&writing);
	surveying_fini(&surveying);
	return end;
}

/* A script's launchers make way: the file that the user named is for what the process was in the
 * end. */
static bool is_launcher(const struct recording_options *options,
			const struct recording_wires *wires, const struct profile *p)
{
	return options->is_script && wires->is_program && !options->collect.follow &&
	       p->run.end == PROFILE_END_EXEC;
}

/* Of all the small programs that a script calls, most have nothing to show: unless the user has
 * named them. */
static bool is_idle_child(const struct recording_job *job, const struct profile *p)
{
	return !job->wires->is_program && job->wires->report_out >= 0 &&
	       !job->options->choice.only && recording_report_has_nothing(p);
}

static void choose_path(const struct recording_job *job, struct recording_report *report)
{
	bool is_last_of_script = job->options->is_script && !job->options->collect.follow;
	const struct recording_subject subject = {
		.program = job->subject.program,
		.pid = report->pid,
		.rank = job->subject.rank,
		.is_program = job->wires->is_program,
		.image = is_last_of_script ? 1 : job->wires->image,
	};
	char *path = recording_output_name(job->options->output, &subject);

	(void)snprintf(report->path, sizeof(report->path), "%s", path);
	free(path);
}

/* A recording without its trace is better than none. */
static struct trace_writer *open_trace(const struct recording_options *options,
				       struct recording_report *report)
{
	struct error e = {0};
	struct trace_writer *trace = options->trace ? trace_write_open(report->path, &e) : NULL;

	if (e.set)
		(void)snprintf(report->trace_fault, sizeof(report->trace_fault), "%s", e.text);
	return trace;
}

static int write_file(struct profile *p, struct trace_writer *trace,
		      struct recording_report *report, struct error *e)
{
	if (outfile_is_strangers(report->path)) {
		trace_write_abandon(trace);
		return error_set(e, "%s exists and is not a midden profile", report->path);
	}
	int result = trace ? trace_write_close(trace, p, report->path, e)
			   : profile_write(p, report->path, e);

	report->trace_lost = p->totals.trace_lost_events;
	return result;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The recorder draws: this process has no terminal. */
static void tell_symbols(void *context, size_t done, size_t total)
{
	struct symbol_teller *t = context;
	uint64_t now = now_ns();

	if (now - t->told_ns < SYMBOLS_NS)
		return;
	t->told_ns = now;
	recording_report_send(
		t->out, &(struct recording_report){.symbols_done = done, .symbols_total = total});
}

/* With what else is recorded, or now: when the program itself ends, nothing much is left to do but
 * this. A trace would have to be copied, what is no file cannot be read again, and a program that
 * was built a moment ago may be removed in another. */
static bool is_named_later(const struct recording_job *job, const struct profile *p,
			   const struct recording_report *report)
{
	const struct recording_wires *wires = job->wires;
	bool is_last = wires->is_program && report->end != PROFILE_END_EXEC;

	return wires->has_namer && !is_last && !job->trace && !special_is(report->path) &&
	       wires->report_out >= 0 && pipes_has_other_end(wires->report_out) &&
	       !fleeting_has_files(p, &wires->began);
}

static void resolve(struct profile *p, const struct recording_job *job)
{
	struct symbol_teller teller = {.out = job->wires->report_out};
	const struct symbol_options symbols = {.pool = ahead_get_pool(job->ahead)};
	const struct resolve_options how = {
		.symbols = &symbols,
		.variables = true,
		.progress = job->options->symbol_progress ? tell_symbols : NULL,
		.context = &teller,
	};

	(void)ahead_wait(job->ahead);
	(void)resolve_profile(p, &how, NULL);
}

static int write_profile(const struct recording_job *job, struct profile *p,
			 struct recording_report *report)
{
	struct error e = {0};

	report->is_unnamed = job->options->symbols && is_named_later(job, p, report);
	if (job->options->symbols && !report->is_unnamed)
		resolve(p, job);
	if (write_file(p, job->trace, report, &e) == 0)
		return 0;
	/* Rather somewhere else than not at all. */
	(void)snprintf(report->text, sizeof(report->text), "%s", e.text);
	p->blocks.count = 0; /* of a trace that is gone */
	(void)snprintf(report->path, sizeof(report->path), "/tmp/midden.%s.%d.mdn",
		       profile_string(p, p->run.program), report->pid);
	e = (struct error){0};
	if (profile_write(p, report->path, &e) == 0)
		return 0;
	report->failed = 1;
	return -1;
}

static int fail(struct recording_report *report, const struct error *e, int out)
{
	report->failed = 1;
	(void)snprintf(report->text, sizeof(report->text), "%s", e->text);
	recording_report_send(out, report);
	return -1;
}

/* A target that could not map the segment has said why itself. */
static int fail_to_begin(struct recording_report *report, const struct recording_job *job)
{
	struct error e = {0};

	(void)error_set(&e, "the program could not begin to record");
	trace_write_abandon(job->trace);
	return fail(report, &e, job->wires->report_out);
}

/* What was recorded, as a profile in its file. */
static int keep(struct collector *c, enum collect_end end, const struct recording_job *job,
		struct recording_report *report)
{
	struct profile *p = collect_build_profile(c);
	int result = 0;

	if (end == COLLECT_END_GONE && collect_has_execed(c))
		end = COLLECT_END_EXEC; /* what is gone is another program */
	describe(p, &job->subject);
	note_end(p, c, end, job->wires->status_in);
	collect_get_status(c, &report->status);
	recording_report_fill(report, p);
	report->is_denied = collect_has_reads_denied(c);
	report->is_mute = collect_has_nothing_entered(c);
	recording_report_explain_lost(report, collect_get_lost_fault(c),
				      job->options->collect.leaks);
	report->is_hidden = collect_has_foreign_allocator(c) && p->totals.allocations == 0;
	if (profile_has_never_begun(p))
		beginning_explain(&job->beginning, report->unseen, sizeof(report->unseen));
	choose_path(job, report);
	report->is_launcher = is_launcher(job->options, job->wires, p);
	report->is_empty = !job->options->keep_empty && is_idle_child(job, p);
	if (report->is_launcher || report->is_empty) {
		trace_write_abandon(job->trace);
	} else {
		result = write_profile(job, p, report);
	}
	recording_report_send(job->wires->report_out, report);
	/* Whoever listens need not wait until all that memory is given back. */
	if (job->wires->report_out >= 0)
		close(job->wires->report_out);
	profile_free(p);
	return result;
}

/* Of all processes that `midden record` follows, the one that it was given: there is one port. */
static void start_servant(struct servant *s, const struct recording_job *job, pid_t pid)
{
	struct servant_options how = job->options->http;

	how.wanted = how.wanted && (job->wires->is_program || job->wires->report_out < 0);
	servant_start(s, &how, pid);
}

/* Where somebody waits for the file, who is not told to come back later for the names. */
static void start_ahead(struct recording_job *job, struct collector *c)
{
	bool is_awaited = job->wires->is_program && job->wires->report_out >= 0;

	job->ahead = ahead_new(c, job->subject.executable, job->options->symbols && is_awaited);
}

int recording_run(const struct recording_options *options, const struct segment_hello *hello,
		  const struct recording_wires *wires)
{
	struct recording_report report = {.is_result = 1, .pid = hello->pid};
	struct recording_job job = {.options = options, .wires = wires};
	struct collect_config config = options->collect;
	struct collect_start start;
	struct servant servant = {0};
	struct error e = {0};

	start_servant(&servant, &job, hello->pid);
	subject_init(&job.subject, hello->pid);
	choose_path(&job, &report);
	config.trace = job.trace = open_trace(options, &report);
	config.signal = options->triggers.signal;
	job.beginning = options->beginning;
	job.beginning.executable = job.subject.executable;
	config.start = beginning_fill(&job.beginning, &start) ? &start : NULL;
	struct collector *c = collect_new(&config, hello, &e);
	if (!c)
		recording_refuse(wires->connection);
	/* From its first line on the program can be asked about: it waits for the welcome. */
	struct control_listeners listeners = list_listeners(wires, hello->pid);
	if (c)
		control_open(&listeners);
	int result = c ? welcome_target(c, wires->connection, &e) : -1;
	close(wires->connection);
	if (result == 0) {
		start_ahead(&job, c);
		enum collect_end end = run_to_end(c, &job, &report, &listeners);

		ahead_halt(job.ahead);
		servant_stop(&servant); /* what it could be asked for is in the file, or will be */
		result = collect_has_begun(c) ? keep(c, end, &job, &report)
					      : fail_to_begin(&report, &job);
	} else {
		control_close(&listeners);
		trace_write_abandon(job.trace);
		(void)fail(&report, &e, wires->report_out);
	}
	servant_stop(&servant);
	if (job.ahead && !ahead_free(job.ahead))
		return result;
	collect_free(c);
	subject_fini(&job.subject);
	return result;
}
