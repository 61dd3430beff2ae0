/* settings.c -- what was said about a recording, on the command line and in files, and where.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/nearest.h"
#include "cli/presets.h"
#include "cli/switches.h"
#include "format/env.h"

#define PROJECT_FILE ".midden.conf"
#define USER_FILE    "midden.conf"

/* ---- keys ------------------------------------------------------------------------------------ */

/* What holds by itself, and the variable that is another way to say it. */
static const struct {
	const char *key;
	const char *variable;
	const char *fallback;
} known[] = {
	{"output", ENV_OUTPUT, NULL},
	{"follow", ENV_FOLLOW, NULL},
	{"max-depth", ENV_MAX_DEPTH, "512"},
	{"buffer", ENV_BUFFER, "4M"},
	{"patience", ENV_PATIENCE, "2000"},
	{"python", ENV_PYTHON, "mixed"},
	{"pymalloc", ENV_PYMALLOC, "sampled"},
	{"trace", ENV_TRACE, NULL},
	{"maps", ENV_MAPS, NULL},
	{"leaks", ENV_LEAKS, NULL},
	{"rss", ENV_RSS, NULL},
	{"stacks", ENV_STACKS, NULL},
	{"stack-mode", ENV_STACK_MODE, "unwind"},
	{"tags", ENV_MODE, NULL},
	{"sample", ENV_MODE, NULL},
	{"sample-blocks", ENV_SAMPLE_BLOCKS, "16384"},
	{"sample-seed", ENV_SAMPLE_SEED, NULL},
	{"delayed", ENV_START, NULL},
	{"start-at", ENV_START_AT, NULL},
	{"snapshot-every", ENV_SNAPSHOT_EVERY, NULL},
	{"snapshot-at", ENV_SNAPSHOT_AT, NULL},
	{"snapshot-signal", ENV_SNAPSHOT_SIGNAL, NULL},
	{"http", ENV_HTTP, NULL},
	{"http-token-file", ENV_HTTP_TOKEN_FILE, NULL},
	{"no-symbols", ENV_SYMBOLS, NULL},
};

#define KNOWN (sizeof(known) / sizeof(*known))

const char *settings_get_variable(const char *key)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (strcmp(known[i].key, key) == 0)
			return getenv(known[i].variable) ? known[i].variable : NULL;
	return NULL;
}

const char *settings_get_default(const char *key)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (strcmp(known[i].key, key) == 0)
			return known[i].fallback;
	return NULL;
}

bool settings_is_key(const struct option *row)
{
	return row->val != SETTINGS_CONFIG && row->val != SETTINGS_SET &&
	       row->val != SETTINGS_PROFILE && row->val != SETTINGS_NO_CONFIG && row->val != 'h';
}

static const struct option *find_row(const struct settings *s, const char *key)
{
	for (const struct option *row = s->rows; row->name; row++)
		if (settings_is_key(row) && strcmp(row->name, key) == 0)
			return row;
	return NULL;
}

