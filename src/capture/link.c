/* link.c -- finding a collector and getting the segment from it.
 * Runs: at start-up of a process, in the first malloc or the constructor; and in a followed fork
 * child.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/link.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "capture/environment.h"
#include "capture/host.h"
#include "capture/say.h"
#include "format/clock.h"
#include "format/env.h"
#include "format/segment.h"

#define ANSWER_MS  10000		 /* how long a new collector may take to answer */
#define PROFILE_NS UINT64_C(30000000000) /* and to write its profile, where that must be awaited */

/* Kept for fork children: the variable itself may be gone from the environment by then. */
static struct sockaddr_un recorder = {.sun_family = AF_UNIX};

/* ---- the two ways to a socket ---------------------------------------------------------------- */

static int connect_recorder(void)
{
	int fd = (int)HOST_CALL3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long result = 0;

	/* A fork child may have timers and handlers of the program running. */
	do
		result = fd < 0 ? 0 : HOST_CALL3(SYS_connect, fd, &recorder, sizeof(recorder));
	while (result == -EINTR);
	if (fd >= 0 && result != 0) {
		(void)host_close(fd);
		fd = -1;
	}
	if (fd < 0)
		say("cannot reach the recorder: not recording");
	return fd;
}

static bool is_executable(const char *path)
{
	return HOST_CALL4(SYS_faccessat, AT_FDCWD, path, 1 /* X_OK */, 0) == 0;
}

/* Letters of the directory that a file is in, `up` levels above it. */
static size_t find_directory(const char *file, int up)
{
	size_t length = strlen(file);

	for (int i = 0; i <= up; i++)
		while (length && file[--length] != '/')
			;
	return length;
}

/* DIR/SUFFIX for the directory of the library, `up` levels above it. */
static bool join_beside(char path[PATH_MAX], const char *library, int up, const char *suffix)
{
	size_t length = find_directory(library, up), bytes = strlen(suffix) + 1;

	if (length + 1 + bytes > PATH_MAX)
		return false;
	memcpy(path, library, length);
	path[length] = '/';
	memcpy(path + length + 1, suffix, bytes);
	return is_executable(path);
}

/* The midden command: named, or beside the library (build tree), or in bin/ of the same prefix. */
static bool find_command(char path[PATH_MAX])
{
	const char *named = environment_find(ENV_COMMAND);
	Dl_info self;

	if (named && strlen(named) < PATH_MAX) {
		memcpy(path, named, strlen(named) + 1);
		return is_executable(path);
	}
	if (!dladdr((void *)(uintptr_t)link_open, &self) || !self.dli_fname) /* NOLINT */
		return false;
	return join_beside(path, self.dli_fname, 0, "midden") ||
	       join_beside(path, self.dli_fname, 1, "bin/midden") ||
	       join_beside(path, self.dli_fname, 2, "bin/midden");
}

/* Whether the program is the command that we would start: nobody meant to record that, and it would
 * never end. Where the library comes in by itself (/etc/ld.so.preload), it comes into every
 * program. */
static bool is_running(const char *command)
{
	struct stat self = {0}, other = {0};
	const char *started_as = (const char *)getauxval(AT_EXECFN); /* NOLINT: the kernel's */

	if (HOST_CALL4(SYS_newfstatat, AT_FDCWD, command, &other, 0) != 0)
		return false;
	if (HOST_CALL4(SYS_newfstatat, AT_FDCWD, "/proc/self/exe", &self, 0) != 0 &&
	    (!started_as || HOST_CALL4(SYS_newfstatat, AT_FDCWD, started_as, &self, 0) != 0))
		return false;
	return self.st_dev == other.st_dev && self.st_ino == other.st_ino;
}

/* fork without libc: no handlers run, and no signal is sent when the child ends (exit signal 0). */
static int plain_fork(void)
{
	return (int)HOST_CALL5(SYS_clone, 0, 0, 0, 0, 0);
}

static void __attribute__((noreturn)) plain_exit(int status)
{
	for (;;)
		(void)HOST_CALL1(SYS_exit_group, status);
}

/* In the grandchild: becomes the collector. Descriptor 3 is its end of the socket pair. */
static void __attribute__((noreturn)) become_collector(char *path, int fd, char **environment)
{
	static char name[] = "midden-collect", word[] = "collect", number[] = "3";
	char *arguments[] = {name, word, number, NULL};

	(void)HOST_CALL0(SYS_setsid);
	host_set_signals(0);
	/* dup3 of a descriptor onto itself fails, and the close-on-exec flag must go either way. */
	if (fd == 3)
		(void)HOST_CALL3(SYS_fcntl, fd, F_SETFD, 0);
	else
		(void)HOST_CALL3(SYS_dup3, fd, 3, 0);
	(void)HOST_CALL3(SYS_execve, path, arguments, environment);
	plain_exit(127);
}

