/* cmd_record.c -- `midden record`: runs a program and records its heap. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0
 *
 * This process supervises: it starts the program, forks a collector for each process that says
 * hello, passes signals on, and hands on how the program ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/launch.h"
#include "cli/message.h"
#include "cli/obstacle.h"
#include "cli/record_settings.h"
#include "cli/recording.h"
#include "cli/supervisor.h"
#include "format/env.h"

static const char help[] =
	"usage: midden record [OPTIONS] [--] PROGRAM [ARGUMENTS]\n"
	"\n"
	"Runs PROGRAM and records every allocation it makes, with its call stack. The profile is\n"
	"written when the program ends, however it ends; exit status and signals are handed on.\n"
	"\n"
	"  -o, --output FILE    write the profile there; %p is the process id, %n the program's\n"
	"                       name, %h the host, %r the MPI rank (default:\n"
	"                       midden.PROGRAM.PID.mdn, or midden.PROGRAM.rankN.mdn); a missing\n"
	"                       directory is made, but not those above it\n"
	"  -f, --follow         record child processes too, each into a profile of its own\n"
	"      --only NAMES     of all these processes only those that run one of these programs,\n"
	"                       e.g. cc1plus,ld* (implies --follow)\n"
	"      --children-only  not the program itself, its children (implies --follow)\n"
	"      --keep-empty     write profiles of children that allocated nothing, too\n"
	"      --ranks LIST     of an MPI program record these ranks, e.g. 0,4-7\n"
	"  -q, --quiet          no summary at the end\n"
	"  -v, --verbose        tell the program's process id, as on a terminal;\n"
	"                       with --follow, what was recorded of every process\n"
	"      --progress       show on the terminal how the recording goes\n"
	"      --max-depth N    keep at most N frames of a stack (default: 512)\n"
	"      --buffer SIZE    memory for events on their way, e.g. 16M (default: 4M)\n"
	"      --patience MS    how long the program may wait for a collector that does not move\n"
	"                       before it goes on unrecorded (default: 2000)\n"
	"      --python FRAMES  those of Python programs: mixed, with the native ones below the\n"
	"                       innermost (default); only; full, with all native ones; domains,\n"
	"                       apart from those of native code; off\n"
	"      --pymalloc HOW   small objects of Python: sampled, one block in 64K (default; with\n"
	"                       --sample as all other blocks are); exact, each of them (default\n"
	"                       with --rss and --trace); off\n"
	"      --trace          keep every single event in the profile, 1 to 5 bytes each\n"
	"      --maps           record what the program maps itself too (mmap, sbrk, shmat), for\n"
	"                       `midden report --maps`\n"
	"      --leaks          when the program exits, tell lost blocks from those that are "
	"still\n"
	"                       held, for `midden leaks`\n"
	"      --rss            see which blocks keep which pages resident: at the peak of the\n"
	"                       resident size, at snapshots and at the end; `report --rss`\n"
	"      --stacks         see how deep the stacks of threads that end were, for `midden "
	"stats`;\n"
	"                       of those that are there at the end it is known anyway\n"
	"      --stack-mode WAY  where stacks come from: unwind (default); enter-exit, what "
	"functions\n"
	"                       of a program built with -finstrument-functions say themselves:\n"
	"                       also the deepest stack by function, for `midden report --stacks`\n"
	"      --tags           no events: count by tag, thread by thread, for `midden tags`\n"
	"      --sample[=BYTES]\n"
	"                       sample one block in so many bytes (default: 512K) instead of\n"
	"                       recording each: cheap enough to leave on, figures are estimates\n"
	"      --sample-blocks N  keep at most N samples of blocks that live (default: 16384);\n"
	"                       beyond, samples become rarer\n"
	"      --sample-seed N  choose samples as another run with the same N did\n"
	"      --delayed        record nothing until the program calls midden_start()\n"
	"      --start-at WHAT  record nothing until function=NAME, or code of library=NAME, is "
	"on\n"
	"                       the stack of an allocation\n"
	"      --snapshot-every SECONDS\n"
	"                       keep what is live again and again, as `midden snapshot` does\n"
	"      --snapshot-at LIMITS\n"
	"                       and each time a limit is reached: rss=SIZE, virtual=SIZE,\n"
	"                       live=SIZE (bytes of the program), memory=PERCENT% (of the\n"
	"                       machine's), allocations=NUMBER (each further so many), stack=SIZE\n"
	"                       (a thread's; each further so much); e.g. live=1G,rss=2G.\n"
	"                       Looked at 10 times a second (live, allocations: 50 times): what\n"
	"                       is above a limit for less may go unnoticed\n"
	"      --snapshot-signal SIGNAL\n"
	"                       and when the program gets this signal, e.g. USR2; not if it has\n"
	"                       a handler of its own for it, which replaces midden's. Calls that\n"
	"                       sleep end early, as with any handler\n"
	"      --http[=ADDRESS]\n"
	"                       answer questions about the program while it runs: pprof, metrics\n"
	"                       and snapshots over HTTP (default: any port of 127.0.0.1)\n"
	"      --http-token-file FILE\n"
	"                       the token that those who ask must have (default: a random one,\n"
	"                       which is printed with the address)\n"
	"  -c, --config FILE    read settings from FILE too (repeatable): see midden help config\n"
	"      --set KEY=VALUE  a setting by its key, which is an option's name: --set "
	"follow=true\n"
	"      --profile NAME   with the settings of the section [profile.NAME] of a file, or\n"
	"                       python-only, python-domains, ... (docs/python.md)\n"
	"      --no-config      read neither ~/.config/midden.conf nor .midden.conf\n"
	"      --no-symbols     leave function names to the first `midden report`\n"
	"      --library FILE   another libmidden.so (for a program of another architecture)\n"
	"  -h, --help           show this text\n"
	"\n"
	"Each option has a variable for use with LD_PRELOAD=libmidden.so alone: MIDDEN_OUTPUT,\n"
	"MIDDEN_FOLLOW, MIDDEN_MAX_DEPTH, MIDDEN_BUFFER, MIDDEN_PATIENCE, MIDDEN_SYMBOLS,\n"
	"MIDDEN_PYTHON, MIDDEN_PYMALLOC, MIDDEN_TRACE, MIDDEN_LEAKS, MIDDEN_RSS, MIDDEN_STACKS,\n"
	"MIDDEN_START=0 (--delayed), MIDDEN_START_AT, MIDDEN_MAPS, MIDDEN_SNAPSHOT_EVERY,\n"
	"MIDDEN_SNAPSHOT_AT, MIDDEN_SNAPSHOT_SIGNAL, MIDDEN_STACK_MODE, MIDDEN_HTTP,\n"
	"MIDDEN_HTTP_TOKEN_FILE;\n"
	"MIDDEN_MODE=tags, MIDDEN_MODE=sample, MIDDEN_SAMPLE, MIDDEN_SAMPLE_BLOCKS,\n"
	"MIDDEN_SAMPLE_SEED.\n"
	"\n"
	"Exit status: the program's own; 127 or 126 if it could not be started, 2 for wrong\n"
	"usage, 1 if midden itself failed before it could start the program.\n";

enum {
	OPTION_PROGRESS = 256,
	OPTION_MAX_DEPTH,
	OPTION_BUFFER,
	OPTION_PATIENCE,
	OPTION_PYTHON,
	OPTION_PYMALLOC,
	OPTION_NO_SYMBOLS,
	OPTION_TRACE,
	OPTION_LEAKS,
	OPTION_RSS,
	OPTION_STACKS,
	OPTION_STACK_MODE,
	OPTION_TAGS,
	OPTION_MAPS,
	OPTION_DELAYED,
	OPTION_SNAPSHOT_EVERY,
	OPTION_SNAPSHOT_AT,
	OPTION_SNAPSHOT_SIGNAL,
	OPTION_HTTP,
	OPTION_HTTP_TOKEN_FILE,
	OPTION_LIBRARY,
	OPTION_SAMPLE,
	OPTION_SAMPLE_BLOCKS,
	OPTION_SAMPLE_SEED,
	OPTION_ONLY,
	OPTION_START_AT,
	OPTION_CHILDREN_ONLY,
	OPTION_KEEP_EMPTY,
	OPTION_RANKS,
};

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"follow", no_argument, NULL, 'f'},
	{"only", required_argument, NULL, OPTION_ONLY},
	{"children-only", no_argument, NULL, OPTION_CHILDREN_ONLY},
	{"keep-empty", no_argument, NULL, OPTION_KEEP_EMPTY},
	{"ranks", required_argument, NULL, OPTION_RANKS},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"progress", no_argument, NULL, OPTION_PROGRESS},
	{"max-depth", required_argument, NULL, OPTION_MAX_DEPTH},
	{"buffer", required_argument, NULL, OPTION_BUFFER},
	{"patience", required_argument, NULL, OPTION_PATIENCE},
	{"python", required_argument, NULL, OPTION_PYTHON},
	{"pymalloc", required_argument, NULL, OPTION_PYMALLOC},
	{"trace", no_argument, NULL, OPTION_TRACE},
	{"leaks", no_argument, NULL, OPTION_LEAKS},
	{"rss", no_argument, NULL, OPTION_RSS},
	{"stacks", no_argument, NULL, OPTION_STACKS},
	{"stack-mode", required_argument, NULL, OPTION_STACK_MODE},
	{"tags", no_argument, NULL, OPTION_TAGS},
	{"maps", no_argument, NULL, OPTION_MAPS},
	{"delayed", no_argument, NULL, OPTION_DELAYED},
	{"start-at", required_argument, NULL, OPTION_START_AT},
	{"snapshot-every", required_argument, NULL, OPTION_SNAPSHOT_EVERY},
	{"snapshot-at", required_argument, NULL, OPTION_SNAPSHOT_AT},
	{"snapshot-signal", required_argument, NULL, OPTION_SNAPSHOT_SIGNAL},
	{"http", optional_argument, NULL, OPTION_HTTP},
	{"http-token-file", required_argument, NULL, OPTION_HTTP_TOKEN_FILE},
	SETTINGS_LONG_OPTIONS,
	{"no-symbols", no_argument, NULL, OPTION_NO_SYMBOLS},
	{"library", required_argument, NULL, OPTION_LIBRARY},
	{"sample", optional_argument, NULL, OPTION_SAMPLE},
	{"sample-blocks", required_argument, NULL, OPTION_SAMPLE_BLOCKS},
	{"sample-seed", required_argument, NULL, OPTION_SAMPLE_SEED},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct request {
	struct recording_options recording;
	const char *library;
	bool quiet;
	bool verbose;
};

/* What an option without a value switches on; NULL: it does something else. */
static bool *find_switch(struct recording_options *o, int option)
{
	switch (option) {
	case 'f':
		return &o->collect.follow;
	case OPTION_LEAKS:
		return &o->collect.leaks;
	case OPTION_TRACE:
		return &o->trace;
	case OPTION_RSS:
		return &o->collect.surveys;
	case OPTION_STACKS:
		return &o->collect.stacks;
	case OPTION_MAPS:
		return &o->collect.maps;
	case OPTION_KEEP_EMPTY:
		return &o->keep_empty;
	case OPTION_DELAYED:
		return &o->collect.delayed;
	default:
		return NULL;
	}
}

