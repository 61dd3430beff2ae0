/* cmd_diff.c -- `midden diff`: what changed between two profiles. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/load.h"
#include "cli/message.h"
#include "cli/output.h"
#include "report/diff_json.h"
#include "report/diff_text.h"

static const char help[] =
	"usage: midden diff [OPTIONS] OLD NEW\n"
	"\n"
	"Shows what grew, shrank, is new or gone from profile OLD to profile NEW, which may be of\n"
	"different builds: stacks pair by the names of their functions, not by addresses or "
	"lines.\n"
	"\n"
	"What is counted:\n"
	"  --peak               held when the program had the most memory (default)\n"
	"  --leaks              not freed when the program ended\n"
	"  --allocated          allocated in all, by bytes\n"
	"  --calls              allocated in all, by number of calls\n"
	"  --temporary          freed before the thread allocated anything else\n"
	"  --figure NAME        the same by name: peak, leaked, allocated, calls, temporary\n"
	"\n"
	"How it is shown:\n"
	"  --by WHAT            one entry per stack (default), function, line or module\n"
	"  --flat               as a list, what grew first (default)\n"
	"  --tree               as a call tree of the stacks that changed\n"
	"  --inverted           in the tree: allocating functions first (default)\n"
	"  --top-down           in the tree: from the program's start\n"
	"  -t, --threshold PCT  leave out what is below this share of all growth and shrinking\n"
	"                       (default 1; with --json 0)\n"
	"  -d, --depth N        show N frames of each stack, or N levels of the tree\n"
	"  --all-frames         show malloc, operator new and the like at the end of stacks too\n"
	"  --json               print JSON, with exact bytes\n"
	"  --color WHEN         auto (default: on a terminal, unless NO_COLOR is set), always, "
	"never\n"
	"  --no-pager           do not pipe into $PAGER on a terminal\n"
	"  -h, --help           show this text\n"
	"\n"
	"Symbols:\n" LOAD_HELP
	"  --no-write           do not write symbols that were looked up back to the files\n";

struct request {
	struct tree_view view;
	enum diff_by by;
	struct load_options load;
	struct model_options model;
	enum output_colour colour;
	bool tree;
	bool json;
	bool no_pager;
	bool help;
};

enum option_code {
	OPTION_FIGURE = 256, /* + enum figure: one for each */
	OPTION_FIGURE_NAME = OPTION_FIGURE + FIGURE_KINDS,
	OPTION_BY,
	OPTION_FLAT,
	OPTION_TREE,
	OPTION_INVERTED,
	OPTION_TOP_DOWN,
	OPTION_ALL_FRAMES,
	OPTION_JSON,
	OPTION_COLOUR,
	OPTION_NO_PAGER,
	OPTION_NO_WRITE,
};

static const struct option options[] = {
	{"peak", no_argument, NULL, OPTION_FIGURE + FIGURE_PEAK},
	{"leaks", no_argument, NULL, OPTION_FIGURE + FIGURE_LEAKED},
	{"leaked", no_argument, NULL, OPTION_FIGURE + FIGURE_LEAKED},
	{"allocated", no_argument, NULL, OPTION_FIGURE + FIGURE_ALLOCATED},
	{"calls", no_argument, NULL, OPTION_FIGURE + FIGURE_CALLS},
	{"temporary", no_argument, NULL, OPTION_FIGURE + FIGURE_TEMPORARY},
	{"figure", required_argument, NULL, OPTION_FIGURE_NAME},
	{"by", required_argument, NULL, OPTION_BY},
	{"flat", no_argument, NULL, OPTION_FLAT},
	{"tree", no_argument, NULL, OPTION_TREE},
	{"inverted", no_argument, NULL, OPTION_INVERTED},
	{"top-down", no_argument, NULL, OPTION_TOP_DOWN},
	{"threshold", required_argument, NULL, 't'},
	{"depth", required_argument, NULL, 'd'},
	{"all-frames", no_argument, NULL, OPTION_ALL_FRAMES},
	{"json", no_argument, NULL, OPTION_JSON},
	{"color", required_argument, NULL, OPTION_COLOUR},
	{"colour", required_argument, NULL, OPTION_COLOUR},
	{"no-pager", no_argument, NULL, OPTION_NO_PAGER},
	{"no-write", no_argument, NULL, OPTION_NO_WRITE},
	LOAD_LONG_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_figure(struct request *r, const char *name)
{
	r->view.figure = figure_find(name);
	if (r->view.figure == FIGURE_KINDS)
		return message_usage("diff", "there is no figure %s", name);
	return COMMAND_GOOD;
}

static int parse_by(struct request *r, const char *name)
{
	r->by = diff_by_find(name);
	if (r->by == DIFF_BY_KINDS)
		return message_usage("diff", "--by is stack, function, line or module, not %s",
				     name);
	return COMMAND_GOOD;
}

static int parse_threshold(struct request *r, const char *text)
{
	char *end;

	r->view.threshold = strtod(text, &end);
	if (end != text && *end == '%')
		end++;
	if (end == text || *end || !(r->view.threshold >= 0 && r->view.threshold <= 100))
		return message_usage("diff", "%s is not a percentage", text);
	return COMMAND_GOOD;
}

static int parse_depth(struct request *r, const char *text)
{
	char *end;

	errno = 0;
	unsigned long depth = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || depth == 0 || depth > UINT_MAX)
		return message_usage("diff", "%s is not a depth of 1 or more", text);
	r->view.depth = (unsigned)depth;
	return COMMAND_GOOD;
}

