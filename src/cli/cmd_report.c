/* cmd_report.c -- `midden report`: who held, leaked or allocated the memory. Runs: in the midden
 * command.
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
#include "report/flat_text.h"
#include "report/header.h"
#include "report/tree_json.h"
#include "report/tree_text.h"

static const char help[] =
	"usage: midden report [OPTIONS] [FILE]\n"
	"\n"
	"Shows which call stacks are behind a figure. FILE defaults to the newest midden.*.mdn in\n"
	"the working directory.\n"
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
	"  --tree               as a call tree (default)\n"
	"  --inverted           allocating functions first, their callers below (default)\n"
	"  --top-down           from the program's start down to the allocating functions\n"
	"  --flat               one line per function\n"
	"  -t, --threshold PCT  leave out branches below this share of the whole (default 1)\n"
	"  -d, --depth N        show N levels of calls (default: all)\n"
	"  --all-frames         show malloc, operator new and the like at the end of stacks too\n"
	"  --json               print JSON, with exact bytes\n"
	"  --color WHEN         auto (default: on a terminal, unless NO_COLOR is set), always, "
	"never\n"
	"  --no-pager           do not pipe into $PAGER on a terminal\n"
	"  -h, --help           show this text\n"
	"\n"
	"Symbols:\n" LOAD_HELP
	"  --no-write           do not write symbols that were looked up back to FILE\n";

struct request {
	struct tree_view view;
	struct load_options load;
	struct model_options model;
	enum output_colour colour;
	bool flat;
	bool json;
	bool no_pager;
	bool help;
};

enum option_code {
	OPTION_FIGURE = 256, /* + enum figure: one for each */
	OPTION_FIGURE_NAME = OPTION_FIGURE + FIGURE_KINDS,
	OPTION_TREE,
	OPTION_FLAT,
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
	{"tree", no_argument, NULL, OPTION_TREE},
	{"flat", no_argument, NULL, OPTION_FLAT},
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

static int parse_figure(struct request *r, const char *name)
{
	r->view.figure = figure_find(name);
	if (r->view.figure == FIGURE_KINDS)
		return message_usage("report", "there is no figure %s", name);
	return COMMAND_GOOD;
}

static int parse_threshold(struct request *r, const char *text)
{
	char *end;

	r->view.threshold = strtod(text, &end);
	if (end != text && *end == '%')
		end++;
	if (end == text || *end || !(r->view.threshold >= 0 && r->view.threshold <= 100))
		return message_usage("report", "%s is not a percentage", text);
	return COMMAND_GOOD;
}

static int parse_depth(struct request *r, const char *text)
{
	char *end;

	errno = 0;
	unsigned long depth = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || depth == 0 || depth > UINT_MAX)
		return message_usage("report", "%s is not a depth of 1 or more", text);
	r->view.depth = (unsigned)depth;
	return COMMAND_GOOD;
}

static int parse_colour(struct request *r, const char *word)
{
	r->colour = output_parse_colour(word);
	if (r->colour == OUTPUT_COLOUR_UNKNOWN)
		return message_usage("report", "--color is auto, always or never, not %s", word);
	return COMMAND_GOOD;
}

static int parse_switch(struct request *r, int code)
{
	switch (code) {
	case OPTION_TREE:
	case OPTION_FLAT:
		r->flat = code == OPTION_FLAT;
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
	int status = load_parse_option(&r->load, "report", code, optarg);

	if (status != LOAD_NOT_MINE)
		return status;
	switch (code) {
	case '?':
	case ':':
		return message_bad_option("report", code, argv);
	case 't':
		return parse_threshold(r, optarg);
	case 'd':
		return parse_depth(r, optarg);
	case OPTION_FIGURE_NAME:
		return parse_figure(r, optarg);
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
	if (status == COMMAND_GOOD && argc - optind > 1)
		return message_usage("report", "one FILE at a time");
	return status;
}

static void print_flat(FILE *out, const struct model *m, const struct request *r,
		       const struct style *style)
{
	struct flat *f = flat_build(m, r->view.figure);

	if (r->json)
		tree_json_print_flat(out, f);
	else
		flat_text_print(out, f, r->view.threshold, style);
	flat_free(f);
}

static void print_tree(FILE *out, const struct model *m, const struct request *r,
		       const struct style *style)
{
	struct tree *t = tree_build(m, &r->view);

	if (r->json)
		tree_json_print(out, t);
	else
		tree_text_print(out, t, style);
	tree_free(t);
}

static int print_report(const struct profile *p, const struct request *r)
{
	struct model *m = model_new(p, &r->model);
	struct output o;

	output_open(&o, r->colour, !r->no_pager && !r->json);
	if (!r->json) {
		header_print(o.file, p, &o.style);
		fputc('\n', o.file);
	}
	if (r->flat)
		print_flat(o.file, m, r, &o.style);
	else
		print_tree(o.file, m, r, &o.style);
	model_free(m);
	return output_close(&o);
}

static int show(struct request *r, const char *file)
{
	struct profile *p = load_profile(file, &r->load);

	if (!p)
		return COMMAND_FAILED;
	load_fill_model(&r->load, &r->model);
	int status = print_report(p, r);
	profile_free(p);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.view = {.threshold = 1.0}, .load = {.symbols = true, .keep = true}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = show(&r, argv[optind]);
	load_options_free(&r.load);
	return status;
}

const struct command command_report = {
	.name = "report",
	.summary = "show which call stacks are behind a figure",
	.help = help,
	.run = run,
};
