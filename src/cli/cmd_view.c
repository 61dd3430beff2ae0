/* cmd_view.c -- `midden view`: a profile in the browser. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/following.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/viewing.h"
#include "serve/page.h"
#include "serve/server.h"

#define WATCHED_SECONDS 3u /* a page asks every second, unless it is paused or gone */

static const char help[] =
	"usage: midden view [OPTIONS] [FILE | PID]\n"
	"\n"
	"Shows a profile in the browser, until interrupted. The page comes from this command,\n"
	"which answers on this machine alone, to the browser that opens the address it prints.\n"
	"FILE defaults to the newest midden.*.mdn in the working directory. With PID, a program\n"
	"that is being recorded (or its `midden record`), shows how things stand, every second\n"
	"anew, and in the end the profile that was written.\n"
	"\n"
	"  --compare OLD        show what has changed since the profile OLD too\n"
	"  --no-open            print the address, do not open it\n"
	"  -p, --port PORT      listen on that port; without it, on any that is free\n"
	"  --bind ADDRESS       listen on that address of this machine: others can then connect\n"
	"  --socket PATH        listen on a UNIX socket instead, to be forwarded by ssh\n"
	"  --no-auth            ask for no token: whoever can connect may look\n"
	"  --no-source          do not show source files\n"
	"  -h, --help           show this text\n"
	"\n"
	"Symbols:\n" OPTIONS_SYMBOLS_HELP;

struct request {
	struct options shared;
	const char *old; /* NULL: nothing to compare with */
	struct server_options server;
	bool open;
};

enum option_code {
	OPTION_COMPARE = 256,
	OPTION_NO_OPEN,
	OPTION_BIND,
	OPTION_SOCKET,
	OPTION_NO_AUTH,
	OPTION_NO_SOURCE
};

static const struct option options[] = {
	{"compare", required_argument, NULL, OPTION_COMPARE},
	{"no-open", no_argument, NULL, OPTION_NO_OPEN},
	{"port", required_argument, NULL, 'p'},
	{"bind", required_argument, NULL, OPTION_BIND},
	{"socket", required_argument, NULL, OPTION_SOCKET},
	{"no-auth", no_argument, NULL, OPTION_NO_AUTH},
	{"no-source", no_argument, NULL, OPTION_NO_SOURCE},
	OPTIONS_LAST,
};

static int parse_port(struct request *r, const char *text)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || port > UINT16_MAX)
		return message_usage("view", "%s is not a port (0 to 65535)", text);
	r->server.port = (uint16_t)port;
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case 'p':
		return parse_port(r, argument);
	case OPTION_COMPARE:
		r->old = argument;
		break;
	case OPTION_NO_OPEN:
		r->open = false;
		break;
	case OPTION_BIND:
		r->server.address = argument;
		break;
	case OPTION_SOCKET:
		r->server.socket = argument;
		break;
	case OPTION_NO_AUTH:
		r->server.open_to_all = true;
		break;
	case OPTION_NO_SOURCE:
		r->server.sources = false;
		break;
	default:
		return options_take(&r->shared, "view", code, argument);
	}
	return COMMAND_GOOD;
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"view", ":p:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	if (argc - optind > 1)
		return message_usage("view", "one FILE or PID at a time");
	if (r->server.socket && (r->server.address || r->server.port))
		return message_usage("view", "--socket goes with neither --bind nor --port");
	return COMMAND_GOOD;
}

/* ---- the browser ----------------------------------------------------------------------------- */

static bool has_display(void)
{
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || getenv("BROWSER");
}

/* What the browser would inherit: signals that are held back for us, and a terminal whose ^C would
 * end it. */
static void leave_terminal(const sigset_t *held)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	sigprocmask(SIG_UNBLOCK, held, NULL);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		(void)dup2(null, fd);
}

