/* options.h -- the options that several commands have, and how a command line is read. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A command puts the groups of rows that it wants into its table, hands what it does not know
 * itself to options_take, and reads its command line with options_parse. */
#ifndef MIDDEN_CLI_OPTIONS_H
#define MIDDEN_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

#include "cli/load.h"
#include "cli/output.h"
#include "model/suppress.h"
#include "model/tree.h"

/* What the shared options say. Zero-initialise, set defaults; free with options_free. */
struct options {
	struct load_options load;
	struct model_options model; /* load_fill_model sets the rest of it */
	struct suppress_list suppress;
	struct tree_view view;
	enum output_colour colour;
	const char *out; /* the file to write; NULL: standard output */
	bool figure_given;
	bool no_suppress;
	bool knows_known; /* the rules of midden's own are in `suppress` */
	bool json;
	bool no_pager;
	bool help;
};

/* Commands number their own options from 256 on. */
enum options_code {
	OPTIONS_FIGURE = 400, /* + enum figure: one for each */
	OPTIONS_FIGURE_NAME = OPTIONS_FIGURE + FIGURE_ALL,
	OPTIONS_INVERTED,
	OPTIONS_TOP_DOWN,
	OPTIONS_SUPPRESSIONS,
	OPTIONS_NO_SUPPRESSIONS,
	OPTIONS_ALL_FRAMES,
	OPTIONS_JSON,
	OPTIONS_COLOUR,
	OPTIONS_NO_PAGER,
	OPTIONS_NO_WRITE,
};

/* Groups of rows of a struct option table. */
/* clang-format off */
#define OPTIONS_OUT                                                             \
	{"output", required_argument, NULL, 'o'}

#define OPTIONS_ONE_FIGURE                                                      \
	{"figure", required_argument, NULL, OPTIONS_FIGURE_NAME}

#define OPTIONS_FIGURES                                                         \
	{"peak", no_argument, NULL, OPTIONS_FIGURE + FIGURE_PEAK},              \
	{"leaks", no_argument, NULL, OPTIONS_FIGURE + FIGURE_LEAKED},           \
	{"leaked", no_argument, NULL, OPTIONS_FIGURE + FIGURE_LEAKED},          \
	{"allocated", no_argument, NULL, OPTIONS_FIGURE + FIGURE_ALLOCATED},    \
	{"calls", no_argument, NULL, OPTIONS_FIGURE + FIGURE_CALLS},            \
	{"temporary", no_argument, NULL, OPTIONS_FIGURE + FIGURE_TEMPORARY},    \
	OPTIONS_ONE_FIGURE

#define OPTIONS_TREE                                                            \
	{"inverted", no_argument, NULL, OPTIONS_INVERTED},                      \
	{"top-down", no_argument, NULL, OPTIONS_TOP_DOWN},                      \
	{"threshold", required_argument, NULL, 't'},                            \
	{"depth", required_argument, NULL, 'd'}

#define OPTIONS_SUPPRESS                                                        \
	{"suppressions", required_argument, NULL, OPTIONS_SUPPRESSIONS},        \
	{"no-suppressions", no_argument, NULL, OPTIONS_NO_SUPPRESSIONS}

#define OPTIONS_OUTPUT                                                          \
	{"json", no_argument, NULL, OPTIONS_JSON},                              \
	{"color", required_argument, NULL, OPTIONS_COLOUR},                     \
	{"colour", required_argument, NULL, OPTIONS_COLOUR}

#define OPTIONS_PAGER                                                           \
	{"no-pager", no_argument, NULL, OPTIONS_NO_PAGER}

/* The last ones of a table, for commands that make a model as it is usual. */
#define OPTIONS_LAST                                                            \
	{"no-write", no_argument, NULL, OPTIONS_NO_WRITE},                      \
	LOAD_LONG_OPTIONS,                                                      \
	{"help", no_argument, NULL, 'h'},                                       \
	{NULL, 0, NULL, 0}

/* The same for all others. */
#define OPTIONS_END                                                             \
	{"all-frames", no_argument, NULL, OPTIONS_ALL_FRAMES},                  \
	OPTIONS_LAST
/* clang-format on */

#define OPTIONS_FIGURES_HELP                                                           \
	"  --peak               held when the program had the most memory (default)\n" \
	"  --leaks              not freed when the program ended\n"                    \
	"  --allocated          allocated in all, by bytes\n"                          \
	"  --calls              allocated in all, by number of calls\n"                \
	"  --temporary          freed before the thread allocated anything else\n"

#define OPTIONS_OUTPUT_HELP                                                                      \
	"  --all-frames         show malloc, operator new and what is inside of C++'s and "      \
	"Rust's\n"                                                                               \
	"                       library at the end of stacks too, and what belongs to the\n"     \
	"                       Python interpreter\n"                                            \
	"  --json               print JSON, with exact bytes\n"                                  \
	"  --color WHEN         auto (default: on a terminal, unless NO_COLOR is set), always, " \
	"never\n"                                                                                \
	"  --no-pager           do not pipe into $PAGER on a terminal\n"                         \
	"  -h, --help           show this text\n"

#define OPTIONS_SYMBOLS_HELP \
	LOAD_HELP "  --no-write           do not write symbols that were looked up back to FILE\n"

/* How a command line is read: one option after another goes to `parse`, which returns the exit
 * status so far. */
struct options_table {
	const char *command;
	const char *letters; /* as getopt_long wants them, beginning with : or -: */
	const struct option *rows;
	int (*parse)(void *request, int code, const char *argument);
};

/* Reads all options; optind is then at the first word. COMMAND_GOOD, or another status after a
 * message. */
int options_parse(const struct options_table *t, void *request, int argc, char **argv);

/* Deals with one option of the groups above. COMMAND_GOOD, or another status after a message. */
int options_take(struct options *o, const char *command, int code, const char *argument);
void options_free(struct options *o);

/* By site, which leaks are known and harmless, as the options say; the caller frees it. */
bool *options_list_suppressed(struct options *o, const struct model *m);

/* A number of 1 or more, `what` being its name in the message. */
int options_parse_count(const char *command, const char *what, const char *text, unsigned *count);

/* The same of a limit that may be 0, which is none. */
int options_parse_limit(const char *command, const char *text, unsigned *limit);

#endif
