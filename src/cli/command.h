/* command.h -- what a subcommand is, and the table of all of them. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CLI_COMMAND_H
#define MIDDEN_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses; `record` hands on the program's own instead. */
enum { COMMAND_GOOD = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

struct command {
	const char *name;
	const char *summary; /* one line for the list of commands */
	const char *help;    /* the help text, ending in a newline */
	int (*run)(int argc,
		   char **argv);       /* argv[0] is the command's name; returns the exit status */
	bool hidden;		       /* for midden's own use: not in the list */
	void (*print_more)(FILE *out); /* what follows the help text from a table; may be NULL */
};

extern const struct command command_record;
extern const struct command command_collect;
extern const struct command command_check;
extern const struct command command_config;
extern const struct command command_diff;
extern const struct command command_export;
extern const struct command command_html;
extern const struct command command_leaks;
extern const struct command command_merge;
extern const struct command command_report;
extern const struct command command_snapshot;
extern const struct command command_stats;
extern const struct command command_tags;
extern const struct command command_resolve;
extern const struct command command_top;
extern const struct command command_view;
extern const struct command command_help;

/* The i-th command in the order of the list; NULL after the last one, where callers must stop. */
const struct command *command_get(size_t i);

/* The command of that name, hidden ones too; NULL if there is none. */
const struct command *command_find(const char *name);

/* The visible command that a misspelt name was probably meant for; NULL if none is near. */
const struct command *command_find_nearest(const char *name);

/* Prints all of a command's help. */
void command_print_help(const struct command *c, FILE *out);

#endif