static int apply(struct request *r, int option, const char *value, struct error *e)
{
	bool *wanted = find_switch(&r->recording, option);

	if (wanted) {
		*wanted = true;
		return 0;
	}
	switch (option) {
	case 'o':
		r->recording.output = value;
		return 0;
	case OPTION_START_AT:
		return beginning_parse(&r->recording.beginning, value, e);
	case OPTION_ONLY:
		r->recording.choice.only = value;
		r->recording.collect.follow = true;
		return 0;
	case OPTION_CHILDREN_ONLY:
		r->recording.choice.children_only = true;
		r->recording.collect.follow = true;
		return 0;
	case OPTION_RANKS:
		return rank_list_parse(&r->recording.choice.ranks, value, e);
	case 'q':
		r->quiet = true;
		return 0;
	case 'v':
		r->verbose = true;
		return 0;
	case OPTION_PROGRESS:
		r->recording.progress = isatty(STDERR_FILENO) != 0;
		return 0;
	case OPTION_MAX_DEPTH:
		return recording_set_max_depth(&r->recording, value, e);
	case OPTION_BUFFER:
		return recording_set_buffer(&r->recording, value, e);
	case OPTION_PATIENCE:
		return recording_set_patience(&r->recording, value, e);
	case OPTION_SAMPLE:
		return recording_set_sample(&r->recording, value, e);
	case OPTION_SAMPLE_BLOCKS:
		return recording_set_sample_blocks(&r->recording, value, e);
	case OPTION_SAMPLE_SEED:
		return recording_set_sample_seed(&r->recording, value, e);
	case OPTION_PYTHON:
		return recording_set_python(&r->recording, value, e);
	case OPTION_STACK_MODE:
		return recording_set_stack_mode(&r->recording, value, e);
	case OPTION_PYMALLOC:
		return recording_set_pymalloc(&r->recording, value, e);
	case OPTION_TAGS:
		return recording_set_mode(&r->recording, "tags", e);
	case OPTION_SNAPSHOT_EVERY:
		return triggers_parse_every(&r->recording.triggers, value, e);
	case OPTION_SNAPSHOT_AT:
		return triggers_parse_limits(&r->recording.triggers, value, e);
	case OPTION_SNAPSHOT_SIGNAL:
		return triggers_parse_signal(&r->recording.triggers, value, e);
	case OPTION_HTTP:
		return servant_parse_address(&r->recording.http, value, e);
	case OPTION_HTTP_TOKEN_FILE:
		return servant_read_token(&r->recording.http, value, e);
	case OPTION_NO_SYMBOLS:
		r->recording.symbols = false;
		return 0;
	default:
		r->library = value;
		return 0;
	}
}