/* Starts `midden collect` as an orphan, so that the program never sees a child it did not make. */
static int start_collector(char *path)
{
	enum { ENV_ROOM = 4096 };
	int pair[2] = {-1, -1};

	char **environment = host_map(ENV_ROOM * sizeof(char *));
	if (!environment ||
	    HOST_CALL4(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		say("no memory or descriptors left to start the collector: not recording");
		return -1;
	}
	environment_for_collector(environment, ENV_ROOM);
	int child = plain_fork();
	if (child == 0) {
		if (plain_fork() == 0)
			become_collector(path, pair[1], environment);
		plain_exit(0);
	}
	(void)host_close(pair[1]);
	(void)HOST_CALL2(SYS_munmap, environment, ENV_ROOM * sizeof(char *));
	if (child < 0) {
		(void)host_close(pair[0]);
		say("cannot start the collector: not recording");
		return -1;
	}
	while (HOST_CALL4(SYS_wait4, child, 0, __WALL, 0) == -EINTR)
		;
	return pair[0];
}

/* ---- the handshake --------------------------------------------------------------------------- */

static bool send_hello(int fd, bool forked)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	struct segment_hello hello = {
		.magic = SEGMENT_HELLO_MAGIC,
		.version = SEGMENT_VERSION,
		.machine = ARCH_MACHINE,
		.pid = host_getpid(),
		.parent_pid = (int)HOST_CALL0(SYS_getppid),
		.start_monotonic_ns = clock_monotonic_ns(),
		.forked = forked,
		.image = environment_find_image(),
		.mode = environment_find_mode(),
	};
	long sent;

	(void)HOST_CALL4(SYS_prlimit64, 0, RLIMIT_AS, 0, &limit);
	hello.address_space_limit = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
	/* MSG_NOSIGNAL: a recorder that went away must not kill the program with SIGPIPE. */
	do
		sent = HOST_CALL6(SYS_sendto, fd, &hello, sizeof(hello), MSG_NOSIGNAL, 0, 0);
	while (sent == -EINTR);
	return sent == (long)sizeof(hello);
}

static bool wait_readable(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	struct timespec limit = {.tv_sec = ANSWER_MS / 1000};
	long count;

	do
		count = HOST_CALL5(SYS_ppoll, &ready, 1, &limit, 0, 0);
	while (count == -EINTR);
	return count == 1;
}

/* The welcome and the descriptor that comes with it (-1: none). */
static bool receive_welcome(int fd, struct segment_welcome *welcome, int *segment)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec data = {.iov_base = welcome, .iov_len = sizeof(*welcome)};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	long got = 0;

	*segment = -1;
	*welcome = (struct segment_welcome){0};
	if (wait_readable(fd))
		do
			got = HOST_CALL3(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
		while (got == -EINTR);
	if (got != (long)sizeof(*welcome))
		return false;
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(segment, CMSG_DATA(c), sizeof(int));
	return welcome->magic == SEGMENT_HELLO_MAGIC && welcome->version == SEGMENT_VERSION;
}

/* Above what 32 bits can say (thread_busy), where it is anyway unless an emulator rules the address
 * space. */
static long map_high(int fd, uint64_t bytes)
{
	const long high = 1L << 40;
	long wish = 0;

	for (;;) {
		long at = HOST_CALL6(SYS_mmap, wish, bytes, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_NORESERVE, fd, 0);

		if (at < 0 || at > UINT32_MAX)
			return at;
		(void)HOST_CALL2(SYS_munmap, at, bytes);
		if (wish)
			return -ENOMEM;
		wish = high;
	}
}

static struct segment_header *map_segment(int fd, uint64_t bytes)
{
	long at = map_high(fd, bytes);

	if (at < 0)
		return NULL;
	(void)HOST_CALL3(SYS_madvise, at, bytes, MADV_DONTDUMP);
	struct segment_header *header =
		(struct segment_header *)at; /* NOLINT: the kernel's answer */
	if (header->magic == SEGMENT_MAGIC && header->version == SEGMENT_VERSION)
		return header;
	(void)HOST_CALL2(SYS_munmap, at, bytes);
	return NULL;
}

static enum link_result shake_hands(int fd, bool forked, struct segment_header **header)
{
	struct segment_welcome welcome;
	int segment = -1;

	if (!send_hello(fd, forked) || !receive_welcome(fd, &welcome, &segment)) {
		say("the collector did not answer: not recording");
		return LINK_FAILED;
	}
	if (welcome.refused)
		return LINK_REFUSED;
	*header = map_segment(segment, welcome.total_bytes);
	(void)host_close(segment);
	if (!*header)
		say("cannot map the event buffer: not recording");
	return *header ? LINK_READY : LINK_FAILED;
}

static enum link_result use_socket(int fd, bool forked, struct segment_header **header)
{
	if (fd < 0)
		return LINK_FAILED;
	enum link_result result = shake_hands(fd, forked, header);
	(void)host_close(fd);
	return result;
}

bool link_has_recorder(void)
{
	return recorder.sun_path[0] != '\0';
}

enum link_result link_open(bool forked, struct segment_header **header)
{
	const char *path = environment_find(ENV_SOCKET);
	char command[PATH_MAX];

	if (path && strlen(path) < sizeof(recorder.sun_path))
		memcpy(recorder.sun_path, path, strlen(path) + 1);
	if (link_has_recorder())
		return use_socket(connect_recorder(), forked, header);
	if (!find_command(command)) {
		say("the midden command is not beside libmidden.so (set MIDDEN_COMMAND): not "
		    "recording");
		return LINK_FAILED;
	}
	return is_running(command) ? LINK_REFUSED
				   : use_socket(start_collector(command), forked, header);
}

/* ---- the end of process 1 -------------------------------------------------------------------- */

/* It is the collector's parent, as of all orphans. Another thread may have waited for it already,
 * which is an end too. */
void link_wait_for_collector(struct segment_header *header)
{
	const struct timespec nap = {.tv_nsec = 5000000};
	const uint64_t last = clock_monotonic_ns() + PROFILE_NS;

	atomic_store(&header->target_state, SEGMENT_TARGET_ENDED);
	while (HOST_CALL4(SYS_wait4, header->collector_pid, 0, WNOHANG | __WALL, 0) == 0 &&
	       clock_monotonic_ns() < last)
		(void)HOST_CALL2(SYS_nanosleep, &nap, 0);
}
