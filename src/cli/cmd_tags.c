/* cmd_tags.c -- `midden tags`: what was counted by tag, as a tree or in malloc-tag's formats.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/graphviz.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "export/malloctag.h"
#include "model/snapshots.h"
#include "model/tagtree.h"
#include "report/tags_text.h"

static const char help[] =
	"usage: midden tags [OPTIONS] [FILE...]\n"
	"\n"
	"Shows what a program has allocated and freed inside of its tags (midden_tag_push), "
	"thread\n"
	"by thread. Several FILEs are shown together. FILE defaults to the newest midden.*.mdn in\n"
	"the working directory. Sizes are those of the blocks, which may be a little more than "
	"what\n"
	"was asked for; what is freed counts at the tag that frees it.\n"
	"\n"
	"  -f, --format WHICH    text (default), json or dot, as malloc-tag writes them, or svg\n"
	"  -o, --output FILE     write there; .json, .dot or .svg tells the format\n"
	"      --json            as -f json\n"
	"  -m, --merge PATTERN   show all threads whose name matches as one (repeatable); PATTERN "
	"is\n"
	"                        a glob, or an extended regular expression between slashes\n"
	"  -s, --snapshot WHICH  as it was at a snapshot: its number from 1 on, or its name\n"
	"      --each            with -o PREFIX: write every snapshot to PREFIX.0000.json, and so "
	"on\n"
	"  -t, --threshold PCT   leave out tags with less than PCT percent of all (default: 0)\n"
	"  --color WHEN          auto (default: on a terminal, unless NO_COLOR is set), always, "
	"never\n"
	"  --no-pager            do not pipe into $PAGER on a terminal\n"
	"  -h, --help            show this text\n";

enum format { FORMAT_NONE, FORMAT_TEXT, FORMAT_JSON, FORMAT_DOT, FORMAT_SVG };

static const char *const format_names[] = {"", "text", "json", "dot", "svg"};

struct request {
	struct options shared;
	struct pattern_list rules;
	VEC(struct profile *) profiles;
	const char *out;
	const char *snapshot;
	double threshold; /* a share */
	enum format format;
	bool each;
};

enum option_code {
	OPTION_EACH = 256,
};

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{"merge", required_argument, NULL, 'm'},
	{"snapshot", required_argument, NULL, 's'},
	{"each", no_argument, NULL, OPTION_EACH},
	{"threshold", required_argument, NULL, 't'},
	OPTIONS_OUTPUT,
	OPTIONS_PAGER,
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* ---- the command line ------------------------------------------------------------------------ */

static enum format find_format(const char *name)
{
	for (int i = FORMAT_TEXT; i <= FORMAT_SVG; i++)
		if (strcmp(name, format_names[i]) == 0)
			return (enum format)i;
	return FORMAT_NONE;
}

static int parse_format(struct request *r, const char *name)
{
	r->format = find_format(name);
	if (r->format == FORMAT_NONE)
		return message_usage("tags", "there is no format %s", name);
	return COMMAND_GOOD;
}

static int parse_rule(struct request *r, const char *text)
{
	struct error e = {0};

	if (pattern_add(&r->rules, text, &e))
		return message_usage("tags", "%s", e.text);
	return COMMAND_GOOD;
}

static int parse_threshold(struct request *r, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent >= 0 && percent <= 100))
		return message_usage("tags", "the threshold must be 0 to 100, not '%s'", text);
	r->threshold = percent / 100;
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case 'f':
		return parse_format(r, argument);
	case 'o':
		r->out = strcmp(argument, "-") == 0 ? NULL : argument;
		return COMMAND_GOOD;
	case 'm':
		return parse_rule(r, argument);
	case 's':
		r->snapshot = argument;
		return COMMAND_GOOD;
	case 't':
		return parse_threshold(r, argument);
	case OPTION_EACH:
		r->each = true;
		return COMMAND_GOOD;
	default:
		return options_take(&r->shared, "tags", code, argument);
	}
}