int record_read_settings(struct settings *s, bool *wants_help, const char *command, int argc,
			 char **argv)
{
	struct error e = {0};
	int option;

	s->rows = long_options;
	/* '+': what follows the program's name is the program's. */
	while ((option = getopt_long(argc, argv, "+:o:c:fqvh", long_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return message_bad_option(command, option, argv);
		*wants_help = *wants_help || option == 'h';
		if (settings_take(s, option, optarg, &e))
			return message_usage(command, "%s", e.text);
	}
	if (*wants_help || settings_finish(s, &e) == 0)
		return COMMAND_GOOD;
	message_print("%s", e.text);
	return COMMAND_FAILED;
}

/* In the order in which they count. */
static int apply_all(struct request *r, const struct settings *s, struct error *e)
{
	settings_hide_variables(s);
	if (recording_options_init(&r->recording, e))
		return -1;
	for (size_t i = 0; i < s->all.count; i++) {
		const struct setting *said = &s->all.at[i];
		struct error fault = {0};

		if (said->is_off || apply(r, said->row->val, said->value, &fault) == 0)
			continue;
		bool is_typed = strcmp(said->origin, "command line") == 0;
		return error_set(e, "%s%s%s", is_typed ? "" : said->origin, is_typed ? "" : ": ",
				 fault.text);
	}
	return recording_options_finish(&r->recording, e);
}

static void free_request(struct request *r)
{
	rank_list_free(&r->recording.choice.ranks);
	beginning_free(&r->recording.beginning);
}

int record_check_settings(const struct settings *s, struct error *e)
{
	struct request unused = {0};
	int result = apply_all(&unused, s, e);

	free_request(&unused);
	return result;
}

char *record_get_output(void)
{
	struct settings s = {.rows = long_options};
	struct error ignored = {0};
	const char *variable = getenv(ENV_OUTPUT);
	const struct setting *said =
		settings_finish(&s, &ignored) == 0 ? settings_get(&s, long_options) : NULL;
	const char *pattern = variable ? variable : said ? said->value : NULL;
	char *copy = pattern && *pattern ? mem_copy_string(pattern) : NULL;

	settings_free(&s);
	return copy;
}

/* 0, or the exit status of a usage error. */
static int parse(struct request *r, struct settings *s, bool *wants_help, int argc, char **argv)
{
	struct error e = {0};
	int status = record_read_settings(s, wants_help, "record", argc, argv);

	if (status || *wants_help)
		return status;
	if (optind == argc)
		return message_usage("record", "which program?");
	return apply_all(r, s, &e) ? message_usage("record", "%s", e.text) : COMMAND_GOOD;
}

/* Found out now rather than after an hour of recording. */
static int check_output(const char *pattern)
{
	struct error e = {0};

	if (recording_check_output(pattern, &e) == 0)
		return 0;
	message_print("%s: choose another file with -o", e.text);
	return -1;
}

/* Before the program starts: a port that others have is found out at once. */
static int open_http(struct request *r)
{
	struct servant_options *http = &r->recording.http;
	struct error e = {0};

	if (!http->wanted)
		return 0;
	if (servant_listen(http, &e)) {
		message_print("%s", e.text);
		return -1;
	}
	char *url = servant_make_url(http);
	message_print("serving %s", url);
	free(url);
	return 0;
}

/* Once for all of them. */
static void say_if_beyond(const struct rank_list *ranks, const struct rank *own)
{
	const struct rank_range *r =
		own->number == 0 && own->count ? rank_list_find_beyond(ranks, own->count) : NULL;

	if (r)
		message_print("--ranks names rank %" PRIu32 ": there are %" PRIu32
			      ", the last is %" PRIu32,
			      r->first, own->count, own->count - 1);
}

/* A rank that nobody wants runs as if midden was not there. Under no launcher there are no ranks,
 * and the program is what the user wants to see. */
static int settle_ranks(struct request *request, char **words)
{
	struct rank_list *ranks = &request->recording.choice.ranks;
	struct rank own = rank_read(getpid());

	say_if_beyond(ranks, &own);
	if (!ranks->ranges.count || request->recording.collect.follow)
		return 0;
	if (own.number == RANK_NONE) {
		message_print("no MPI launcher has started this: --ranks does not count");
		rank_list_free(ranks);
		return 0;
	}
	if (rank_list_has(ranks, own.number))
		return 0;
	execvp(words[0], words);
	int status = errno == ENOENT ? 127 : 126;
	message_print("%s: %s", words[0], strerror(errno));
	return status;
}

static int record(struct request *request, char **words)
{
	struct error e = {0};
	int status = settle_ranks(request, words);

	if (status)
		return status;

	if (check_output(request->recording.output))
		return COMMAND_FAILED;
	char *library =
		request->library ? realpath(request->library, NULL) : launch_find_library(&e);
	if (!library) {
		message_print("%s%s", e.set ? e.text : "there is no library ",
			      e.set ? "" : request->library);
		return COMMAND_FAILED;
	}
	if (launch_check_library(library, &e)) {
		message_print("%s", e.text);
		free(library);
		return COMMAND_FAILED;
	}
	if (open_http(request)) {
		free(library);
		return COMMAND_FAILED;
	}
	request->recording.is_script = obstacle_is_script(words[0]);
	bool talks = !request->quiet && isatty(STDERR_FILENO);
	request->recording.symbol_progress = talks;
	struct supervisor_request order = {
		.recording = &request->recording,
		.arguments = words,
		.library = library,
		.quiet = request->quiet,
		.announce = talks || request->verbose,
		.verbose = request->verbose,
	};
	status = supervisor_run(&order);
	free(library);
	return status;
}

static int run(int argc, char **argv)
{
	struct settings settings = {0}; /* has the texts that the request points to */
	struct request request = {0};
	bool wants_help = false;
	int status = parse(&request, &settings, &wants_help, argc, argv);

	if (wants_help)
		(void)fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = record(&request, argv + optind);
	free_request(&request);
	settings_free(&settings);
	return status;
}

const struct command command_record = {
	.name = "record",
	.summary = "run a program and record its heap",
	.help = help,
	.run = run,
};
