/* main.c -- the midden command: finds the subcommand and runs it. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/load.h"
#include "cli/message.h"

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool is_version(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

static int refuse(const char *word)
{
	const struct command *nearest = command_find_nearest(word);

	if (nearest)
		message_print("there is no command %s; did you mean `midden %s`?", word,
			      nearest->name);
	else
		message_print("there is no command %s; `midden help` lists them", word);
	return COMMAND_USAGE;
}

static int run_command(int argc, char **argv)
{
	const struct command *c = command_find(argv[0]);

	if (!c)
		return refuse(argv[0]);
	/* Only as the first word: in `midden record ls --help` it is for ls. */
	if (argc > 1 && is_help(argv[1])) {
		command_print_help(c, stdout);
		return COMMAND_GOOD;
	}
	return load_get_status(c->run(argc, argv));
}

/* A closed standard descriptor would be taken by the first file that is opened, and messages go
 * there. Opened the wrong way round, so that using it fails as before; closed again for a program
 * that is started. */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int flags = O_CLOEXEC | (fd == 0 ? O_WRONLY : O_RDONLY);

		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags) < 0)
			(void)open("/", O_PATH | O_CLOEXEC);
	}
}

int main(int argc, char **argv)
{
	char help[] = "help";
	char *no_words[] = {help, NULL};

	fill_standard_descriptors();
	/* Names may be UTF-8; numbers stay as they are everywhere. */
	(void)setlocale(LC_CTYPE, "");
	if (argc < 2) {
		message_print("what to do? `midden help` lists the commands");
		return COMMAND_USAGE;
	}
	if (is_version(argv[1])) {
		puts("midden " MIDDEN_VERSION);
		return COMMAND_GOOD;
	}
	if (is_help(argv[1]))
		return command_help.run(1, no_words);
	return run_command(argc - 1, argv + 1);
}
