/* cmd_config.c -- `midden config`: how `midden record` would record, and who says so. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/record_settings.h"
#include "cli/switches.h"
#include "format/env.h"

static const char help[] =
	"usage: midden config [--json] [OPTIONS OF RECORD]\n"
	"\n"
	"Prints how `midden record` with these options would record: each setting with its value\n"
	"and where that comes from. What it prints is a file that --config takes.\n"
	"\n"
	"  --json               print JSON\n"
	"  -c, --config FILE    read FILE too (repeatable)\n"
	"      --set KEY=VALUE  a setting by its key\n"
	"      --profile NAME   with the settings of the section [profile.NAME]\n"
	"      --no-config      read neither the user's nor the project's file\n"
	"  -h, --help           show this text\n"
	"\n"
	"Every option of record is a key: see `midden help record`. A file has the section\n"
	"[record], which holds always, and sections that hold if they are asked for:\n"
	"\n"
	"  [record]\n"
	"  follow = true\n"
	"  output = \"profiles/%n.%p.mdn\"\n"
	"\n"
	"  [profile.cheap]          # with --profile cheap\n"
	"  sample = 512K\n"
	"\n"
	"Files are read in this order:\n"
	"~/.config/midden.conf ($XDG_CONFIG_HOME), .midden.conf in this directory or above, those\n"
	"named with --config. Then come the variables of the environment, profiles, and the\n"
	"command line; the last word counts.\n"
	"\n"
	"Exit status: 0; 1 if a file cannot be read or makes no sense; 2 for wrong usage, or a\n"
	"value that record would refuse.\n";

struct effective {
	const char *value; /* NULL: not set */
	const char *origin;
};

/* Variables that say of something else what a switch says of itself. */
static struct effective of_variable(const struct option *row, const char *variable,
				    const char *text)
{
	bool is_off = switches_parse(text) == 0;

	if (strcmp(variable, ENV_MODE) == 0) {
		if (strcmp(text, row->name) != 0)
			return (struct effective){.origin = variable};
		const char *period = getenv(ENV_SAMPLE);
		bool has_period = row->has_arg && period;

		return (struct effective){has_period ? period : "true",
					  has_period ? ENV_SAMPLE : variable};
	}
	if (strcmp(variable, ENV_START) == 0 || strcmp(variable, ENV_SYMBOLS) == 0)
		return (struct effective){is_off ? "true" : "false", variable};
	if (row->has_arg == no_argument)
		return (struct effective){is_off || !*text ? "false" : "true", variable};
	return (struct effective){text, variable};
}

static struct effective find_effective(const struct settings *s, const struct option *row)
{
	const struct setting *said = settings_get(s, row);
	const char *variable = settings_get_variable(row->name);

	if (said)
		return (struct effective){said->is_off	? "false"
					  : said->value ? said->value
							: "true",
					  said->origin};
	const char *text = variable ? getenv(variable) : NULL;
	if (text)
		return of_variable(row, variable, text);
	const char *usual = settings_get_default(row->name);
	return (struct effective){usual				? usual
				  : row->has_arg == no_argument ? "false"
								: NULL,
				  "default"};
}

static void print_quoted(const char *text)
{
	(void)putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)putchar('\\');
		(void)putchar((unsigned char)*text < ' ' ? '?' : *text);
	}
	(void)putchar('"');
}

static void print_text(const struct settings *s)
{
	printf("[record]\n");
	for (const struct option *row = s->rows; row->name; row++) {
		struct effective held = find_effective(s, row);

		if (!settings_is_key(row))
			continue;
		if (!held.value) {
			printf("# %s is not set\n", row->name);
			continue;
		}
		printf("%s = ", row->name);
		print_quoted(held.value);
		printf("  # %s\n", held.origin);
	}
}

static void print_json(const struct settings *s)
{
	struct json j = {.out = stdout};

	json_begin_object(&j, NULL);
	json_begin_object(&j, "settings");
	for (const struct option *row = s->rows; row->name; row++) {
		struct effective held = find_effective(s, row);

		if (!settings_is_key(row))
			continue;
		json_begin_object(&j, row->name);
		if (held.value)
			json_add_string(&j, "value", held.value);
		else
			json_add_null(&j, "value");
		json_add_string(&j, "origin", held.origin);
		json_end_object(&j);
	}
	json_end_object(&j);
	json_end_object(&j);
}

/* Taken out of the words: all others are record's. */
static bool take_json(int *argc, char **argv)
{
	int kept = 1;
	bool found = false;

	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			found = true;
		else
			argv[kept++] = argv[i];
	}
	argv[ *argc = kept] = NULL;
	return found;
}

static int run(int argc, char **argv)
{
	struct settings s = {0};
	bool wants_help = false;
	bool json = take_json(&argc, argv);
	struct error e = {0};
	int status = record_read_settings(&s, &wants_help, "config", argc, argv);

	if (status == COMMAND_GOOD && !wants_help && record_check_settings(&s, &e))
		status = message_usage("config", "%s", e.text);
	if (wants_help)
		(void)fputs(help, stdout);
	else if (status == COMMAND_GOOD && json)
		print_json(&s);
	else if (status == COMMAND_GOOD)
		print_text(&s);
	settings_free(&s);
	return status;
}

const struct command command_config = {
	.name = "config",
	.summary = "show how a recording would be made, and who says so",
	.help = help,
	.run = run,
};
