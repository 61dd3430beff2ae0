/* procfs.c -- what /proc knows of another process. Runs: in a collector process, and in
 * those that ask it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/procfs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

#define COMM_MOST 15 /* what the kernel keeps of a name */

struct text {
	VEC(char) v;
};

static void add(struct text *t, const char *bytes, size_t count)
{
	vec_reserve(&t->v, count + 1);
	memcpy(t->v.at + t->v.count, bytes, count);
	t->v.count += count;
	t->v.at[t->v.count] = '\0';
}

static struct text read_file(pid_t pid, const char *name)
{
	struct text t = {0};
	char path[64], block[4096];
	ssize_t got;

	add(&t, "", 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return t;
	while ((got = read(fd, block, sizeof(block))) > 0 && t.v.count < (1 << 20))
		add(&t, block, (size_t)got);
	close(fd);
	return t;
}

char *procfs_read_link(pid_t pid, const char *name)
{
	char path[64], target[PATH_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	return mem_copy_string(target);
}

static bool is_plain(const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_-+=./:,@%^";

	return *word && word[strspn(word, safe)] == '\0';
}

static void add_quoted(struct text *t, const char *word)
{
	if (is_plain(word)) {
		add(t, word, strlen(word));
		return;
	}
	add(t, "'", 1);
	for (; *word; word++) {
		if (*word == '\'')
			add(t, "'\\''", 4);
		else
			add(t, word, 1);
	}
	add(t, "'", 1);
}

char *procfs_read_command(pid_t pid)
{
	struct text words = read_file(pid, "cmdline");
	struct text line = {0};

	add(&line, "", 0);
	for (size_t at = 0; at < words.v.count; at += strlen(words.v.at + at) + 1) {
		if (at)
			add(&line, " ", 1);
		add_quoted(&line, words.v.at + at);
	}
	vec_free(&words.v);
	return line.v.at;
}

char *procfs_read_name(pid_t pid)
{
	struct text comm = read_file(pid, "comm");

	if (comm.v.count && comm.v.at[comm.v.count - 1] == '\n')
		comm.v.at[--comm.v.count] = '\0';
	return comm.v.at;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The kernel keeps the name that was executed, a script's too, but cuts it; argv[0] has the rest
 * if it is the same. */
char *procfs_read_program(pid_t pid)
{
	char *comm = procfs_read_name(pid);
	struct text words = read_file(pid, "cmdline");
	const char *first = base_name(words.v.at);
	char *program;

	bool is_cut = strlen(comm) == COMM_MOST && strncmp(first, comm, COMM_MOST) == 0;
	if (*comm && !is_cut)
		first = comm;
	program = mem_copy_string(*first ? first : "program");
	for (char *c = program; *c; c++)
		if (*c == '/')
			*c = '_'; /* it becomes part of a file name */
	free(comm);
	vec_free(&words.v);
	return program;
}

static bool is_file_of(pid_t pid, const char *path)
{
	char exe[64];
	struct stat a, b;

	(void)snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	return *path == '/' && stat(exe, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/* The first word of the command if it is a path, else that name beside the file. */
static char *guess_executable(pid_t pid, const char *file)
{
	struct text words = read_file(pid, "cmdline");
	const char *first = words.v.at;
	char *directory = procfs_read_link(pid, "cwd");
	char *path;

	while (strncmp(first, "./", 2) == 0)
		first += 2;
	if (*first == '/')
		path = mem_copy_string(first);
	else if (first != words.v.at || strchr(first, '/'))
		path = mem_format("%s/%s", directory, first);
	else
		path = mem_format("%.*s%s", (int)(base_name(file) - file), file, first);
	free(directory);
	vec_free(&words.v);
	return path;
}

/* The kernel knows the file alone. Where the name leads to it too, people know it by that. */
char *procfs_find_executable(pid_t pid)
{
	char *file = procfs_read_link(pid, "exe");
	char *path = guess_executable(pid, file);

	if (strcmp(base_name(path), base_name(file)) != 0 && is_file_of(pid, path)) {
		free(file);
		return path;
	}
	free(path);
	return file;
}

bool procfs_find_exit(pid_t pid, int *status)
{
	struct text stat = read_file(pid, "stat");
	const char *after = strrchr(stat.v.at, ')');
	bool found = after && strncmp(after, ") Z", 3) == 0;

	/* exit_code is the last field (52). */
	const char *last = strrchr(stat.v.at, ' ');
	if (found && last)
		*status = (int)strtol(last + 1, NULL, 10);
	vec_free(&stat.v);
	return found && last;
}

struct procfs_cost procfs_read_cost(pid_t pid)
{
	struct text stat = read_file(pid, "stat");
	const char *after = strrchr(stat.v.at, ')'); /* the name may hold anything */
	unsigned long long user, system, children_user, children_system, pages;
	struct procfs_cost cost = {0};

	/* Fields 14 to 17 and 24; the state, field 3, comes after the name. */
	if (after && sscanf(after + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d "
			    "%*d %*d %*d %*u %*u %llu",
			    &user, &system, &children_user, &children_system, &pages) == 5) {
		uint64_t ticks = user + system + children_user + children_system;

		cost.cpu_ns = ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
		cost.resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	}
	vec_free(&stat.v);
	return cost;
}