static const char *find_nearest(const struct settings *s, const char *key)
{
	struct nearest n = nearest_begin(key);

	for (const struct option *row = s->rows; row->name; row++)
		if (settings_is_key(row))
			nearest_try(&n, row->name);
	return n.found;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The value of a key as an option would have it. Options whose value may be left out are switches
 * too. */
static int interpret(struct setting *word, struct error *e)
{
	if (word->row->has_arg == required_argument)
		return 0;
	int is_on = switches_parse(word->value);
	if (is_on < 0 && word->row->has_arg == no_argument)
		return error_set(e, "%s: %s is true or false, not '%s'", word->origin,
				 word->row->name, word->value);
	if (is_on >= 0)
		word->value = NULL;
	word->is_off = is_on == 0;
	return 0;
}

/* Completes a word of which value and origin are known. */
static int find_setting(const struct settings *s, const char *key, struct setting *word,
			struct error *e)
{
	word->row = find_row(s, key);
	if (word->row)
		return interpret(word, e);
	const char *near = find_nearest(s, key);
	return error_set(e, "%s: there is no setting '%s'%s%s%s", word->origin, key,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- the command line ------------------------------------------------------------------------ */

static int take_pair(struct settings *s, const char *pair, struct error *e)
{
	const char *equals = strchr(pair, '=');
	struct setting word = {.origin = "--set"};

	if (!equals)
		return error_set(e, "--set wants KEY=VALUE, not '%s'", pair);
	char *key = mem_format("%.*s", (int)(equals - pair), pair);
	word.value = equals + 1;
	int result = find_setting(s, key, &word, e);
	free(key);
	if (result == 0)
		*vec_push(&s->given) = word;
	return result;
}

int settings_take(struct settings *s, int code, const char *value, struct error *e)
{
	const struct option *row = s->rows;

	switch (code) {
	case SETTINGS_CONFIG:
		*vec_push(&s->files) = value;
		return 0;
	case SETTINGS_PROFILE:
		*vec_push(&s->profiles) = value;
		return 0;
	case SETTINGS_NO_CONFIG:
		s->no_files = true;
		return 0;
	case SETTINGS_SET:
		return take_pair(s, value, e);
	default:
		while (row->name && row->val != code)
			row++;
		*vec_push(&s->given) =
			(struct setting){.row = row, .value = value, .origin = "command line"};
		return 0;
	}
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A file that nobody named holds for whatever is done in its directory: it must be the user's
 * own, or somebody else could decide where files are written. */
static bool is_trusted(const char *path)
{
	struct stat file;

	if (stat(path, &file) || !S_ISREG(file.st_mode))
		return false;
	if ((file.st_uid == geteuid() || file.st_uid == 0) && !(file.st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	message_print("%s is not read: others can write it, or it is not yours", path);
	return false;
}

static int read_trusted(struct settings *s, char *path, struct error *e)
{
	int result = path && is_trusted(path) ? config_read(&s->config, path, e) : 0;

	free(path);
	return result;
}

static char *get_user_path(void)
{
	const char *directory = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");

	if (directory && *directory == '/')
		return mem_format("%s/" USER_FILE, directory);
	return home && *home == '/' ? mem_format("%s/.config/" USER_FILE, home) : NULL;
}

/* In this directory, or in the nearest one above that has it. */
static char *get_project_path(void)
{
	char *directory = get_current_dir_name();

	while (directory) {
		char *path = mem_format("%s/" PROJECT_FILE, directory);
		char *slash = strrchr(directory, '/');

		if (access(path, F_OK) == 0 || !slash || directory[0] != '/') {
			free(directory);
			return path;
		}
		free(path);
		if (slash == directory && !directory[1])
			break;
		slash[slash == directory] = '\0';
	}
	free(directory);
	return NULL;
}

/* What runs inside the program is not for a file that lies beside it to say. */
static int check_project(const struct settings *s, size_t first, struct error *e)
{
	for (size_t i = first; i < s->config.entries.count; i++)
		if (strcmp(s->config.entries.at[i].key, "library") == 0)
			return error_set(e, "%s: library cannot be set by a project's file",
					 s->config.entries.at[i].origin);
	return 0;
}

static int read_files(struct settings *s, struct error *e)
{
	if (!s->no_files) {
		if (read_trusted(s, get_user_path(), e))
			return -1;
		size_t first = s->config.entries.count;

		if (read_trusted(s, get_project_path(), e) || check_project(s, first, e))
			return -1;
	}
	for (size_t i = 0; i < s->files.count; i++)
		if (config_read(&s->config, s->files.at[i], e))
			return -1;
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Who speaks last about a key is right; of a file it is the last line. Options that are given
 * several times on one command line may add up: that is for them to know. */
static void put(struct settings *s, struct setting word, unsigned rank)
{
	bool may_add = rank > s->profiles.count;
	size_t kept = 0;

	word.rank = rank;
	for (size_t i = 0; i < s->all.count; i++) {
		const struct setting *before = &s->all.at[i];
		bool adds = may_add && before->rank == rank && !before->is_off && !word.is_off;

		if (before->row != word.row || adds)
			s->all.at[kept++] = *before;
	}
	s->all.count = kept;
	*vec_push(&s->all) = word;
}

/* Every line is checked, also those of profiles that are not asked for: a typing error must not
 * wait for the day it matters. */
static int put_section(struct settings *s, unsigned rank, bool *found, struct error *e)
{
	const char *profile = rank ? s->profiles.at[rank - 1] : "";

	for (size_t i = 0; i < s->config.entries.count; i++) {
		const struct config_entry *entry = &s->config.entries.at[i];
		struct setting word = {.value = entry->value, .origin = entry->origin};

		if (find_setting(s, entry->key, &word, e))
			return -1;
		if (strcmp(entry->profile, profile) != 0)
			continue;
		*found = true;
		/* What the environment says counts more than what files say of every recording. */
		if (*profile || !settings_get_variable(entry->key))
			put(s, word, rank);
	}
	return 0;
}

/* A profile that no file has, if there is one of this name. */
static int put_preset(struct settings *s, unsigned rank, bool *found, struct error *e)
{
	const struct preset *preset = presets_find(s->profiles.at[rank - 1]);

	for (unsigned i = 0; preset && i < PRESETS_MOST && preset->settings[i].key; i++) {
		struct setting word = {.value = preset->settings[i].value, .origin = preset->name};

		if (find_setting(s, preset->settings[i].key, &word, e))
			return -1;
		put(s, word, rank);
		*found = true;
	}
	return 0;
}

int settings_finish(struct settings *s, struct error *e)
{
	bool found = true;

	if (read_files(s, e) || put_section(s, 0, &found, e))
		return -1;
	for (unsigned i = 0; i < s->profiles.count; i++) {
		found = false;
		if (put_section(s, i + 1, &found, e) || (!found && put_preset(s, i + 1, &found, e)))
			return -1;
		if (!found)
			return error_set(e, "no file has a section [profile.%s]",
					 s->profiles.at[i]);
	}
	for (size_t i = 0; i < s->given.count; i++)
		put(s, s->given.at[i], (unsigned)s->profiles.count + 1);
	return 0;
}

const struct setting *settings_get(const struct settings *s, const struct option *row)
{
	for (size_t i = s->all.count; i-- > 0;)
		if (s->all.at[i].row == row)
			return &s->all.at[i];
	return NULL;
}

void settings_hide_variables(const struct settings *s)
{
	for (size_t i = 0; i < s->all.count; i++) {
		const struct setting *said = &s->all.at[i];
		const char *variable = said->is_off ? settings_get_variable(said->row->name) : NULL;
		const char *text = variable ? getenv(variable) : NULL;

		/* One variable is for all modes: it may be on for another one. */
		if (text && (strcmp(variable, ENV_MODE) != 0 || strcmp(text, said->row->name) == 0))
			(void)unsetenv(variable);
	}
}

void settings_free(struct settings *s)
{
	config_free(&s->config);
	vec_free(&s->given);
	vec_free(&s->all);
	vec_free(&s->files);
	vec_free(&s->profiles);
}