static int parse_colour(struct request *r, const char *word)
{
	r->colour = output_parse_colour(word);
	if (r->colour == OUTPUT_COLOUR_UNKNOWN)
		return message_usage("diff", "--color is auto, always or never, not %s", word);
	return COMMAND_GOOD;
}

static int parse_switch(struct request *r, int code)
{
	switch (code) {
	case OPTION_FLAT:
	case OPTION_TREE:
		r->tree = code == OPTION_TREE;
		break;
	case OPTION_INVERTED:
	case OPTION_TOP_DOWN:
		r->view.direction = code == OPTION_INVERTED ? TREE_INVERTED : TREE_TOP_DOWN;
		break;
	case OPTION_ALL_FRAMES:
		r->model.all_frames = true;
		break;
	case OPTION_JSON:
		r->json = true;
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
		r->view.figure = (enum figure)(code - OPTION_FIGURE);
	}
	return COMMAND_GOOD;
}

static int parse_option(struct request *r, int code, char **argv)
{
	int status = load_parse_option(&r->load, "diff", code, optarg);

	if (status != LOAD_NOT_MINE)
		return status;
	switch (code) {
	case '?':
	case ':':
		return message_bad_option("diff", code, argv);
	case 't':
		return parse_threshold(r, optarg);
	case 'd':
		return parse_depth(r, optarg);
	case OPTION_FIGURE_NAME:
		return parse_figure(r, optarg);
	case OPTION_BY:
		return parse_by(r, optarg);
	case OPTION_COLOUR:
		return parse_colour(r, optarg);
	default:
		return parse_switch(r, code);
	}
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	int status = COMMAND_GOOD;
	int code;

	opterr = 0;
	while (status == COMMAND_GOOD &&
	       (code = getopt_long(argc, argv, ":t:d:h", options, NULL)) != -1)
		status = parse_option(r, code, argv);
	if (status != COMMAND_GOOD || r->help)
		return status;
	if (argc - optind != 2)
		return message_usage("diff", "two profiles are compared: OLD NEW");
	if (r->tree && r->by != DIFF_BY_STACK)
		return message_usage("diff", "--tree goes with --by stack");
	if (r->view.threshold < 0)
		r->view.threshold = r->json ? 0 : 1;
	return status;
}

/* ---- the work -------------------------------------------------------------------------------- */

static void print_tree(struct output *o, const struct diff *d, const struct request *r)
{
	struct diff_tree *t = diff_tree_build(d, &r->view);

	if (r->json)
		diff_json_print_tree(o->file, t);
	else
		diff_text_print_tree(o->file, t, &o->style);
	diff_tree_free(t);
}

static int print_diff(struct profile *const profiles[2], const struct request *r)
{
	struct model *of[2] = {model_new(profiles[0], &r->model),
			       model_new(profiles[1], &r->model)};
	const struct model *models[2] = {of[0], of[1]};
	struct diff *d = diff_build(models, r->view.figure, r->by);
	struct output o;

	output_open(&o, r->colour, !r->no_pager && !r->json);
	if (!r->json)
		diff_text_print_totals(o.file, profiles[0], profiles[1], &o.style);
	if (r->tree)
		print_tree(&o, d, r);
	else if (r->json)
		diff_json_print(o.file, d, r->view.threshold);
	else
		diff_text_print(o.file, d, r->view.threshold, r->view.depth, &o.style);
	diff_free(d);
	model_free(of[0]);
	model_free(of[1]);
	return output_close(&o);
}

static void warn_of_strangers(const struct profile *before, const struct profile *now)
{
	const char *a = profile_string(before, before->run.program);
	const char *b = profile_string(now, now->run.program);

	if (strcmp(a, b) != 0)
		message_print("warning: these are of two programs, %s and %s", a, b);
}

static int compare(struct request *r, char **files)
{
	struct profile *profiles[2];

	profiles[0] = load_profile(files[0], &r->load);
	profiles[1] = profiles[0] ? load_profile(files[1], &r->load) : NULL;
	int status = COMMAND_FAILED;
	if (profiles[1]) {
		warn_of_strangers(profiles[0], profiles[1]);
		load_fill_model(&r->load, &r->model);
		status = print_diff(profiles, r);
	}
	profile_free(profiles[0]);
	profile_free(profiles[1]);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.view = {.threshold = -1}, .load = {.symbols = true, .keep = true}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = compare(&r, argv + optind);
	load_options_free(&r.load);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "show what changed between two profiles",
	.help = help,
	.run = run,
};