/* The browser is the desktop's child, not ours: forked twice, and silent. */
static void open_browser(const char *url, const sigset_t *held)
{
	pid_t child = fork();

	if (child == 0) {
		if (fork() == 0) {
			leave_terminal(held);
			execlp("xdg-open", "xdg-open", url, (char *)NULL);
			_exit(127);
		}
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool is_loopback(const char *address)
{
	return !address || strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static void announce(const struct request *r, const struct server *s, const sigset_t *held)
{
	if (!is_loopback(r->server.address))
		message_print("warning: listening on %s: what is shown can be read by others on "
			      "the network%s",
			      r->server.address,
			      r->server.open_to_all ? ", without a token" : " who listen in");
	if (r->server.socket)
		printf("listening on %s; forward a port to it (ssh -L 8080:%s HOST) and open "
		       "http://localhost:8080/%s\n",
		       r->server.socket, r->server.socket, server_get_url(s));
	else
		printf("%s\n", server_get_url(s));
	fflush(stdout);
	if (r->open && !r->server.socket && has_display())
		open_browser(server_get_url(s), held);
}

/* ---- serving --------------------------------------------------------------------------------- */

static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigprocmask(SIG_BLOCK, set, NULL);
}

/* A profile in all its forms: as it is shown, and what the server needs of it. */
struct show {
	struct server_content content; /* `data` and `old` are malloc'ed */
	struct following *following;   /* NULL: a file, which does not change */
};

static char *pack(const struct viewing *v, size_t *bytes)
{
	struct error e = {.offset = -1};
	char *data = page_compress(&v->request, bytes, &e);

	if (!data)
		(void)message_fault("view", &e);
	return data;
}

/* False after a message; what was shown stays then. */
static bool set_content(struct server_content *content, const struct viewing *v)
{
	size_t bytes;
	char *data = pack(v, &bytes);

	if (!data)
		return false;
	free((char *)(uintptr_t)content->data);
	content->data = data;
	content->data_bytes = bytes;
	content->model = v->model;
	content->live = v->request.live;
	content->generation = v->request.generation;
	return true;
}

static void refresh(struct show *show, struct server *s)
{
	if (!server_is_watched(s, WATCHED_SECONDS))
		return;
	if (following_step(show->following) && set_content(&show->content, &show->following->now))
		server_set_content(s, &show->content);
}

/* Until a signal comes, which is all that can end it. */
static void stay(struct show *show, struct server *s, const sigset_t *set)
{
	const struct timespec second = {.tv_sec = 1};
	int signal;

	while (show->content.live && sigtimedwait(set, NULL, &second) < 0)
		refresh(show, s);
	if (!show->content.live)
		sigwait(set, &signal);
}

static int serve(const struct request *r, struct show *show)
{
	struct error e = {.offset = -1};
	sigset_t set;

	block_signals(&set); /* before there are threads: they inherit it */
	struct server *s = server_open(&r->server, &show->content, &e);
	if (!s) {
		message_print("%s", e.text);
		return COMMAND_FAILED;
	}
	announce(r, s, &set);
	stay(show, s, &set);
	server_close(s);
	return COMMAND_GOOD;
}

/* With what is to be compared, unless that is nothing. */
static int view(const struct request *r, const struct viewing *now, struct following *following)
{
	struct show show = {.following = following};
	struct viewing old = {0};
	int status = set_content(&show.content, now) ? COMMAND_GOOD : COMMAND_FAILED;

	if (status == COMMAND_GOOD && r->old)
		status = viewing_open(&old, r->old, &r->shared.load);
	if (status == COMMAND_GOOD && r->old) {
		show.content.old = pack(&old, &show.content.old_bytes);
		status = show.content.old ? COMMAND_GOOD : COMMAND_FAILED;
	}
	if (status == COMMAND_GOOD)
		status = serve(r, &show);
	free((char *)(uintptr_t)show.content.data);
	free((char *)(uintptr_t)show.content.old);
	viewing_close(&old);
	return status;
}

static int view_file(const struct request *r, const char *file)
{
	struct viewing now = {0};
	int status = viewing_open(&now, file, &r->shared.load);

	if (status == COMMAND_GOOD)
		status = view(r, &now, NULL);
	viewing_close(&now);
	return status;
}

static int view_process(const struct request *r, pid_t pid)
{
	struct following following = {0};
	int status = following_begin(&following, pid, &r->shared.load);

	if (status == COMMAND_GOOD)
		status = view(r, &following.now, &following);
	following_end(&following);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {
		.shared = {.load = {.symbols = true, .keep = true}},
		.server = {.sources = true},
		.open = true,
	};
	int status = parse_arguments(&r, argc, argv);
	pid_t pid = status == COMMAND_GOOD && !r.shared.help ? load_find_pid(argv[optind]) : 0;

	if (status == COMMAND_GOOD && r.shared.help)
		command_print_help(&command_view, stdout);
	else if (status == COMMAND_GOOD)
		status = pid ? view_process(&r, pid) : view_file(&r, argv[optind]);
	options_free(&r.shared);
	return status;
}

const struct command command_view = {
	.name = "view",
	.summary = "show a profile in the browser",
	.help = help,
	.run = run,
};
