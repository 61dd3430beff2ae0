/* cmd_help.c -- `midden help [COMMAND]`. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/message.h"

static void print_list(void)
{
	const struct command *c;

	puts("midden: a heap profiler: who allocated what, when, and whether it was given back\n\n"
	     "usage: midden COMMAND [OPTIONS] ...\n");
	for (size_t i = 0; (c = command_get(i)); i++)
		if (!c->hidden)
			printf("  %-8s  %s\n", c->name, c->summary);
	puts("\n`midden help COMMAND` or `midden COMMAND --help` tells more; `midden "
	     "--version`.\n\n"
	     "  midden record ./app     runs ./app and writes midden.app.PID.mdn\n"
	     "  midden report           shows who held the memory at the peak");
}

static int run(int argc, char **argv)
{
	if (argc > 2)
		return message_usage("help", "one command at a time");
	if (argc < 2) {
		print_list();
		return COMMAND_GOOD;
	}

	const struct command *c = command_find(argv[1]);
	if (!c)
		return message_usage("help", "there is no command %s", argv[1]);
	command_print_help(c, stdout);
	return COMMAND_GOOD;
}

const struct command command_help = {
	.name = "help",
	.summary = "explain a command",
	.help = "usage: midden help [COMMAND]\n"
		"\n"
		"Explains a command; without one, lists them all.\n",
	.run = run,
};
