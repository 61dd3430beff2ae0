/* command.c -- the table of subcommands. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <string.h>

#define NAME_MAX_BYTES 32u /* longer words are no misspelling of a command */
#define FAR	       3u  /* edits: from here on a name is another word */

static const struct command *const commands[] = {
	&command_record,
	&command_report,
	&command_snapshot,
	&command_stats,
	&command_export,
	&command_resolve,
	&command_diff,
	&command_check,
	&command_leaks,
	&command_merge,
	&command_top,
	&command_view,
	&command_html,
	&command_tags,
	&command_help,
	&command_collect,
	NULL,
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

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Insertions, deletions and replacements between two words, by Levenshtein's rows. */
static unsigned edits_between(const char *a, const char *b)
{
	unsigned row[NAME_MAX_BYTES + 1];
	size_t columns = strlen(b);

	for (unsigned k = 0; k <= columns; k++)
		row[k] = k;
	for (unsigned i = 1; *a; a++, i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (size_t k = 1; k <= columns; k++) {
			unsigned above = row[k];
			row[k] = smallest(above + 1, row[k - 1] + 1, diagonal + (*a != b[k - 1]));
			diagonal = above;
		}
	}
	return row[columns];
}

const struct command *command_find_nearest(const char *name)
{
	const struct command *c, *nearest = NULL;
	unsigned fewest = FAR;

	if (strlen(name) > NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; (c = command_get(i)); i++) {
		unsigned edits = c->hidden ? FAR : edits_between(c->name, name);
		if (edits < fewest && edits < strlen(name)) {
			fewest = edits;
			nearest = c;
		}
	}
	return nearest;
}

void command_print_help(const struct command *c, FILE *out)
{
	fputs(c->help, out);
	if (c->print_more)
		c->print_more(out);
}
