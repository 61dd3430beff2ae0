/* settings.h -- what was said about a recording, on the command line and in files, and where.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every option of `record` is a key of the files (config.h). The last word counts; files come
 * first: that of the user, that of the project, those named with --config, then the environment,
 * then named profiles, then the command line. */
#ifndef MIDDEN_CLI_SETTINGS_H
#define MIDDEN_CLI_SETTINGS_H

#include <getopt.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"
#include "cli/config.h"

/* One word. A switch has no value, or one that says whether it is on. */
struct setting {
	const struct option *row;
	const char *value; /* NULL: a switch, or the option's usual value */
	const char *origin;
	bool is_off;   /* a switch that is said to be off */
	unsigned rank; /* of who says so: files, profiles in their order, the command line */
};

/* Zero-initialise but for `rows`. Keeps pointers into argv. */
struct settings {
	const struct option *rows; /* of `record` */
	struct config config;	   /* all files, one after the other */
	VEC(struct setting) given; /* on the command line */
	VEC(struct setting) all;   /* by settings_finish: what counts, in order */
	VEC(const char *) files;
	VEC(const char *) profiles;
	bool no_files; /* neither the user's nor the project's */
};

/* Options that are about settings, and no settings themselves. */
enum settings_code {
	SETTINGS_CONFIG = 'c',
	SETTINGS_SET = 500,
	SETTINGS_PROFILE,
	SETTINGS_NO_CONFIG,
};

/* clang-format off */
#define SETTINGS_LONG_OPTIONS                                                   \
	{"config", required_argument, NULL, SETTINGS_CONFIG},                   \
	{"set", required_argument, NULL, SETTINGS_SET},                         \
	{"profile", required_argument, NULL, SETTINGS_PROFILE},                 \
	{"no-config", no_argument, NULL, SETTINGS_NO_CONFIG}
/* clang-format on */

/* Takes an option of the command line, as getopt_long gives it. -1 with `e`. */
int settings_take(struct settings *s, int code, const char *value, struct error *e);

/* Reads the files and puts all into order. -1 with `e`. */
int settings_finish(struct settings *s, struct error *e);

/* What holds for a row after settings_finish; NULL: nobody said anything. */
const struct setting *settings_get(const struct settings *s, const struct option *row);

/* The variable of a key that is set in the environment; NULL: none, or it is not set. */
const char *settings_get_variable(const char *key);

/* What holds if nobody says anything; NULL: nothing. */
const char *settings_get_default(const char *key);

/* Takes the variables of what is said to be off out of the environment. */
void settings_hide_variables(const struct settings *s);

/* False for options that files cannot have. */
bool settings_is_key(const struct option *row);

void settings_free(struct settings *s);

#endif
