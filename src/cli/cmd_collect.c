/* cmd_collect.c -- `midden collect FD`: the collector that libmidden.so starts when it is preloaded
 * by hand. Runs: as an orphan process of its own; FD is a socket to the program.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/recording.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* the same on every architecture */
#endif

static const char help[] =
	"midden collect FD\n"
	"\n"
	"Started by libmidden.so itself when a program is run with LD_PRELOAD=libmidden.so and\n"
	"without `midden record`. Not meant to be run by hand.\n";

/* What the program had open without the close-on-exec flag: somebody may wait for the last one who
 * holds it. */
static void close_others(int connection)
{
	const unsigned first = (unsigned)connection + 1;

	for (int fd = 3; fd < connection; fd++)
		close(fd);
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
	for (long fd = first; fd < sysconf(_SC_OPEN_MAX); fd++) /* an older kernel */
		close((int)fd);
}

/* Where the name is not made of the program's, it is known already: with a number in it if children
 * are recorded too, or the program has become another one, or is one of many ranks. */
static void check_output(const struct recording_options *options, const struct segment_hello *hello,
			 const struct recording_wires *wires, struct error *e)
{
	const struct recording_subject subject = {
		.program = "",
		.pid = hello->pid,
		.rank = rank_read(hello->pid),
		.is_program = wires->is_program,
		.image = wires->image,
	};
	bool is_known = options->output && *options->output && !strchr(options->output, '%');
	char *name = is_known ? recording_output_name(options->output, &subject) : NULL;

	(void)recording_check_output(name ? name : options->output, e);
	free(name);
}

/* Somewhere else the profile is found only by whoever is told where, and at the end nobody listens
 * any more. A child that was forked has its parent's settings: that was told. */
static void tell_where(int out, const struct error *e, const struct segment_hello *hello)
{
	if (e->set && !hello->forked)
		(void)dprintf(out, "midden: %s: the profile will be in /tmp\n", e->text);
	close(out);
}

static int run(int argc, char **argv)
{
	struct recording_options options;
	struct segment_hello hello;
	struct error e = {0};
	struct recording_wires wires = {.status_in = -1, .report_out = -1, .image = 1};

	if (argc != 2)
		return message_usage("collect", "one descriptor number is needed");
	wires.connection = atoi(argv[1]); /* NOLINT: libmidden.so wrote it */
	if (recording_options_init(&options, &e) || recording_options_finish(&options, &e)) {
		message_print("%s: not recording", e.text);
		recording_refuse(wires.connection);
		return COMMAND_USAGE;
	}
	wires.is_program = !options.collect.follow;
	close_others(wires.connection);
	int out = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3); /* as it is before recording_isolate */
	if (options.http.wanted)			    /* the servant tells where it is */
		options.http.announce = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	recording_isolate();
	if (recording_take_hello(wires.connection, &hello))
		return COMMAND_FAILED;
	wires.image = hello.image ? hello.image : 1;
	check_output(&options, &hello, &wires, &e);
	tell_where(out, &e, &hello);
	e = (struct error){0};
	if (hello.mode == SEGMENT_MODE_SAMPLE && recording_set_sample(&options, NULL, &e))
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
