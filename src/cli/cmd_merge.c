/* cmd_merge.c -- `midden merge`: several profiles made one. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/load_directory.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "model/merge.h"
#include "model/roll.h"
#include "profile/trace.h"
#include "report/human.h"
#include "report/wording.h"

static const char help[] =
	"usage: midden merge -o OUT [OPTIONS] FILE...\n"
	"\n"
	"Makes one profile of several: of processes, of MPI ranks, of repeated runs. Each FILE\n"
	"stays known with its totals; see `midden stats OUT`. Threads and snapshots of each are "
	"kept,\n"
	"and counts by tag as they were at the end; traces are not.\n"
	"\n"
	"  -o, --output OUT     the file to write\n"
	"  --mode MODE          sum (default): add all figures. The peak is the sum of the peaks:\n"
	"                       more than was held at once, unless all peaked at one moment;\n"
	"                       max: the most that each stack came to in any FILE;\n"
	"                       mean: the mean of each stack over all FILEs, rounded\n"
	"  --align HOW          clock: put the time lines together by the clock (default with\n"
	"                       sum); start: at their starts (default otherwise)\n"
	"  -q, --quiet          print nothing when all went well\n"
	"  -h, --help           show this text\n"
	"\n"
	"Symbols:\n" LOAD_SYMBOL_HELP;

enum alignment { ALIGN_BY_MODE, ALIGN_CLOCK, ALIGN_START };

struct request {
	const char *output;
	struct merge_options merge;
	enum alignment align;
	struct load_options load;
	bool quiet;
	bool help;
};

enum option_code { OPTION_MODE = 256, OPTION_ALIGN };

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"mode", required_argument, NULL, OPTION_MODE},
	{"align", required_argument, NULL, OPTION_ALIGN},
	{"quiet", no_argument, NULL, 'q'},
	LOAD_SYMBOL_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_mode(struct request *r, const char *word)
{
	if (strcmp(word, "sum") == 0)
		r->merge.mode = PROFILE_MERGE_SUM;
	else if (strcmp(word, "max") == 0)
		r->merge.mode = PROFILE_MERGE_MAX;
	else if (strcmp(word, "mean") == 0)
		r->merge.mode = PROFILE_MERGE_MEAN;
	else
		return message_usage("merge", "--mode is sum, max or mean, not %s", word);
	return COMMAND_GOOD;
}

static int parse_align(struct request *r, const char *word)
{
	if (strcmp(word, "clock") == 0)
		r->align = ALIGN_CLOCK;
	else if (strcmp(word, "start") == 0)
		r->align = ALIGN_START;
	else
		return message_usage("merge", "--align is clock or start, not %s", word);
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;
	int status = load_parse_option(&r->load, "merge", code, argument);

	if (status != LOAD_NOT_MINE)
		return status;
	switch (code) {
	case 'o':
		r->output = argument;
		return COMMAND_GOOD;
	case OPTION_MODE:
		return parse_mode(r, argument);
	case OPTION_ALIGN:
		return parse_align(r, argument);
	case 'q':
		r->quiet = true;
		return COMMAND_GOOD;
	default:
		r->help = true;
		return COMMAND_GOOD;
	}
}

/* The inputs are kept: a slip of the hand must not cost one of them. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int check_request(struct request *r, char **files)
{
	if (!r->output)
		return message_usage("merge", "where to? name a file with -o");
	if (!files[0])
		return message_usage("merge", "what is to be merged? name the profiles");
	for (; *files; files++)
		if (is_same_file(*files, r->output))
			return message_usage("merge", "%s is one of the files to be merged",
					     r->output);
	r->merge.align_starts = r->align == ALIGN_START ||
				(r->align == ALIGN_BY_MODE && r->merge.mode != PROFILE_MERGE_SUM);
	return outfile_check_profile(r->output, "-o");
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"merge", ":o:qh", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->help)
		return status;
	return check_request(r, argv + optind);
}

static void print_summary(const struct profile *p, const char *output)
{
	message_print("%s of %s: peak %s, leaked %s, %s", wording_get_merge(p->run.merge),
		      human_things(p->inputs.count, "profile").text,
		      human_bytes(p->totals.peak_bytes).text,
		      human_bytes(p->totals.leaked_bytes).text,
		      human_things(p->totals.allocations, "allocation").text);
	message_print("wrote %s; see `midden stats %s`", output, output);
}

static int finish(struct merge *m, const struct request *r)
{
	struct error e = {.offset = -1};
	struct profile *p = merge_finish(m, &e);

	if (p && profile_write(p, r->output, &e) == 0) {
		if (!r->quiet)
			print_summary(p, r->output);
		profile_free(p);
		return COMMAND_GOOD;
	}
	if (p)
		message_print("cannot write %s", e.text);
	else
		message_print("cannot merge: %s", e.text);
	profile_free(p);
	return COMMAND_FAILED;
}

static int merge(const struct request *r, char **files)
{
	struct merge *m = merge_new(&r->merge);
	struct roll roll = {0};

	for (; *files; files++) {
		struct profile *p = load_profile(*files, &r->load);
		if (!p) {
			merge_free(m);
			roll_fini(&roll);
			return COMMAND_FAILED;
		}
		if (trace_get_count(p) && !r->quiet)
			message_print("%s: its trace stays behind: addresses of several processes "
				      "would be mixed up",
				      *files);
		merge_add(m, p, *files);
		roll_add(&roll, p, *files);
		profile_free(p);
	}
	load_note_doubles(&roll);
	roll_fini(&roll);
	return finish(m, r);
}

static int run(int argc, char **argv)
{
	struct request r = {.merge = {.mode = PROFILE_MERGE_SUM}, .load = {.symbols = true}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.help) {
		fputs(help, stdout);
	} else if (status == COMMAND_GOOD) {
		r.load.pool = symbol_pool_new(LOAD_POOL_MODULES);
		status = merge(&r, argv + optind);
		symbol_pool_free(r.load.pool);
	}
	load_options_free(&r.load);
	return status;
}

const struct command command_merge = {
	.name = "merge",
	.summary = "make one profile of several: processes, ranks, runs",
	.help = help,
	.run = run,
};
