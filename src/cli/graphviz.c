/* graphviz.c -- draws a graph by running Graphviz's dot. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/graphviz.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(FILE *graph, FILE *out, pid_t *pid)
{
	char name[] = "dot", format[] = "-Tsvg";
	char *arguments[] = {name, format, NULL};
	posix_spawn_file_actions_t actions;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(graph), STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
	int failure = posix_spawnp(pid, name, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

static int run(FILE *graph, FILE *out, struct error *e)
{
	pid_t pid;
	int status;

	if (fflush(graph) || fflush(out) || fseek(graph, 0, SEEK_SET))
		return error_set_errno(e, "cannot hand the graph to Graphviz");
	int failure = start(graph, out, &pid);
	if (failure == ENOENT)
		return error_set(e, "--svg needs the program dot of Graphviz (Debian package "
				    "graphviz), which is not on PATH; without --svg the graph "
				    "itself is written");
	if (failure)
		return error_set(e, "cannot run Graphviz's dot: %s", strerror(failure));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return error_set(e, "Graphviz's dot could not draw the graph");
	return 0;
}

/* dot reads the graph from a file without a name: it may take its time. */
int graphviz_draw(FILE *out, outfile_fn write, void *context, struct error *e)
{
	FILE *graph = tmpfile();

	if (!graph)
		return error_set_errno(e, "cannot make a temporary file");
	int status = write(graph, context, e);
	if (status == 0)
		status = run(graph, out, e);
	fclose(graph);
	return status;
}
