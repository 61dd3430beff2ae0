/* cmd_leaks.c -- `midden leaks`: which blocks are lost, and who holds the others. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/control.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "collect/collect.h"
#include "model/leaks.h"
#include "model/unchecked.h"
#include "report/leaks_json.h"
#include "report/leaks_report.h"

static const char help[] =
	"usage: midden leaks [OPTIONS] PID|FILE\n"
	"\n"
	"Tells lost blocks, which nothing points to any more, from those that are still held, and\n"
	"who holds these. PID is a process that is being recorded: it is stopped for a moment and\n"
	"goes on. FILE is a profile of `midden record --leaks`, which looks when the program\n"
	"exits (default: the newest midden.*.mdn in the working directory).\n"
	"\n"
	"  --show CLASSES           stacks of which classes: definite, indirect, interior,\n"
	"                           reachable or all, with commas between (default:\n"
	"                           definite,indirect,interior)\n"
	"  -l, --limit N            at most N stacks of each class (default: 20; 0: all)\n"
	"  --long-stop              with PID: stop it for as long as the look takes, where it "
	"cannot\n"
	"                           be copied and reading it takes more than 100 ms per GB\n"
	"  --child-copy             with PID: the copy may be a child of the process, where "
	"`midden\n"
	"                           record` is not its parent\n"
	"  --fail                   end with status 1 if anything is lost, or a process was not\n"
	"                           looked at\n"
	"  --allow-unchecked NAMES  with --fail: processes of these programs need not have been\n"
	"                           looked at; patterns with commas between: sh,make or '*'\n"
	"  -w, --write FILE         with PID: write the profile with the answer to FILE too\n"
	"  --suppressions FILE      leaks named in FILE, as LeakSanitizer reads it, do not count\n"
	"  --no-suppressions        what the C and C++ libraries keep counts as lost too\n"
	"  --all-frames             show malloc, operator new and the like in stacks too\n"
	"  --json                   print JSON\n"
	"  --color WHEN             auto (default: on a terminal, unless NO_COLOR is set), "
	"always,\n"
	"                           never\n"
	"  --no-pager               do not pipe into $PAGER on a terminal\n"
	"  -h, --help               show this text\n"
	"\n"
	"Classes: a definite leak is lost by itself, an indirect one because only lost blocks "
	"point\n"
	"to it; an interior one is held by pointers to its inside alone. Details: "
	"midden-leaks(1).\n"
	"\n"
	"Symbols:\n" OPTIONS_SYMBOLS_HELP;

#define LIMIT_USUAL 20u
#define CLASSES_USUAL \
	(1u << PROFILE_LOST_DEFINITE | 1u << PROFILE_LOST_INDIRECT | 1u << PROFILE_LOST_INTERIOR)
#define CLASSES_ALL ((1u << PROFILE_LOST_CLASSES) - 1)

struct request {
	struct options shared;
	const char *write;
	const char *allow_unchecked;
	unsigned limit;
	unsigned classes;
	bool fail;
	unsigned leave; /* enum collect_leave */
};

enum option_code {
	OPTION_SHOW = 256,
	OPTION_FAIL,
	OPTION_ALLOW_UNCHECKED,
	OPTION_LONG_STOP,
	OPTION_CHILD_COPY,
};

static const struct option options[] = {
	{"show", required_argument, NULL, OPTION_SHOW},
	{"limit", required_argument, NULL, 'l'},
	{"long-stop", no_argument, NULL, OPTION_LONG_STOP},
	{"child-copy", no_argument, NULL, OPTION_CHILD_COPY},
	{"fail", no_argument, NULL, OPTION_FAIL},
	{"allow-unchecked", required_argument, NULL, OPTION_ALLOW_UNCHECKED},
	{"write", required_argument, NULL, 'w'},
	OPTIONS_SUPPRESS,
	OPTIONS_OUTPUT,
	OPTIONS_PAGER,
	OPTIONS_END,
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_classes(struct request *r, const char *text)
{
	r->classes = 0;
	for (const char *at = text; at;) {
		size_t bytes = strcspn(at, ",");
		unsigned class = leaks_find_class(at, bytes);

		if (bytes == 3 && strncmp(at, "all", 3) == 0)
			r->classes = CLASSES_ALL;
		else if (class == PROFILE_LOST_CLASSES)
			return message_usage("leaks", "there is no class %.*s", (int)bytes, at);
		else
			r->classes |= 1u << class;
		at = at[bytes] ? at + bytes + 1 : NULL;
	}
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case OPTION_SHOW:
		return parse_classes(r, argument);
	case 'l':
		return options_parse_limit("leaks", argument, &r->limit);
	case OPTION_FAIL:
		r->fail = true;
		return COMMAND_GOOD;
	case OPTION_ALLOW_UNCHECKED:
		r->allow_unchecked = argument;
		return COMMAND_GOOD;
	case OPTION_LONG_STOP:
		r->leave |= COLLECT_LONG_STOP;
		return COMMAND_GOOD;
	case OPTION_CHILD_COPY:
		r->leave |= COLLECT_CHILD_COPY;
		return COMMAND_GOOD;
	case 'w':
		r->write = argument;
		return COMMAND_GOOD;
	default:
		return options_take(&r->shared, "leaks", code, argument);
	}
}

