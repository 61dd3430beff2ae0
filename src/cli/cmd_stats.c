/* cmd_stats.c -- `midden stats`: the totals of a profile, for people and for scripts. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/output.h"
#include "report/stats_json.h"
#include "report/stats_text.h"

static const char help[] =
	"usage: midden stats [OPTIONS] [FILE]\n"
	"\n"
	"Shows totals, block sizes and threads. FILE defaults to the newest midden.*.mdn in the\n"
	"working directory.\n"
	"\n"
	"  --json         print one JSON object with exact figures\n"
	"  --sites        with --json: add every call stack with its figures\n"
	"  --points       with --json: add the time line\n"
	"  --all-frames   with --sites: keep malloc, operator new and the like at the end of "
	"stacks\n"
	"  --color WHEN   auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
	"  --no-pager     do not pipe into $PAGER on a terminal\n"
	"  -h, --help     show this text\n"
	"\n"
	"Symbols, with --sites:\n" LOAD_HELP
	"  --no-write           do not write symbols that were looked up back to FILE\n";

struct request {
	struct stats_json_options json_options;
	struct load_options load;
	struct model_options model;
	enum output_colour colour;
	bool json;
	bool no_pager;
	bool help;
};

enum option_code {
	OPTION_JSON = 256,
	OPTION_SITES,
	OPTION_POINTS,
	OPTION_ALL_FRAMES,
	OPTION_COLOUR,
	OPTION_NO_PAGER,
	OPTION_NO_WRITE,
};

static const struct option options[] = {
	{"json", no_argument, NULL, OPTION_JSON},
	{"sites", no_argument, NULL, OPTION_SITES},
	{"points", no_argument, NULL, OPTION_POINTS},
	{"all-frames", no_argument, NULL, OPTION_ALL_FRAMES},
	{"color", required_argument, NULL, OPTION_COLOUR},
	{"colour", required_argument, NULL, OPTION_COLOUR},
	{"no-pager", no_argument, NULL, OPTION_NO_PAGER},
	{"no-write", no_argument, NULL, OPTION_NO_WRITE},
	LOAD_LONG_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_option(struct request *r, int code, char **argv)
{
	int status = load_parse_option(&r->load, "stats", code, optarg);

	if (status != LOAD_NOT_MINE)
		return status;
	switch (code) {
	case OPTION_JSON:
		r->json = true;
		break;
	case OPTION_SITES:
		r->json_options.sites = r->load.symbols = true;
		break;
	case OPTION_POINTS:
		r->json_options.points = true;
		break;
	case OPTION_ALL_FRAMES:
		r->model.all_frames = true;
		break;
	case OPTION_COLOUR:
		r->colour = output_parse_colour(optarg);
		if (r->colour == OUTPUT_COLOUR_UNKNOWN)
			return message_usage("stats", "--color is auto, always or never, not %s",
					     optarg);
		break;
	case OPTION_NO_PAGER:
		r->no_pager = true;
		break;
	case OPTION_NO_WRITE:
		r->load.keep = false;
		break;
	case 'h':
		r->help = true;
		break;
	default:
		return message_bad_option("stats", code, argv);
	}
	return COMMAND_GOOD;
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	int status = COMMAND_GOOD;
	int code;

	opterr = 0;
	while (status == COMMAND_GOOD &&
	       (code = getopt_long(argc, argv, ":h", options, NULL)) != -1)
		status = parse_option(r, code, argv);
	if (status != COMMAND_GOOD || r->help)
		return status;
	if (argc - optind > 1)
		return message_usage("stats", "one FILE at a time");
	if ((r->json_options.sites || r->json_options.points) && !r->json)
		return message_usage("stats", "--sites and --points go with --json");
	return status;
}

static int print_json(const struct profile *p, const struct request *r)
{
	struct model *m = model_new(p, &r->model);
	struct output o;

	output_open(&o, OUTPUT_COLOUR_NEVER, false);
	stats_json_print(o.file, m, &r->json_options);
	model_free(m);
	return output_close(&o);
}

static int print_text(const struct profile *p, const struct request *r)
{
	struct output o;

	output_open(&o, r->colour, !r->no_pager);
	stats_text_print(o.file, p, &o.style);
	return output_close(&o);
}

static int show(struct request *r, const char *file)
{
	struct profile *p = load_profile(file, &r->load);

	if (!p)
		return COMMAND_FAILED;
	load_fill_model(&r->load, &r->model);
	int status = r->json ? print_json(p, r) : print_text(p, r);
	profile_free(p);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.load = {.keep = true}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = show(&r, argv[optind]);
	load_options_free(&r.load);
	return status;
}

const struct command command_stats = {
	.name = "stats",
	.summary = "show totals, block sizes and threads",
	.help = help,
	.run = run,
};
