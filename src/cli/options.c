/* options.c -- the options that several commands have, and how a command line is read. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/message.h"

int options_parse(const struct options_table *t, void *request, int argc, char **argv)
{
	int status = COMMAND_GOOD;
	int code;

	opterr = 0;
	while (status == COMMAND_GOOD &&
	       (code = getopt_long(argc, argv, t->letters, t->rows, NULL)) != -1) {
		if (code == '?' || code == ':')
			return message_bad_option(t->command, code, argv);
		status = t->parse(request, code, optarg);
	}
	return status;
}

void options_free(struct options *o)
{
	load_options_free(&o->load);
	suppress_free(&o->suppress);
}

bool *options_list_suppressed(struct options *o, const struct model *m)
{
	if (!o->no_suppress && !o->knows_known)
		suppress_add_known(&o->suppress);
	o->knows_known = true;
	return suppress_list_sites(&o->suppress, m);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool parse_number(const char *text, unsigned *number)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value > UINT_MAX)
		return false;
	*number = (unsigned)value;
	return true;
}

int options_parse_count(const char *command, const char *what, const char *text, unsigned *count)
{
	unsigned value;

	if (!parse_number(text, &value) || value == 0)
		return message_usage(command, "%s is not a %s of 1 or more", text, what);
	*count = value;
	return COMMAND_GOOD;
}

int options_parse_limit(const char *command, const char *text, unsigned *limit)
{
	if (!parse_number(text, limit))
		return message_usage(command, "%s is not a limit of 1 or more, or 0 for none",
				     text);
	return COMMAND_GOOD;
}

static int parse_figure(struct options *o, const char *command, const char *name)
{
	o->view.figure = figure_find(name);
	o->figure_given = true;
	if (o->view.figure == FIGURE_KINDS)
		return message_usage(command, "there is no figure %s", name);
	return COMMAND_GOOD;
}

static int parse_threshold(struct options *o, const char *command, const char *text)
{
	char *end;

	o->view.threshold = strtod(text, &end);
	if (end != text && *end == '%')
		end++;
	if (end == text || *end || !(o->view.threshold >= 0 && o->view.threshold <= 100))
		return message_usage(command, "%s is not a percentage", text);
	return COMMAND_GOOD;
}

static int parse_colour(struct options *o, const char *command, const char *word)
{
	o->colour = output_parse_colour(word);
	if (o->colour == OUTPUT_COLOUR_UNKNOWN)
		return message_usage(command, "--color is auto, always or never, not %s", word);
	return COMMAND_GOOD;
}

static int parse_suppressions(struct options *o, const char *path)
{
	struct error e = {0};

	if (suppress_read(&o->suppress, path, &e) == 0)
		return COMMAND_GOOD;
	message_print("%s", e.text);
	return COMMAND_FAILED;
}

/* ---- options --------------------------------------------------------------------------------- */

static void set_switch(struct options *o, int code)
{
	switch (code) {
	case OPTIONS_INVERTED:
	case OPTIONS_TOP_DOWN:
		o->view.direction = code == OPTIONS_INVERTED ? TREE_INVERTED : TREE_TOP_DOWN;
		break;
	case OPTIONS_NO_SUPPRESSIONS:
		o->no_suppress = true;
		break;
	case OPTIONS_ALL_FRAMES:
		o->model.all_frames = true;
		break;
	case OPTIONS_JSON:
		o->json = true;
		break;
	case OPTIONS_NO_PAGER:
		o->no_pager = true;
		break;
	case OPTIONS_NO_WRITE:
		o->load.keep = false;
		break;
	case 'h':
		o->help = true;
		break;
	default:
		o->view.figure = (enum figure)(code - OPTIONS_FIGURE);
	}
}

int options_take(struct options *o, const char *command, int code, const char *argument)
{
	int status = load_parse_option(&o->load, command, code, argument);

	if (status != LOAD_NOT_MINE)
		return status;
	switch (code) {
	case 'o':
		o->out = strcmp(argument, "-") == 0 ? NULL : argument;
		return COMMAND_GOOD;
	case 't':
		return parse_threshold(o, command, argument);
	case 'd':
		return options_parse_count(command, "depth", argument, &o->view.depth);
	case OPTIONS_FIGURE_NAME:
		return parse_figure(o, command, argument);
	case OPTIONS_COLOUR:
		return parse_colour(o, command, argument);
	case OPTIONS_SUPPRESSIONS:
		return parse_suppressions(o, argument);
	default:
		set_switch(o, code);
		return COMMAND_GOOD;
	}
}
