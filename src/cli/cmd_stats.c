/* cmd_stats.c -- `midden stats`: the totals of a profile, for people and for scripts. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
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
	"  --maps[=KIND]  of what the program mapped itself (recorded with --maps): all, or KIND\n"
	"                 anonymous, file, reserved, shared or break\n"
	"  --all-frames   with --sites: keep malloc, operator new and the like at the end of "
	"stacks,\n"
	"                 and what belongs to the Python interpreter\n"
	"  --color WHEN   auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
	"  --no-pager     do not pipe into $PAGER on a terminal\n"
	"  -h, --help     show this text\n"
	"\n"
	"Symbols, with --sites:\n" OPTIONS_SYMBOLS_HELP;

struct request {
	struct options shared;
	struct stats_json_options json_options;
};

enum option_code {
	OPTION_SITES = 256,
	OPTION_POINTS,
};

static const struct option options[] = {
	{"sites", no_argument, NULL, OPTION_SITES},
	{"points", no_argument, NULL, OPTION_POINTS},
	LOAD_MAPS_OPTION,
	OPTIONS_OUTPUT,
	OPTIONS_PAGER,
	OPTIONS_END,
};

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case OPTION_SITES:
		r->json_options.sites = r->shared.load.symbols = true;
		return COMMAND_GOOD;
	case OPTION_POINTS:
		r->json_options.points = true;
		return COMMAND_GOOD;
	default:
		return options_take(&r->shared, "stats", code, argument);
	}
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"stats", ":h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	if (argc - optind > 1)
		return message_usage("stats", "one FILE at a time");
	if ((r->json_options.sites || r->json_options.points) && !r->shared.json)
		return message_usage("stats", "--sites and --points go with --json");
	return status;
}

static int print_json(const struct profile *p, const struct request *r)
{
	struct model *m = model_new(p, &r->shared.model);
	struct output o;

	output_open(&o, OUTPUT_COLOUR_NEVER, false);
	stats_json_print(o.file, m, &r->json_options);
	model_free(m);
	return output_close(&o);
}

static int print_text(const struct profile *p, const struct request *r)
{
	struct output o;

	output_open(&o, r->shared.colour, !r->shared.no_pager);
	stats_text_print(o.file, p, &o.style);
	return output_close(&o);
}

static int show(struct request *r, const char *file)
{
	struct profile *p = load_profile(file, &r->shared.load);

	if (!p)
		return COMMAND_FAILED;
	load_fill_model(&r->shared.load, &r->shared.model);
	int status = r->shared.json ? print_json(p, r) : print_text(p, r);
	profile_free(p);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.shared = {.load = {.keep = true}}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = show(&r, argv[optind]);
	options_free(&r.shared);
	return status;
}

const struct command command_stats = {
	.name = "stats",
	.summary = "show totals, block sizes and threads",
	.help = help,
	.run = run,
};
