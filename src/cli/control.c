/* control.c -- how a running recording is asked from outside: a socket that is known by the
 * process it records. Runs: in the collector, and in the command that asks.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC	  UINT64_C(0x3230706e7364696d) /* "midsnp02" */
#define ASKING_MS 50	/* for a request whose sender has connected: it comes at once */
#define ANSWER_MS 10000 /* a collector may be busy with what the program did meanwhile */

struct request {
	uint64_t magic;
	char name[SEGMENT_MARK_NAME_MAX + 1];
};

struct answer {
	uint64_t magic;
	uint32_t failed; /* there was no room for it */
	uint32_t reserved;
	struct collect_snapshot kept;
};

static socklen_t build_address(struct sockaddr_un *address, pid_t target)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	/* The first byte stays 0: that is what makes it abstract. */
	int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
			      "midden-recording-%d", (int)target);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* The user himself, or root, who may do everything anyway. */
static bool is_trusted(int connection)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static bool is_ready(int fd, int ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	return poll(&ready, 1, ms) == 1;
}

/* ---- the collector --------------------------------------------------------------------------- */

int control_open(pid_t target)
{
	struct sockaddr_un address;
	socklen_t bytes = build_address(&address, target);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&address, bytes) == 0 && listen(fd, 8) == 0)
		return fd;
	close(fd);
	return -1;
}

static void answer_request(int connection, struct collector *c)
{
	struct answer answer = {.magic = MAGIC};
	struct request request;

	if (!is_trusted(connection) || !is_ready(connection, ASKING_MS) ||
	    recv(connection, &request, sizeof(request), MSG_DONTWAIT) != sizeof(request) ||
	    request.magic != MAGIC)
		return;
	request.name[sizeof(request.name) - 1] = '\0';
	answer.failed = !collect_take_snapshot(c, request.name, &answer.kept);
	(void)send(connection, &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void control_serve(int listener, struct collector *c)
{
	int connection = listener < 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (connection < 0)
		return;
	answer_request(connection, c);
	close(connection);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int find_why_not(pid_t target, struct error *e)
{
	if (kill(target, 0) && errno == ESRCH)
		return error_set(e, "there is no process %d", (int)target);
	return error_set(e,
			 "process %d is not being recorded: start it with `midden record`, or with "
			 "LD_PRELOAD=libmidden.so",
			 (int)target);
}

static int ask(int fd, pid_t target, const struct request *request, struct answer *answer,
	       struct error *e)
{
	struct sockaddr_un address;
	socklen_t bytes = build_address(&address, target);

	if (fd < 0)
		return error_set_errno(e, "cannot make a socket");
	if (connect(fd, (const struct sockaddr *)&address, bytes))
		return find_why_not(target, e);
	if (!is_trusted(fd) && geteuid() != 0)
		return error_set(e, "process %d is recorded by another user", (int)target);
	if (send(fd, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request) ||
	    !is_ready(fd, ANSWER_MS) ||
	    recv(fd, answer, sizeof(*answer), MSG_DONTWAIT) != sizeof(*answer) ||
	    answer->magic != MAGIC)
		return error_set(e, "the recorder of process %d does not answer", (int)target);
	return answer->failed ? error_set(e, "there is no room for more snapshots") : 0;
}

int control_take_snapshot(pid_t target, const char *name, struct collect_snapshot *kept,
			  struct error *e)
{
	struct request request = {.magic = MAGIC};
	struct answer answer;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	(void)snprintf(request.name, sizeof(request.name), "%s", name);
	int result = ask(fd, target, &request, &answer, e);
	if (fd >= 0)
		close(fd);
	if (result == 0)
		*kept = answer.kept;
	return result;
}
