/* cmd_diff.c -- `midden diff`: what changed between two profiles. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "report/diff_json.h"
#include "report/diff_text.h"

static const char help[] =
	"usage: midden diff [OPTIONS] OLD NEW\n"
	"\n"
	"Shows what grew, shrank, is new or gone from profile OLD to profile NEW, which may be of\n"
	"different builds: stacks pair by the names of their functions, not by addresses or "
	"lines.\n"
	"\n"
	"What is counted:\n" OPTIONS_FIGURES_HELP
	"  --figure NAME        the same by name: peak, leaked, allocated, calls, temporary\n"
	"  --suppressions FILE  leaks named in FILE, as LeakSanitizer reads it, do not count\n"
	"  --no-suppressions    what the C and C++ libraries keep counts as leaked "
	"too\n" LOAD_MAPS_HELP "\n"
	"How it is shown:\n"
	"  --by WHAT            one entry per stack (default), function, line or module\n"
	"  --flat               as a list, what grew first (default)\n"
	"  --tree               as a call tree of the stacks that changed\n"
	"  --inverted           in the tree: allocating functions first (default)\n"
	"  --top-down           in the tree: from the program's start\n"
	"  -t, --threshold PCT  leave out what is below this share of all growth and shrinking\n"
	"                       (default 1; with --json 0)\n"
	"  -d, --depth N        show N frames of each stack, or N levels of the "
	"tree\n" OPTIONS_OUTPUT_HELP "\n"
	"Symbols:\n" LOAD_HELP
	"  --no-write           do not write symbols that were looked up back to the files\n";

struct request {
	struct options shared;
	enum diff_by by;
	bool tree;
};

enum option_code {
	OPTION_BY = 256,
	OPTION_FLAT,
	OPTION_TREE,
};

static const struct option options[] = {
	OPTIONS_FIGURES,
	{"by", required_argument, NULL, OPTION_BY},
	{"flat", no_argument, NULL, OPTION_FLAT},
	{"tree", no_argument, NULL, OPTION_TREE},
	OPTIONS_TREE,
	OPTIONS_SUPPRESS,
	LOAD_MAPS_OPTION,
	OPTIONS_OUTPUT,
	OPTIONS_PAGER,
	OPTIONS_END,
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_by(struct request *r, const char *name)
{
	r->by = diff_by_find(name);
	if (r->by == DIFF_BY_KINDS)
		return message_usage("diff", "--by is stack, function, line or module, not %s",
				     name);
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case OPTION_BY:
		return parse_by(r, argument);
	case OPTION_FLAT:
	case OPTION_TREE:
		r->tree = code == OPTION_TREE;
		return COMMAND_GOOD;
	default:
		return options_take(&r->shared, "diff", code, argument);
	}
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"diff", ":t:d:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);
	struct options *shared = &r->shared;

	if (status != COMMAND_GOOD || shared->help)
		return status;
	if (argc - optind != 2)
		return message_usage("diff", "two profiles are compared: OLD NEW");
	if (r->tree && r->by != DIFF_BY_STACK)
		return message_usage("diff", "--tree goes with --by stack");
	if (shared->view.threshold < 0)
		shared->view.threshold = shared->json ? 0 : 1;
	return status;
}

/* ---- the work -------------------------------------------------------------------------------- */

static void print_tree(struct output *o, const struct diff *d, const struct request *r)
{
	struct diff_tree *t = diff_tree_build(d, &r->shared.view);

	if (r->shared.json)
		diff_json_print_tree(o->file, t);
	else
		diff_text_print_tree(o->file, t, &o->style);
	diff_tree_free(t);
}

static int print_diff(struct profile *const profiles[2], struct request *r)
{
	struct model *of[2] = {model_new(profiles[0], &r->shared.model),
			       model_new(profiles[1], &r->shared.model)};
	const struct model *models[2] = {of[0], of[1]};
	bool *suppressed[2] = {options_list_suppressed(&r->shared, of[0]),
			       options_list_suppressed(&r->shared, of[1])};
	const struct diff_request wanted = {
		r->shared.view.figure, r->by, {suppressed[0], suppressed[1]}};
	struct diff *d = diff_build(models, &wanted);
	struct output o;

	output_open(&o, r->shared.colour, !r->shared.no_pager && !r->shared.json);
	if (!r->shared.json)
		diff_text_print_totals(o.file, d, &o.style);
	if (r->tree)
		print_tree(&o, d, r);
	else if (r->shared.json)
		diff_json_print(o.file, d, r->shared.view.threshold);
	else
		diff_text_print(o.file, d, r->shared.view.threshold, r->shared.view.depth,
				&o.style);
	diff_free(d);
	free(suppressed[0]);
	free(suppressed[1]);
	model_free(of[0]);
	model_free(of[1]);
	return output_close(&o);
}

static void warn_of_strangers(const struct profile *before, const struct profile *now)
{
	const char *a = profile_string(before, before->run.program);
	const char *b = profile_string(now, now->run.program);

	if (*a && *b && strcmp(a, b) != 0) /* a damaged one may not know its own */
		message_print("warning: these are of two programs, %s and %s", a, b);
}

static int compare(struct request *r, char **files)
{
	struct profile *profiles[2];

	profiles[0] = load_profile(files[0], &r->shared.load);
	profiles[1] = profiles[0] ? load_profile(files[1], &r->shared.load) : NULL;
	int status = COMMAND_FAILED;
	if (profiles[1]) {
		warn_of_strangers(profiles[0], profiles[1]);
		load_fill_model(&r->shared.load, &r->shared.model);
		status = print_diff(profiles, r);
	}
	profile_free(profiles[0]);
	profile_free(profiles[1]);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {
		.shared = {.view = {.threshold = -1}, .load = {.symbols = true, .keep = true}}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = compare(&r, argv + optind);
	options_free(&r.shared);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "show what changed between two profiles",
	.help = help,
	.run = run,
};
