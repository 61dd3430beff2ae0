/* cmd_collect.c -- `midden collect FD`: the collector that libmidden.so starts when it is preloaded
 * by hand. Runs: as an orphan process of its own; FD is a socket to the program.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/recording.h"

static const char help[] =
	"midden collect FD\n"
	"\n"
	"Started by libmidden.so itself when a program is run with LD_PRELOAD=libmidden.so and\n"
	"without `midden record`. Not meant to be run by hand.\n";

static int run(int argc, char **argv)
{
	struct recording_options options;
	struct segment_hello hello;
	struct error e = {0};
	struct recording_wires wires = {.status_in = -1, .report_out = -1, .image = 1};

	if (argc != 2)
		return message_usage("collect", "one descriptor number is needed");
	wires.connection = atoi(argv[1]); /* NOLINT: libmidden.so wrote it */
	if (recording_options_init(&options, &e)) {
		message_print("%s: not recording", e.text);
		recording_refuse(wires.connection);
		return COMMAND_USAGE;
	}
	wires.is_program = !options.collect.follow;
	recording_isolate();
	for (int fd = 3; fd < 4096; fd++)
		if (fd != wires.connection)
			close(fd);
	if (recording_take_hello(wires.connection, &hello))
		return COMMAND_FAILED;
	return recording_run(&options, &hello, &wires) ? COMMAND_FAILED : COMMAND_GOOD;
}

const struct command command_collect = {
	.name = "collect",
	.summary = "collect what a preloaded libmidden.so records",
	.help = help,
	.run = run,
	.hidden = true,
};
