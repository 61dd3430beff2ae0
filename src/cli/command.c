/* command.c -- the table of subcommands. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <string.h>

#include "cli/nearest.h"

static const struct command *const commands[] = {
	&command_record, &command_report,  &command_snapshot,
	&command_stats,	 &command_export,  &command_resolve,
	&command_diff,	 &command_check,   &command_leaks,
	&command_merge,	 &command_top,	   &command_view,
	&command_html,	 &command_tags,	   &command_config,
	&command_help,	 &command_collect, NULL,
};

const struct command *command_get(size_t i)
{
	return commands[i];
}

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (size_t i = 0; (c = command_get(i)); i++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

const struct command *command_find_nearest(const char *name)
{
	struct nearest n = nearest_begin(name);
	const struct command *c;

	for (size_t i = 0; (c = command_get(i)); i++)
		if (!c->hidden)
			nearest_try(&n, c->name);
	return n.found ? command_find(n.found) : NULL;
}

void command_print_help(const struct command *c, FILE *out)
{
	fputs(c->help, out);
	if (c->print_more)
		c->print_more(out);
}
