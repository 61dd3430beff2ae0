/* cmd_resolve.c -- `midden resolve`: names for a profile, later or elsewhere. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "report/human.h"
#include "report/names.h"

static const char help[] =
	"usage: midden resolve [OPTIONS] [FILE]\n"
	"\n"
	"Looks up functions and source lines again and stores them in the profile, for instance\n"
	"where the debug files are, or after they were installed. Programs and libraries are told\n"
	"by their build-id; one that is gone or stripped is replaced by its debug file. Says for\n"
	"each what was found. FILE defaults to the newest midden.*.mdn in the working directory.\n"
	"\n" LOAD_SYMBOL_HELP
	"  --force              replace names in the profile even by such that tell less\n"
	"  -o, --output OUT     write to OUT and leave FILE as it is\n"
	"  -h, --help           show this text\n";

struct request {
	struct load_options load;
	const char *output; /* NULL: over the file itself */
	bool force;
	bool help;
};

enum option_code { OPTION_FORCE = 256 };

static const struct option options[] = {
	{"force", no_argument, NULL, OPTION_FORCE},
	{"output", required_argument, NULL, 'o'},
	LOAD_SYMBOL_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;
	int status = load_parse_option(&r->load, "resolve", code, argument);

	if (status != LOAD_NOT_MINE)
		return status;
	switch (code) {
	case OPTION_FORCE:
		r->force = true;
		return COMMAND_GOOD;
	case 'o':
		r->output = argument;
		return COMMAND_GOOD;
	default:
		r->help = true;
		return COMMAND_GOOD;
	}
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"resolve", ":o:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status == COMMAND_GOOD && argc - optind > 1)
		return message_usage("resolve", "one FILE at a time");
	return status == COMMAND_GOOD ? outfile_check_profile(r->output, "-o") : status;
}

/* ---- what was found -------------------------------------------------------------------------- */

static void print_safely(FILE *out, const char *before, const char *text, const char *after)
{
	char *safe = names_escape(text, true);

	fprintf(out, "%s%s%s", before, safe, after);
	free(safe);
}

/* Where names come from, where that is not the file itself. */
static void print_source(FILE *out, const struct resolve_module *m)
{
	if (m->debug)
		print_safely(out, ", from ", m->debug, "");
	else if (m->object && strcmp(m->object, m->path) != 0)
		print_safely(out, ", from ", m->object, "");
	else if (m->object && !m->has_dwarf)
		fputs(", no debug information", out);
}

static void print_counts(FILE *out, size_t addresses, size_t named, size_t lined)
{
	fprintf(out, "%s of ", human_count(named).text);
	fprintf(out, "%s address%s named, ", human_count(addresses).text,
		addresses == 1 ? "" : "es");
	fprintf(out, "%s with lines", human_count(lined).text);
}

static void print_module(FILE *out, const struct resolve_module *m)
{
	print_safely(out, "  ", *m->path ? m->path : "[generated code]", ": ");
	if (m->error) {
		fprintf(out, "%s address%s, ", human_count(m->addresses).text,
			m->addresses == 1 ? "" : "es");
		print_safely(out, "not read: ", m->error, "\n");
		return;
	}
	print_counts(out, m->addresses, m->named, m->lined);
	print_source(out, m);
	fputc('\n', out);
}

static void print_outcome(FILE *out, const struct resolve_outcome *outcome)
{
	struct resolve_module sum = {0};

	for (size_t i = 0; i < outcome->modules.count; i++) {
		const struct resolve_module *m = &outcome->modules.at[i];

		sum.addresses += m->addresses;
		sum.named += m->named;
		sum.lined += m->lined;
	}
	print_counts(out, sum.addresses, sum.named, sum.lined);
	fputs(outcome->modules.count ? ":\n" : "\n", out);
	for (size_t i = 0; i < outcome->modules.count; i++)
		print_module(out, &outcome->modules.at[i]);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Source files are stored where they are now, so that every later reader finds them. */
static void map_sources(struct profile *p, const struct pathmap *paths)
{
	struct map done = {0}; /* old string id -> new one, plus one */

	for (size_t i = 1; paths->rules.count && i < p->frames.count; i++) {
		struct string_id *file = &p->frames.at[i].file;
		uint32_t *known = map_reserve(&done, file->v);

		if (!*known) {
			char *path = pathmap_apply(paths, profile_string(p, *file));

			*known = (path ? profile_add_string(p, path).v : file->v) + 1;
			free(path);
		}
		file->v = *known - 1;
	}
	map_free(&done);
}

static int write_result(const struct profile *p, const char *file, const char *output)
{
	struct error e = {.offset = -1};
	int result = output ? profile_write(p, output, &e) : load_write_back(p, file, &e);

	if (result == 0)
		return COMMAND_GOOD;
	message_print("%s", e.text);
	return COMMAND_FAILED;
}

static int resolve(struct profile *p, const char *file, const struct request *r)
{
	struct resolve_outcome outcome = {0};
	struct output o;

	if (p->damaged && !r->output) {
		message_print("%s: damaged (%s); name another file with -o", file, p->damage);
		return COMMAND_FAILED;
	}
	load_note_damage(p, file);
	load_symbols(p, &r->load, r->force ? RESOLVE_ALL : RESOLVE_BETTER, &outcome);
	load_globals(p, &r->load);
	map_sources(p, &r->load.paths);
	int status = write_result(p, file, r->output);
	if (status == COMMAND_GOOD) {
		output_open(&o, OUTPUT_COLOUR_NEVER, false);
		print_outcome(o.file, &outcome);
		print_safely(o.file, "wrote ", r->output ? r->output : file, "\n");
		status = output_close(&o);
	}
	resolve_outcome_free(&outcome);
	return status;
}

static int read_and_resolve(const struct request *r, const char *argument)
{
	struct error e = {.offset = -1};
	char *file = load_find(argument);
	int status = COMMAND_FAILED;

	if (!file)
		return status;
	struct profile *p = profile_read(file, &e);
	if (p)
		status = resolve(p, file, r);
	else
		(void)message_fault(file, &e);
	profile_free(p);
	free(file);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {0};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = read_and_resolve(&r, argv[optind]);
	load_options_free(&r.load);
	return status;
}

const struct command command_resolve = {
	.name = "resolve",
	.summary = "look up functions and source lines, later or elsewhere",
	.help = help,
	.run = run,
};
