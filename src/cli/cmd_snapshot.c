/* cmd_snapshot.c -- `midden snapshot`: has a running recording keep what is live now. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/control.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/outfile.h"
#include "report/human.h"

static const char help[] =
	"usage: midden snapshot [--rss] PID [NAME]\n"
	"       midden snapshot --write FILE PID\n"
	"\n"
	"Has the recording of process PID keep what is live at this moment, call stack by call\n"
	"stack, under NAME (at most 95 bytes; default: none). The program need not know. It must\n"
	"have been started with `midden record` or LD_PRELOAD=libmidden.so by the same user. PID\n"
	"may also be that of `midden record`, for the program that it was given.\n"
	"`midden report --snapshots` lists what was kept.\n"
	"\n"
	"  -r, --rss            look too at which blocks keep which pages resident, and tell what\n"
	"                       is found; `midden report --rss --at NAME` has the rest\n"
	"  -w, --write FILE     write all that was recorded so far to FILE; the recording goes on\n"
	"  -h, --help           show this text\n"
	"\n"
	"Programs can do the same themselves: midden_snapshot(NAME) in <midden/midden.h>.\n";

static const struct option options[] = {
	{"rss", no_argument, NULL, 'r'},
	{"write", required_argument, NULL, 'w'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_pid(const char *text, pid_t *pid)
{
	char *end;

	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value <= 0 || value > INT32_MAX)
		return message_usage("snapshot", "%s is not a process id", text);
	*pid = (pid_t)value;
	return COMMAND_GOOD;
}

static void tell(const struct collect_snapshot *kept, const char *name)
{
	printf("snapshot %" PRIu64 " at %s: %s in %s\n", kept->number,
	       human_duration(kept->time_ns).text, human_bytes(kept->live_bytes).text,
	       human_things(kept->live_blocks, "block").text);
	if (kept->namesakes)
		message_print("%s %s called %s too: choose this one by its number",
			      human_things(kept->namesakes, "earlier snapshot").text,
			      kept->namesakes == 1 ? "is" : "are", name);
}

static int take(pid_t pid, const char *name)
{
	struct collect_snapshot kept;
	struct error e = {0};

	if (control_take_snapshot(pid, name, &kept, &e) != 0) {
		message_print("%s", e.text);
		return COMMAND_FAILED;
	}
	tell(&kept, name);
	return COMMAND_GOOD;
}

static int look(pid_t pid, const char *name)
{
	struct surveying_answer answer = {0};
	struct error e = {0};
	int result = control_take_survey(pid, name, &answer, &e);
	const struct profile_survey *found = &answer.found;

	if (answer.kept.number)
		tell(&answer.kept, name);
	if (result != 0) {
		message_print("%s", e.text);
		return COMMAND_FAILED;
	}
	printf("resident: %s of heap, of which %s is live, %s is dead but pinned by live blocks,"
	       " %s is free but kept by the allocator\n",
	       human_bytes(found->resident_bytes).text, human_bytes(found->touched_bytes).text,
	       human_bytes(found->pinned_bytes).text, human_bytes(found->free_bytes).text);
	return COMMAND_GOOD;
}

/* Symbols are looked up here: the recorder has other things to do. */
static int write_profile(pid_t pid, const char *file)
{
	const struct load_options load = {.symbols = true};
	struct control_origin origin;
	struct error e = {.offset = -1};

	if (outfile_check_profile(file, "-w") != COMMAND_GOOD)
		return COMMAND_FAILED;
	struct profile *p = control_read_profile(pid, &origin, &e);

	if (p) {
		load_symbols(p, &load, RESOLVE_MISSING, NULL);
		(void)profile_write(p, file, &e);
		profile_free(p);
	}
	if (e.set)
		message_print("%s", e.text);
	return e.set ? COMMAND_FAILED : COMMAND_GOOD;
}

static int run(int argc, char **argv)
{
	const char *file = NULL;
	bool rss = false;
	pid_t pid = 0;
	int code;

	opterr = 0;
	while ((code = getopt_long(argc, argv, ":rw:h", options, NULL)) != -1) {
		if (code == 'h') {
			(void)fputs(help, stdout);
			return COMMAND_GOOD;
		}
		if (code != 'w' && code != 'r')
			return message_bad_option("snapshot", code, argv);
		if (code == 'w')
			file = optarg;
		else
			rss = true;
	}
	if (file && rss)
		return message_usage("snapshot", "--write and --rss do not go together");
	if (file && argc - optind != 1)
		return message_usage("snapshot", "--write goes with a process id and no name");
	if (argc - optind < 1 || argc - optind > 2)
		return message_usage("snapshot", "a process id is needed, and perhaps a name");
	const char *name = argc - optind == 2 ? argv[optind + 1] : "";
	if (strlen(name) > SEGMENT_MARK_NAME_MAX)
		return message_usage("snapshot", "a name has at most %u bytes",
				     SEGMENT_MARK_NAME_MAX);
	int status = parse_pid(argv[optind], &pid);
	if (status != COMMAND_GOOD)
		return status;
	if (file)
		return write_profile(pid, file);
	return rss ? look(pid, name) : take(pid, name);
}

const struct command command_snapshot = {
	.name = "snapshot",
	.summary = "keep what is live now in a running recording",
	.help = help,
	.run = run,
};
