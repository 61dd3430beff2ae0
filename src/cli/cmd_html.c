/* cmd_html.c -- `midden html`: a profile as one page that a browser shows by itself. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "cli/viewing.h"
#include "serve/page.h"
#include "serve/sourcefile.h"

static const char help[] =
	"usage: midden html [-o OUT] [OPTIONS] [FILE]\n"
	"\n"
	"Writes a profile as one page that a browser shows by itself: to mail, or to keep with "
	"the\n"
	"results of a build. It asks no server for anything. FILE defaults to the newest\n"
	"midden.*.mdn in the working directory.\n"
	"\n"
	"  -o, --output OUT     the file to write; without it, or with -, standard output\n"
	"  --compare OLD        put the profile OLD in too, and show what has changed since\n"
	"  --sources[=LINES]    put the source lines around each line of a stack in, LINES (10) "
	"on\n"
	"                       either side\n"
	"  -h, --help           show this text\n"
	"\n"
	"Symbols:\n" OPTIONS_SYMBOLS_HELP;

struct request {
	struct options shared;
	const char *out; /* NULL: standard output */
	const char *old; /* NULL: nothing to compare with */
	bool sources;
	unsigned around; /* lines on either side */
};

#define AROUND	    10u
#define AROUND_MOST 100000u

enum option_code { OPTION_COMPARE = 256, OPTION_SOURCES };

static const struct option options[] = {
	OPTIONS_OUT,
	{"compare", required_argument, NULL, OPTION_COMPARE},
	{"sources", optional_argument, NULL, OPTION_SOURCES},
	OPTIONS_LAST,
};

static int parse_sources(struct request *r, const char *text)
{
	char *end;
	unsigned long around = text ? strtoul(text, &end, 10) : AROUND;

	if (text && (*text < '0' || *text > '9' || *end || around > AROUND_MOST))
		return message_usage("html", "%s is not a number of lines", text);
	r->sources = true;
	r->around = (unsigned)around;
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case OPTION_COMPARE:
		r->old = argument;
		return COMMAND_GOOD;
	case OPTION_SOURCES:
		return parse_sources(r, argument);
	default:
		return options_take(&r->shared, "html", code, argument);
	}
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"html", ":o:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	if (argc - optind > 1)
		return message_usage("html", "one FILE at a time");
	if (!r->shared.out && isatty(STDOUT_FILENO))
		return message_usage("html", "a page is not for terminals; name a file with -o");
	return COMMAND_GOOD;
}

/* The profile and, if there is one, what it is compared with. */
struct pair {
	struct viewing now;
	struct viewing old;
	bool has_old;
};

static int write_pair(FILE *out, void *context, struct error *e)
{
	const struct pair *p = context;

	return page_write(out, &p->now.request, p->has_old ? &p->old.request : NULL, e);
}

static int write_page(const struct request *r, const char *file)
{
	struct pair p = {.has_old = r->old};
	char *lines = NULL;
	int status = viewing_open(&p.now, file, &r->shared.load);

	if (status == COMMAND_GOOD && r->sources)
		p.now.request.lines_json = lines = sourcefile_gather(p.now.model, r->around);
	if (status == COMMAND_GOOD && r->old)
		status = viewing_open(&p.old, r->old, &r->shared.load);
	if (status == COMMAND_GOOD)
		status = outfile_fill(r->shared.out, "html", write_pair, &p);
	viewing_close(&p.old);
	viewing_close(&p.now);
	free(lines);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.shared = {.load = {.symbols = true, .keep = true}}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help)
		command_print_help(&command_html, stdout);
	else if (status == COMMAND_GOOD)
		status = write_page(&r, argv[optind]);
	options_free(&r.shared);
	return status;
}

const struct command command_html = {
	.name = "html",
	.summary = "write a profile as one page for a browser",
	.help = help,
	.run = run,
};