static void choose_format(struct request *r)
{
	const char *dot = r->out && !r->each ? strrchr(r->out, '.') : NULL;

	if (r->format == FORMAT_NONE && r->shared.json)
		r->format = FORMAT_JSON;
	if (r->format == FORMAT_NONE && dot)
		r->format = find_format(dot + 1);
	if (r->format == FORMAT_NONE)
		r->format = r->each ? FORMAT_JSON : FORMAT_TEXT;
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"tags", ":f:o:m:s:t:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	if (r->each && (!r->out || r->snapshot || argc - optind > 1))
		return message_usage("tags", "--each goes with -o PREFIX and one FILE");
	choose_format(r);
	return COMMAND_GOOD;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct picture {
	const struct request *request;
	struct tagtree tree;
	struct malloctag_process process;
};

static int draw(FILE *out, const struct picture *p, struct error *e)
{
	FILE *graph = tmpfile();

	if (!graph)
		return error_set_errno(e, "cannot make a temporary file");
	malloctag_write_dot(graph, &p->tree, &p->process);
	int status = graphviz_draw(graph, out, e);
	fclose(graph);
	return status;
}

static int write_picture(FILE *out, const struct picture *p, const struct style *style,
			 struct error *e)
{
	switch (p->request->format) {
	case FORMAT_JSON:
		malloctag_write_json(out, &p->tree, &p->process);
		return 0;
	case FORMAT_DOT:
		malloctag_write_dot(out, &p->tree, &p->process);
		return 0;
	case FORMAT_SVG:
		return draw(out, p, e);
	default:
		tags_text_print(out, &p->tree, p->request->threshold, style);
		tags_text_print_losses(out, p->process.profile, style);
		return 0;
	}
}

static int write_stdout(const struct picture *p)
{
	bool text = p->request->format == FORMAT_TEXT;
	struct error e = {.offset = -1};
	struct output o;

	output_open(&o, text ? p->request->shared.colour : OUTPUT_COLOUR_NEVER,
		    text && !p->request->shared.no_pager);
	if (write_picture(o.file, p, &o.style, &e)) {
		message_print("%s", e.text);
		return COMMAND_FAILED;
	}
	return output_close(&o);
}

static int write_file(const struct picture *p, const char *path)
{
	static const struct style plain = {.utf8 = true};
	struct error e = {.offset = -1};
	struct outfile o;

	if (outfile_open(&o, path, &e)) {
		message_print("cannot write %s", e.text);
		return COMMAND_FAILED;
	}
	if (write_picture(o.file, p, &plain, &e)) {
		outfile_abandon(&o);
		message_print("%s", e.text);
		return COMMAND_FAILED;
	}
	if (outfile_close(&o, &e)) {
		message_print("cannot write %s", e.text);
		return COMMAND_FAILED;
	}
	return COMMAND_GOOD;
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* Of each file, the rows of `snapshot`: of the end for those that have fewer. */
static void build_picture(struct picture *p, const struct request *r, uint32_t snapshot)
{
	*p = (struct picture){.request = r};
	p->process = (struct malloctag_process){r->profiles.at[0], snapshot};
	tagtree_init(&p->tree, &r->rules);
	for (size_t i = 0; i < r->profiles.count; i++)
		tagtree_add(&p->tree, r->profiles.at[i], snapshot);
	tagtree_finish(&p->tree);
}

static int show_each(const struct request *r)
{
	int status = COMMAND_GOOD;

	for (uint32_t i = 0; i < r->profiles.at[0]->snapshots.count && !status; i++) {
		char *path = mem_format("%s.%04u.%s", r->out, i, format_names[r->format]);
		struct picture p;

		build_picture(&p, r, i + 1);
		status = write_file(&p, path);
		tagtree_fini(&p.tree);
		free(path);
	}
	return status;
}

static int show(const struct request *r)
{
	struct error e = {0};
	struct picture p;
	long snapshot = -1;

	if (r->each)
		return show_each(r);
	if (r->snapshot) {
		snapshot = snapshots_find(r->profiles.at[0], r->snapshot, &e);
		if (snapshot < 0) {
			message_print("%s", e.text);
			return COMMAND_FAILED;
		}
	}
	build_picture(&p, r, (uint32_t)(snapshot + 1));
	int status = r->out ? write_file(&p, r->out) : write_stdout(&p);
	tagtree_fini(&p.tree);
	return status;
}

static int load(struct request *r, const char *file)
{
	struct profile *p = load_profile(file, &r->shared.load);

	if (!p)
		return COMMAND_FAILED;
	*vec_push(&r->profiles) = p; /* NOLINT(bugprone-sizeof-expression): pointers, indeed */
	/* Stacks have what was allocated then, and the tags alone who was entered how often. */
	if (p->tags.count && !profile_is_by_tag(p))
		message_print("%s%swas recorded with stacks: see `midden report --by tag` for what "
			      "was allocated",
			      file ? file : "the profile", file ? ": " : " ");
	if (p->tags.count)
		return COMMAND_GOOD;
	message_print("%s%shas no tags: none were entered (see `midden record --tags`)",
		      file ? file : "the profile", file ? ": " : " ");
	return COMMAND_FAILED;
}

static int run(int argc, char **argv)
{
	struct request r = {.threshold = 0};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help) {
		fputs(help, stdout);
	} else if (status == COMMAND_GOOD) {
		status = load(&r, argv[optind]);
		for (int i = optind + 1; i < argc && status == COMMAND_GOOD; i++)
			status = load(&r, argv[i]);
		if (status == COMMAND_GOOD)
			status = show(&r);
	}
	for (size_t i = 0; i < r.profiles.count; i++)
		profile_free(r.profiles.at[i]);
	vec_free(&r.profiles);
	pattern_free_list(&r.rules);
	options_free(&r.shared);
	return status;
}

const struct command command_tags = {
	.name = "tags",
	.summary = "show what was allocated inside of tags",
	.help = help,
	.run = run,
};
