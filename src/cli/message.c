/* message.c -- one-line messages on stderr, all of the same form. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/message.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "report/names.h"

static void print_safely(const char *command, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = mem_copy_string("out of memory");
	char *safe = names_escape(text, true);
	fprintf(stderr, "midden: %s%s%s\n", command ? command : "", command ? ": " : "", safe);
	free(safe);
	free(text);
}

void message_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_safely(NULL, format, args);
	va_end(args);
}

int message_fault(const char *file, const struct error *e)
{
	if (e->offset >= 0)
		message_print("%s: byte %" PRId64 ": %s", file, e->offset, e->text);
	else
		message_print("%s: %s", file, e->text);
	return COMMAND_FAILED;
}

/* Why nobody looked at what is lost, as far as the profile tells. malloc'ed. */
static char *explain_lost(const struct profile *p)
{
	static const char when[] = "`midden record --leaks` looks when it exits";

	if (p->inputs.count > 1)
		return mem_copy_string("none of its processes was recorded with `midden record "
				       "--leaks` and ended by exit()");
	if (p->run.end == PROFILE_END_SIGNALED)
		return mem_format("the program was killed by signal %" PRId32 " (%s), and %s",
				  p->run.exit_signal, strsignal(p->run.exit_signal), when);
	if (p->run.end == PROFILE_END_EXEC)
		return mem_format("the program replaced itself by another one, and %s", when);
	if (p->run.end == PROFILE_END_ABANDONED)
		return mem_format("the recording ended before the program did, and %s", when);
	return mem_copy_string("it was not recorded with `midden record --leaks`, or the program "
			       "did not end by exit()");
}

void message_refuse_lost(const char *file, const struct profile *p)
{
	char *why = explain_lost(p);

	message_print("%s%sdoes not tell what is lost: %s", file ? file : "the profile",
		      file ? ": " : " ", why);
	free(why);
}

int message_usage(const char *command, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_safely(command, format, args);
	va_end(args);
	fprintf(stderr, "Try `midden %s --help`.\n", command);
	return COMMAND_USAGE;
}

int message_bad_option(const char *command, int result, char **argv)
{
	const char *what = result == ':' ? "needs an argument" : "is not an option";

	/* optopt is the short option, or the val of a long one; the long ones have no character. */
	if (optopt > 0 && optopt < 128)
		return message_usage(command, "-%c %s", optopt, what);
	return message_usage(command, "%s %s", argv[optind - 1], what);
}
