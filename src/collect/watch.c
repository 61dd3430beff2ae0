/* watch.c -- the target process from outside: is it there, is it still the same program, how big
 * is it, what are its threads called.
 * Runs: in the collector process, one thread, a few times a second.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/segment_map.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* the same on every architecture */
#endif

static int open_proc(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Thread ids of another pid namespace would look dead from here. */
static bool shares_pid_namespace(pid_t pid)
{
	char path[64];
	struct stat theirs, ours;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, &theirs) == 0 && stat("/proc/self/ns/pid", &ours) == 0 &&
	       theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

void watch_open(struct watch *w, pid_t pid)
{
	*w = (struct watch){.pid = pid, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	w->gone = w->pidfd < 0 && errno == ESRCH;
	w->statm_fd = open_proc(pid, "statm");
	w->status_fd = open_proc(pid, "status");
	w->comm_fd = open_proc(pid, "comm");
	w->task_fd = open_proc(pid, "task");
	w->shares_tids = shares_pid_namespace(pid);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

void watch_close(struct watch *w)
{
	close_fd(w->pidfd);
	close_fd(w->statm_fd);
	close_fd(w->status_fd);
	close_fd(w->comm_fd);
	close_fd(w->task_fd);
}

/* A process that nobody has waited for still takes signals: look at its state. */
static bool is_zombie(pid_t pid)
{
	char text[512];
	int fd = open_proc(pid, "stat");

	if (fd < 0)
		return false;
	ssize_t bytes = read(fd, text, sizeof(text) - 1);
	close_fd(fd);
	text[bytes > 0 ? bytes : 0] = '\0';

	const char *name_end = strrchr(text, ')'); /* the name may hold anything */
	return name_end && (name_end[1] && (name_end[2] == 'Z' || name_end[2] == 'X'));
}

bool watch_is_gone(const struct watch *w)
{
	if (w->gone)
		return true;
	if (w->pidfd >= 0) {
		struct pollfd poll_fd = {.fd = w->pidfd, .events = POLLIN};

		return poll(&poll_fd, 1, 0) > 0;
	}
	return (kill(w->pid, 0) < 0 && errno == ESRCH) || is_zombie(w->pid);
}

/* Of its directory of threads, the kernel counts the links as if they were directories. By its
 * path: a copy of the collector has closed our descriptors. */
uint32_t watch_count_threads(const struct watch *w)
{
	char path[64];
	struct stat file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)w->pid);
	if (stat(path, &file) != 0 || file.st_nlink < 3)
		return 0;
	return (uint32_t)file.st_nlink - 2;
}

void watch_await_end(const struct watch *w, uint64_t ns)
{
	struct pollfd poll_fd = {.fd = w->pidfd, .events = POLLIN}; /* -1: none */
	struct timespec timeout = {.tv_nsec = (long)ns};

	(void)ppoll(&poll_fd, 1, &timeout, NULL);
}

/* A line of /proc/PID/maps: start-end perms offset device inode path. */
static bool is_line_of(const char *line, uint64_t inode)
{
	uint64_t found;

	return sscanf(line, "%*s %*s %*s %*s %" SCNu64, &found) == 1 && found == inode &&
	       strstr(line, SEGMENT_MAP_NAME);
}

bool watch_has_segment(const struct watch *w, uint64_t inode)
{
	int fd = inode ? open_proc(w->pid, "maps") : -1;
	FILE *maps = fd < 0 ? NULL : fdopen(fd, "re");
	char *line = NULL;
	size_t room = 0;
	bool any = false, found = false;

	if (!maps) {
		close_fd(fd);
		return true;
	}
	while (!found && getline(&line, &room, maps) > 0) {
		any = true;
		found = is_line_of(line, inode);
	}
	free(line);
	(void)fclose(maps);
	return found || !any; /* empty: it is just ending, which is another matter */
}

bool watch_has_thread(const struct watch *w, uint32_t tid)
{
	if (!w->shares_tids)
		return true;
	return syscall(SYS_tgkill, w->pid, (pid_t)tid, 0) == 0 || errno != ESRCH;
}

/* Reads a /proc file from its start; "" if that fails. */
static void read_again(int fd, char *text, size_t room)
{
	ssize_t bytes = fd < 0 ? 0 : pread(fd, text, room - 1, 0);

	text[bytes > 0 ? bytes : 0] = '\0';
}

bool watch_read_main_name(const struct watch *w, char *name, size_t room)
{
	char text[64];

	read_again(w->comm_fd, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	if (*text)
		(void)snprintf(name, room, "%s", text);
	return *text;
}

bool watch_read_name(const struct watch *w, uint32_t tid, char *name, size_t room)
{
	char path[32];

	if (!w->shares_tids)
		return false;
	(void)snprintf(path, sizeof(path), "%" PRIu32 "/comm", tid);
	const struct watch thread = {.comm_fd = openat(w->task_fd, path, O_RDONLY | O_CLOEXEC)};
	bool found = watch_read_main_name(&thread, name, room);
	close_fd(thread.comm_fd);
	return found;
}

static void raise_peak(struct watch *w, uint64_t bytes)
{
	if (bytes > w->rss_peak_bytes)
		w->rss_peak_bytes = bytes;
}

void watch_sample_rss(struct watch *w)
{
	char text[128];
	uint64_t pages, addresses;

	read_again(w->statm_fd, text, sizeof(text));
	if (sscanf(text, "%" SCNu64 " %" SCNu64, &addresses, &pages) != 2 || pages == 0)
		return; /* ending: the last size seen holds */
	w->rss_bytes = pages * w->page_bytes;
	w->virtual_bytes = addresses * w->page_bytes;
	raise_peak(w, w->rss_bytes);
}

void watch_sample_rss_peak(struct watch *w)
{
	char text[4096];
	uint64_t kib;

	read_again(w->status_fd, text, sizeof(text));
	const char *line = strstr(text, "VmHWM:");
	if (line && sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
		raise_peak(w, kib * 1024);
}
