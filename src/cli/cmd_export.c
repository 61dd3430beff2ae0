/* cmd_export.c -- `midden export`: a profile in the format of another tool. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/graphviz.h"
#include "cli/message.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "export/export.h"
#include "export/gzip.h"
#include "report/losses.h"

static const char help[] =
	"usage: midden export -f FORMAT [-o OUT] [OPTIONS] [FILE]\n"
	"\n"
	"Writes a profile in the format of another tool. FILE defaults to the newest midden.*.mdn\n"
	"in the working directory.\n"
	"\n"
	"  -f, --format FORMAT  see below; without it, OUT tells by its ending\n"
	"  -o, --output OUT     the file to write; without it, or with -, standard output;\n"
	"                       compressed by gzip if it ends in .gz\n"
	"  --figure NAME        peak (default), leaked, allocated, calls, temporary: for formats\n"
	"                       that hold one figure, or that show one first\n"
	"  --svg                with -f dot: have Graphviz draw the graph, and write the "
	"picture\n"
	"  --globals            with -f csv: global and thread-local variables in place of "
	"stacks\n" LOAD_MAPS_HELP
	"  --all-frames         keep malloc, operator new and what is inside of C++'s and Rust's\n"
	"                       library at the end of stacks, and what belongs to the Python\n"
	"                       interpreter\n"
	"  -h, --help           show this text\n"
	"\n"
	"Symbols:\n" OPTIONS_SYMBOLS_HELP;

struct request {
	struct options shared;
	const struct export_format *format;
	const char *out; /* NULL: standard output */
	struct export_request what;
	bool svg;
};

enum option_code { OPTION_SVG = 256, OPTION_GLOBALS };

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	OPTIONS_OUT,
	{"svg", no_argument, NULL, OPTION_SVG},
	{"globals", no_argument, NULL, OPTION_GLOBALS},
	OPTIONS_ONE_FIGURE,
	LOAD_MAPS_OPTION,
	OPTIONS_END,
};

static void print_formats(FILE *out)
{
	const struct export_format *f;

	fputs("\nFormats, and how their files are named:\n", out);
	for (size_t i = 0; (f = export_get(i)); i++)
		fprintf(out, "  %-15s %s\n  %-15s *%s\n", f->name, f->summary, "", f->suffix);
}

static const char *find_nearest(const char *name)
{
	struct nearest n = nearest_begin(name);
	const struct export_format *f;

	for (size_t i = 0; (f = export_get(i)); i++)
		nearest_try(&n, f->name);
	return n.found;
}

static int parse_format(struct request *r, const char *name)
{
	r->format = export_find(name);
	if (r->format)
		return COMMAND_GOOD;
	if (strcmp(name, "svg") == 0)
		return message_usage("export", "there is no format svg: a picture is what -f "
					       "flamegraph makes, or -f dot --svg");
	const char *near = find_nearest(name);
	return message_usage("export", "there is no format %s%s%s%s", name,
			     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case 'f':
		return parse_format(r, argument);
	case OPTION_SVG:
		r->svg = true;
		return COMMAND_GOOD;
	case OPTION_GLOBALS:
		r->what.globals = true;
		return COMMAND_GOOD;
	default:
		return options_take(&r->shared, "export", code, argument);
	}
}

static int check_request(struct request *r, int files)
{
	if (files > 1)
		return message_usage("export", "one FILE at a time");
	if (!r->format && r->svg)
		r->format = export_find("dot");
	if (r->svg && strcmp(r->format->name, "dot") != 0)
		return message_usage("export", "--svg goes with -f dot");
	if (!r->format && r->shared.out)
		r->format = export_find_by_suffix(r->shared.out);
	if (!r->format && r->shared.out)
		return message_usage("export", "%s does not tell the format; name it with -f",
				     r->shared.out);
	if (!r->format)
		return message_usage("export", "which format? name it with -f");
	if (r->what.globals && (strcmp(r->format->name, "csv") != 0 || r->shared.load.maps))
		return message_usage("export", "--globals goes with -f csv, and without --maps");
	if (!r->shared.out && r->format->binary && isatty(STDOUT_FILENO))
		return message_usage("export", "%s is not for terminals; name a file with -o",
				     r->format->name);
	return COMMAND_GOOD;
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"export", ":f:o:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	r->what.figure = r->shared.view.figure;
	r->what.by_figure_given = r->shared.figure_given;
	return check_request(r, argc - optind);
}

static int write_graph(FILE *out, void *request, struct error *e)
{
	const struct request *r = request;

	return r->format->write(out, &r->what, e);
}

static int write_plain(FILE *out, struct request *r, struct error *e)
{
	return r->svg ? graphviz_draw(out, write_graph, r, e) : write_graph(out, r, e);
}

static int write_to(FILE *out, void *request, struct error *e)
{
	struct request *r = request;

	if (!r->shared.out || !export_is_compressed(r->format, r->shared.out))
		return write_plain(out, r, e);
	FILE *compressed = gzip_open(out);
	if (!compressed)
		return error_set_errno(e, "cannot compress");
	int status = write_plain(compressed, r, e);
	if (fclose(compressed) && status == 0)
		status = error_set_errno(e, "cannot compress");
	return status;
}

static int export_profile(const struct profile *p, struct request *r)
{
	static const struct style plain = {0};
	struct model *m = model_new(p, &r->shared.model);

	r->what.model = m;
	/* Few formats can say what is missing. Damage was told when the file was read. */
	losses_print_counts(stderr, p, &plain);
	int status = outfile_fill(r->shared.out, r->format->name, write_to, r);
	model_free(m);
	return status;
}

static int read_and_export(struct request *r, const char *file)
{
	struct profile *p = load_profile(file, &r->shared.load);

	if (!p)
		return COMMAND_FAILED;
	if (r->what.globals)
		load_globals(p, &r->shared.load);
	load_fill_model(&r->shared.load, &r->shared.model);
	r->what.program_hint = file;
	int status = export_profile(p, r);
	profile_free(p);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.shared = {.load = {.symbols = true, .keep = true}}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help)
		command_print_help(&command_export, stdout);
	else if (status == COMMAND_GOOD)
		status = read_and_export(&r, argv[optind]);
	options_free(&r.shared);
	return status;
}

const struct command command_export = {
	.name = "export",
	.summary = "write a profile in the format of another tool",
	.help = help,
	.run = run,
	.print_more = print_formats,
};
