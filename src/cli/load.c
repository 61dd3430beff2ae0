/* load.c -- a profile from its file, with symbols; and the options that all commands have for it.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/load.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/find_profile.h"
#include "cli/load_directory.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/record_settings.h"
#include "model/carry.h"
#include "model/globals.h"
#include "model/map_view.h"

/* ---- options --------------------------------------------------------------------------------- */

/* The directory's full path, malloc'ed; NULL after a message. */
static char *find_directory(const char *name)
{
	struct error e = {.offset = -1};
	char *path = realpath(name, NULL);
	struct stat status;

	if (path && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return path;
	if (path)
		error_set(&e, "%s: not a directory", name);
	else
		error_set_errno(&e, "%s", name);
	message_print("%s", e.text);
	free(path);
	return NULL;
}

static int add_debug_dir(struct load_options *o, const char *name)
{
	char *path = find_directory(name);

	if (!path)
		return COMMAND_FAILED;
	*vec_push(&o->debug_dirs) = path;
	return COMMAND_GOOD;
}

static int set_sysroot(struct load_options *o, const char *name)
{
	char *path = find_directory(name);

	if (!path)
		return COMMAND_FAILED;
	free(o->sysroot);
	o->sysroot = path;
	if (strcmp(path, "/") == 0) /* goes before paths that begin with one */
		*path = '\0';
	return COMMAND_GOOD;
}

static int add_map(struct load_options *o, const char *command, const char *rule)
{
	struct error e = {0};

	if (pathmap_add(&o->paths, rule, &e) != 0)
		return message_usage(command, "--map: %s", e.text);
	return COMMAND_GOOD;
}

static int set_maps(struct load_options *o, const char *command, const char *kind)
{
	o->maps = true;
	o->map_kind = kind ? map_view_find_kind(kind) : PROFILE_MAP_KINDS;
	if (kind && o->map_kind == PROFILE_MAP_KINDS)
		return message_usage(command,
				     "--maps is anonymous, file, reserved, shared or break, not %s",
				     kind);
	return COMMAND_GOOD;
}

int load_parse_option(struct load_options *o, const char *command, int code, const char *argument)
{
	switch (code) {
	case LOAD_OPTION_DEBUG_DIR:
		return add_debug_dir(o, argument);
	case LOAD_OPTION_SYSROOT:
		return set_sysroot(o, argument);
	case LOAD_OPTION_MAP:
		return add_map(o, command, argument);
	case LOAD_OPTION_FULL_NAMES:
		o->full_names = true;
		return COMMAND_GOOD;
	case LOAD_OPTION_MAPS:
		return set_maps(o, command, argument);
	case LOAD_OPTION_HIDE_IMPORTS:
		o->hide_imports = true;
		return COMMAND_GOOD;
	default:
		return LOAD_NOT_MINE;
	}
}

void load_options_free(struct load_options *o)
{
	for (size_t i = 0; i < o->debug_dirs.count; i++)
		free(o->debug_dirs.at[i]);
	vec_free(&o->debug_dirs);
	free(o->sysroot);
	pathmap_free(&o->paths);
}

void load_fill_model(const struct load_options *o, struct model_options *model)
{
	model->full_names = o->full_names;
	model->hide_imports = o->hide_imports;
	model->paths = &o->paths;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static const char **list_debug_dirs(const struct load_options *o)
{
	const char **dirs = mem_new(o->debug_dirs.count + 1, sizeof(*dirs));

	for (size_t i = 0; i < o->debug_dirs.count; i++)
		dirs[i] = o->debug_dirs.at[i];
	return dirs;
}

void load_symbols(struct profile *p, const struct load_options *options, enum resolve_scope scope,
		  struct resolve_outcome *outcome)
{
	const char **dirs = list_debug_dirs(options);
	struct symbol_options symbols = {
		.sysroot = options->sysroot, .debug_dirs = dirs, .pool = options->pool};
	struct progress bar;
	struct resolve_options how = {
		.symbols = &symbols,
		.scope = scope,
		.progress = progress_note,
		.context = &bar,
	};

	progress_begin(&bar, "midden: looking up symbols");
	/* Modules that are gone stay addresses; the report shows them as such. */
	(void)resolve_profile(p, &how, outcome);
	progress_end(&bar);
	free(dirs);
}

void load_new_symbols(struct profile *p, const struct profile *before,
		      const struct load_options *options)
{
	const char **dirs = list_debug_dirs(options);
	struct symbol_options symbols = {.sysroot = options->sysroot, .debug_dirs = dirs};
	struct resolve_options how = {
		.symbols = &symbols,
		.known_nodes = carry_names(p, before),
	};

	(void)resolve_profile(p, &how, NULL);
	free(dirs);
}

void load_globals(struct profile *p, const struct load_options *options)
{
	const char **dirs = list_debug_dirs(options);
	struct symbol_options symbols = {.sysroot = options->sysroot, .debug_dirs = dirs};

	(void)globals_resolve(p, GLOBALS_ALL, &symbols);
	free(dirs);
}

int load_write_back(const struct profile *p, const char *file, struct error *e)
{
	struct stat before;

	if (stat(file, &before) != 0)
		return error_set_errno(e, "%s", file);
	if (profile_write(p, file, e) != 0)
		return -1;
	const struct timespec times[2] = {before.st_atim, before.st_mtim};
	(void)utimensat(AT_FDCWD, file, times, 0);
	return 0;
}

static bool has_directories(const struct load_options *o)
{
	return o->sysroot || o->debug_dirs.count;
}

static void add_symbols(struct profile *p, const char *file, const struct load_options *options)
{
	struct resolve_outcome outcome = {0};
	struct error ignored = {0};

	load_symbols(p, options, has_directories(options) ? RESOLVE_BETTER : RESOLVE_MISSING,
		     &outcome);
	/* Never over a damaged file (a better reader may get more out of it), nor when nothing was
	 * found: on the machine where the program lives there may be more to find. */
	if (options->keep && !p->damaged && outcome.changed)
		(void)load_write_back(p, file, &ignored);
	resolve_outcome_free(&outcome);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* One command is one process: what it has read stands for all that it prints. */
static bool damage_seen;

void load_note_damage(const struct profile *p, const char *file)
{
	if (!p->damaged)
		return;
	damage_seen = true;
	message_print("%s: damaged: %s", file, *p->damage ? p->damage : "some of it is missing");
}

void load_note_unread(void)
{
	damage_seen = true;
}

int load_get_status(int status)
{
	return status == COMMAND_GOOD && damage_seen ? COMMAND_FAILED : status;
}

/* ---- the profile ----------------------------------------------------------------------------- */

char *load_find(const char *file)
{
	if (file)
		return mem_copy_string(file);
	char *output = record_get_output();
	char *path = find_profile_newest(".", output);

	if (!path)
		message_print("no midden.*.mdn here%s%s; run `midden record PROGRAM` first",
			      output ? ", and no " : "", output ? output : "");
	free(output);
	return path;
}

/* After symbols are written back: to the file, maps and blocks stay what they are. */
static struct profile *choose_maps(struct profile *p, const char *path,
				   const struct load_options *options)
{
	struct error e = {.offset = -1};

	if (!p || !options->maps || map_view_choose(p, options->map_kind, &e) == 0)
		return p;
	(void)message_fault(path, &e);
	profile_free(p);
	return NULL;
}

struct profile *load_profile(const char *file, const struct load_options *options)
{
	struct error e = {.offset = -1};
	char *path = load_find(file);

	if (!path)
		return NULL;
	if (load_is_directory(path)) {
		struct profile *all = load_directory(path, options);

		free(path);
		return all;
	}
	struct profile *p = profile_read(path, &e);
	if (!p)
		(void)message_fault(path, &e);
	if (p && !options->allow_damaged)
		load_note_damage(p, path);
	if (p && options->symbols && (!p->resolved || has_directories(options)))
		add_symbols(p, path, options);
	p = choose_maps(p, path, options);
	free(path);
	return p;
}

pid_t load_find_pid(const char *word)
{
	char *end;
	long value = word && *word >= '1' && *word <= '9' ? strtol(word, &end, 10) : 0;

	return value > 0 && value <= INT32_MAX && !*end && access(word, F_OK) != 0 ? (pid_t)value
										   : 0;
}