/* One of those that are of no use with a profile. */
static const char *get_living_option(const struct request *r)
{
	if (r->write)
		return "--write";
	return r->leave & COLLECT_LONG_STOP ? "--long-stop" : "--child-copy";
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"leaks", ":l:w:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	if (argc - optind > 1)
		return message_usage("leaks", "one FILE or PID at a time");
	if ((r->write || r->leave) && !load_find_pid(argv[optind]))
		return message_usage("leaks", "%s goes with a process id", get_living_option(r));
	return outfile_check_profile(r->write, "-w");
}

/* ---- the work -------------------------------------------------------------------------------- */

/* What cannot be told is not taken for good: tests would pass that tested nothing. */
static bool has_unchecked(const struct profile *p, const struct request *r)
{
	struct unchecked u;

	unchecked_list(&u, p, r->allow_unchecked);
	bool has = u.rows.count;
	if (has) {
		char *text = unchecked_describe(&u, p);

		message_print("--fail: not all were looked at; not: %s (--allow-unchecked)", text);
		free(text);
	}
	unchecked_free(&u);
	return has;
}

static int print_leaks(const struct leaks *l, const struct request *r)
{
	struct output o;

	output_open(&o, r->shared.colour, !r->shared.no_pager && !r->shared.json);
	if (r->shared.json)
		leaks_json_print(o.file, l);
	else
		leaks_report_print(o.file, l, r->limit, &o.style);
	int status = output_close(&o);
	if (r->fail && has_unchecked(model_get_profile(l->model), r))
		return COMMAND_FAILED;
	return r->fail && leaks_get_lost(l).blocks ? COMMAND_FAILED : status;
}

static int show(struct request *r, const struct profile *p)
{
	struct leaks leaks;

	load_fill_model(&r->shared.load, &r->shared.model);
	struct model *m = model_new(p, &r->shared.model);
	bool *suppressed = options_list_suppressed(&r->shared, m);
	leaks_build(&leaks, m, suppressed, r->classes);
	if (!r->shared.json)
		leaks_join(&leaks);
	int status = print_leaks(&leaks, r);
	leaks_free(&leaks);
	free(suppressed);
	model_free(m);
	return status;
}

/* Symbols are looked up here: the recorder has other things to do. */
static struct profile *ask(pid_t pid, const struct request *r)
{
	struct control_origin origin;
	struct error e = {.offset = -1};
	struct profile *p = control_find_lost(pid, r->leave, &origin, &e);

	if (p) {
		load_symbols(p, &r->shared.load, RESOLVE_MISSING, NULL);
		if (r->write)
			(void)profile_write(p, r->write, &e);
	}
	if (!e.set)
		return p;
	message_print("%s", e.text);
	profile_free(p);
	return NULL;
}

static int find_and_show(struct request *r, const char *word)
{
	pid_t pid = load_find_pid(word);
	struct profile *p = pid ? ask(pid, r) : load_profile(word, &r->shared.load);
	int status = COMMAND_FAILED;

	if (p && p->run.lost_flags)
		status = show(r, p);
	else if (p)
		message_refuse_lost(word, p);
	profile_free(p);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.limit = LIMIT_USUAL,
			    .classes = CLASSES_USUAL,
			    .shared = {.load = {.symbols = true, .keep = true}}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = find_and_show(&r, argv[optind]);
	options_free(&r.shared);
	return status;
}

const struct command command_leaks = {
	.name = "leaks",
	.summary = "tell lost blocks from those that are still held, and by whom",
	.help = help,
	.run = run,
};
