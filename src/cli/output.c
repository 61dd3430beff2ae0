/* output.c -- where a report goes: stdout, or a pager on a terminal; and what may be printed there.
 * Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/message.h"

#define USUAL_WIDTH 80u

enum output_colour output_parse_colour(const char *word)
{
	static const char *const words[] = {"auto", "always", "never"};
	unsigned i = 0;

	while (i < OUTPUT_COLOUR_UNKNOWN && strcmp(word, words[i]) != 0)
		i++;
	return (enum output_colour)i;
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* A terminal that can do more than print. */
static bool has_terminal(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDOUT_FILENO) && kind && strcmp(kind, "dumb") != 0;
}

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return USUAL_WIDTH;
}

static struct style choose_style(enum output_colour colour)
{
	bool wanted = colour == OUTPUT_COLOUR_ALWAYS ||
		      (colour == OUTPUT_COLOUR_AUTO && has_terminal() && !is_set("NO_COLOR"));

	return (struct style){
		.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.colour = wanted,
		.width = isatty(STDOUT_FILENO) ? terminal_width() : 0,
	};
}

static bool is_on_path(const char *program)
{
	const char *path = getenv("PATH");
	char *copy = mem_copy_string(path ? path : "");
	char *rest = NULL;
	bool found = false;

	for (char *d = strtok_r(copy, ":", &rest); d && !found; d = strtok_r(NULL, ":", &rest)) {
		char *file = mem_format("%s/%s", d, program);
		found = access(file, X_OK) == 0;
		free(file);
	}
	free(copy);
	return found;
}

/* The pager's command line; NULL if there is none, or the user wants none. */
static const char *choose_pager(void)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		return is_on_path("less") ? "less -FRX" : NULL;
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static FILE *open_pager(void)
{
	const char *pager = choose_pager();

	if (!pager)
		return NULL;
	/* A plain PAGER=less keeps colours and leaves short reports on the screen. */
	(void)setenv("LESS", "FRX", 0);
	FILE *file = popen(pager, "w");
	if (!file)
		return NULL;
	/* The reader may leave before the end, or interrupt a search: neither is our end. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	return file;
}

void output_open(struct output *o, enum output_colour colour, bool pager)
{
	FILE *file = pager && has_terminal() ? open_pager() : NULL;

	*o = (struct output){
		.file = file ? file : stdout,
		.style = choose_style(colour),
		.paged = file != NULL,
	};
}

int output_close(struct output *o)
{
	if (o->paged) {
		(void)pclose(o->file);
		return COMMAND_GOOD;
	}
	errno = 0;
	if (fflush(o->file) == 0 && !ferror(o->file))
		return COMMAND_GOOD;
	message_print("cannot write the report: %s", errno ? strerror(errno) : "write error");
	return COMMAND_FAILED;
}
