/* load.h -- a profile from its file, with symbols; and the options that all commands have for it.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A command puts LOAD_LONG_OPTIONS into its table of options and LOAD_HELP into its help, hands
 * what getopt_long gives it to load_parse_option first, and calls load_fill_model before model_new.
 */
#ifndef MIDDEN_CLI_LOAD_H
#define MIDDEN_CLI_LOAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "model/model.h"
#include "model/pathmap.h"
#include "model/resolve.h"
#include "profile/profile.h"

/* Zero-initialise; load_options_free frees what the options left in it. */
struct load_options {
	bool symbols; /* a profile without symbols gets them */
	bool keep; /* and they are written back if possible, so that the next command finds them */
	bool allow_damaged;	/* --allow-damaged: a damaged file fails nothing by itself */
	bool full_names;	/* --full-names */
	bool hide_imports;	/* --hide-imports */
	struct pathmap paths;	/* --map */
	char *sysroot;		/* --sysroot; NULL: none */
	bool maps;		/* --maps: what was mapped, not what was allocated */
	uint32_t map_kind;	/* of them; PROFILE_MAP_KINDS: all */
	VEC(char *) debug_dirs; /* --debug-dir */
	/* For profiles that are read one after the other with these options, or NULL. */
	struct symbol_pool *pool;
};

#define LOAD_POOL_MODULES 32u

/* Commands number their own options from 256 on. */
enum load_option {
	LOAD_OPTION_DEBUG_DIR = 512,
	LOAD_OPTION_SYSROOT,
	LOAD_OPTION_MAP,
	LOAD_OPTION_FULL_NAMES,
	LOAD_OPTION_MAPS,
	LOAD_OPTION_HIDE_IMPORTS,
};

/* Where symbols are and sources were: rows of a struct option table. */
/* clang-format off */
#define LOAD_SYMBOL_OPTIONS                                               \
	{"debug-dir", required_argument, NULL, LOAD_OPTION_DEBUG_DIR},    \
	{"sysroot", required_argument, NULL, LOAD_OPTION_SYSROOT},        \
	{"map", required_argument, NULL, LOAD_OPTION_MAP}

/* The same with how names are shown. */
#define LOAD_LONG_OPTIONS                                                 \
	LOAD_SYMBOL_OPTIONS,                                              \
	{"full-names", no_argument, NULL, LOAD_OPTION_FULL_NAMES},        \
	{"hide-imports", no_argument, NULL, LOAD_OPTION_HIDE_IMPORTS}
/* For commands that show figures of sites. */
#define LOAD_MAPS_OPTION                                                  \
	{"maps", optional_argument, NULL, LOAD_OPTION_MAPS}
/* clang-format on */

#define LOAD_MAPS_HELP                                                                           \
	"  --maps[=KIND]        of what the program mapped itself (recorded with --maps): all, " \
	"or "                                                                                    \
	"KIND\n"                                                                                 \
	"                       anonymous, file, reserved, shared or break\n"

#define LOAD_SYMBOL_HELP                                                                        \
	"  --debug-dir DIR      search DIR for debug files, by build-id or name (repeatable)\n" \
	"  --sysroot DIR        search for programs and libraries below DIR\n"                  \
	"  --map OLD=NEW        source files below OLD are now below NEW (repeatable)\n"

#define LOAD_HELP                                                                                \
	LOAD_SYMBOL_HELP                                                                         \
	"  --full-names         show C++ names with all their default arguments\n"               \
	"  --hide-imports       one frame for each import of a Python program, and nothing of\n" \
	"                       what modules do meanwhile\n"

/* Deals with one option, `argument` being its optarg. Returns LOAD_NOT_MINE if it is another one's,
 * else the exit status so far: COMMAND_GOOD, or COMMAND_USAGE or COMMAND_FAILED after a message. */
#define LOAD_NOT_MINE (-1)
int load_parse_option(struct load_options *o, const char *command, int code, const char *argument);

void load_options_free(struct load_options *o);

/* Sets what the options say about names and paths. The options must outlive model_new. */
void load_fill_model(const struct load_options *o, struct model_options *model);

/* Reads `file`, or the newest profile in the working directory if it is NULL; all profiles of a
 * directory become one. A profile that has
 * symbols gets better ones where the user has named directories to look in. NULL after a message on
 * stderr. A damaged file gives what could be read of it, after a message. */
struct profile *load_profile(const char *file, const struct load_options *options);

/* The same steps one by one: the path of the file to read, malloc'ed, NULL after a message; */
char *load_find(const char *file);

/* the message for a damaged file, and nothing for a whole one; */
void load_note_damage(const struct profile *p, const char *file);

/* that one was left out which could not be read, for the status; */
void load_note_unread(void);

/* looking up symbols, with a progress bar; `outcome` may be NULL; */
void load_symbols(struct profile *p, const struct load_options *options, enum resolve_scope scope,
		  struct resolve_outcome *outcome);

/* the same for a profile of a recording that goes on, after `before`, which has its symbols: what
 * is new in it is looked up, without a word; */
void load_new_symbols(struct profile *p, const struct profile *before,
		      const struct load_options *options);

/* all variables of the objects that it had loaded (model/globals.h); */
void load_globals(struct profile *p, const struct load_options *options);

/* writing a profile back over its file, which keeps its time: the newest one is the last recording,
 * not the last one looked at. 0, or -1 with `e`. */
int load_write_back(const struct profile *p, const char *file, struct error *e);

/* The status of a command that would end with `status`: not a good one if a profile that it read
 * was damaged, so that no script takes a part for the whole. */
int load_get_status(int status);

/* A word that is a process id and no file's name, for commands that take either; 0: it is not one.
 */
pid_t load_find_pid(const char *word);

#endif
