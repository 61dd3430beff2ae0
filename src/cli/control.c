/* control.c -- how a running recording is asked from outside: a socket that is known by the
 * process it records. Runs: in the collector, and in the command that asks.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/control.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/handover.h"
#include "cli/unrecorded.h"

#define MAGIC	  UINT64_C(0x3630706e7364696d) /* "midsnp06" */
#define ASKING_MS 50	/* for a request whose sender has connected: it comes at once */
#define ANSWER_MS 10000 /* a collector may be busy with what the program did meanwhile */
#define SURVEY_MS 60000 /* a look at a large heap takes seconds */

#define LOST_MS	  120000 /* and a big heap takes seconds to look through */

#define AGAIN_MS  20 /* a collector looks for requests this often */

enum request_kind {
	REQUEST_SNAPSHOT,
	REQUEST_PROFILE,
	REQUEST_BRIEF,
	REQUEST_LOST,
	REQUEST_SURVEY
};

struct request {
	uint64_t magic;
	uint64_t kind;
	uint64_t leave; /* of LOST: enum collect_leave */
	char name[SEGMENT_MARK_NAME_MAX + 1];
};

enum answer_kind { ANSWER_GOOD, ANSWER_FULL, ANSWER_BUSY, ANSWER_REFUSED };

struct answer {
	uint64_t magic;
	uint64_t kind;
	struct collect_snapshot kept;
	struct surveying_answer survey;
	char path[PATH_MAX];
};

static socklen_t build_address(struct sockaddr_un *address, pid_t target)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	/* The first byte stays 0: that is what makes it abstract. */
	int length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
			      CONTROL_NAME "%d", (int)target);

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

static int listen_for(pid_t target)
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

void control_open(struct control_listeners *l)
{
	for (unsigned i = 0; i < 2; i++)
		if (l->fds[i] < 0 && l->pids[i])
			l->fds[i] = listen_for(l->pids[i]);
}

void control_close(const struct control_listeners *l)
{
	for (unsigned i = 0; i < 2; i++)
		if (l->fds[i] >= 0)
			close(l->fds[i]);
}

static bool send_answer(int connection, const struct answer *answer, int pipe)
{
	return handover_send(connection, answer, sizeof(*answer), pipe, MSG_DONTWAIT);
}

static struct profile *build_frozen(void *context)
{
	const struct control_duty *duty = context;

	collect_freeze(duty->collector);
	return duty->build(duty->context, duty->brief);
}

static bool announce(void *context, int connection, int pipe)
{
	const struct control_duty *duty = context;
	struct answer answer = {.magic = MAGIC, .kind = ANSWER_GOOD};

	memcpy(answer.path, duty->path, sizeof(answer.path));
	return send_answer(connection, &answer, pipe);
}

static void hand_out_profile(int connection, struct control_duty *duty)
{
	const struct answer busy = {.magic = MAGIC, .kind = ANSWER_BUSY};
	const struct offshoot_task task = {.build = build_frozen,
					   .context = duty,
					   .connection = connection,
					   .announce = announce};

	if (!offshoot_start(&duty->offshoot, &task))
		(void)send_answer(connection, &busy, -1);
}

/* Where it cannot be told, the path has the reason. A look costs the target a stop: none is taken
 * that could not be handed out, as who asks will ask again. */
static void find_lost(int connection, struct control_duty *duty, unsigned leave)
{
	struct error e = {0};
	struct answer no = {.magic = MAGIC, .kind = ANSWER_REFUSED};

	if (offshoot_is_busy(&duty->offshoot)) {
		no.kind = ANSWER_BUSY;
		(void)send_answer(connection, &no, -1);
		return;
	}
	if (collect_find_lost(duty->collector, leave, &e) == 0) {
		hand_out_profile(connection, duty);
		collect_forget_lost(duty->collector);
		return;
	}
	(void)snprintf(no.path, sizeof(no.path), "%s", e.text);
	(void)send_answer(connection, &no, -1);
}

static void keep_snapshot(int connection, struct control_duty *duty, const char *name)
{
	struct answer answer = {.magic = MAGIC};

	if (!collect_take_snapshot(duty->collector, name, &answer.kept))
		answer.kind = ANSWER_FULL;
	(void)send_answer(connection, &answer, -1);
}

void control_answer_survey(int connection, const struct surveying_answer *survey)
{
	const struct answer answer = {.magic = MAGIC, .kind = ANSWER_GOOD, .survey = *survey};

	(void)send_answer(connection, &answer, -1);
}

static void start_survey(int connection, struct control_duty *duty, const char *name)
{
	const struct answer busy = {.magic = MAGIC, .kind = ANSWER_BUSY};

	if (!surveying_ask(duty->surveying, name, connection))
		(void)send_answer(connection, &busy, -1);
}

static void answer_request(int connection, struct control_duty *duty)
{
	struct request request;

	if (!is_trusted(connection) || !is_ready(connection, ASKING_MS) ||
	    recv(connection, &request, sizeof(request), MSG_DONTWAIT) != sizeof(request) ||
	    request.magic != MAGIC)
		return;
	request.name[sizeof(request.name) - 1] = '\0';
	duty->brief = request.kind == REQUEST_BRIEF;
	if (request.kind == REQUEST_PROFILE || request.kind == REQUEST_BRIEF) {
		(void)collect_drain(duty->collector);
		hand_out_profile(connection, duty);
	} else if (request.kind == REQUEST_LOST)
		find_lost(connection, duty, (unsigned)request.leave);
	else if (request.kind == REQUEST_SURVEY)
		start_survey(connection, duty, request.name);
	else
		keep_snapshot(connection, duty, request.name);
}

static bool serve_one(int listener, struct control_duty *duty)
{
	int connection = listener < 0 ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	(void)offshoot_is_busy(&duty->offshoot); /* reaps it */
	if (connection < 0)
		return false;
	answer_request(connection, duty);
	close(connection);
	return true;
}

bool control_serve(struct control_listeners *l, struct control_duty *duty)
{
	bool any = false;

	control_open(l);
	for (unsigned i = 0; i < 2; i++)
		any |= serve_one(l->fds[i], duty);
	return any;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool connect_to(int fd, pid_t target)
{
	struct sockaddr_un address;
	socklen_t bytes = build_address(&address, target);

	return connect(fd, (const struct sockaddr *)&address, bytes) == 0;
}

pid_t control_find_collector(pid_t target)
{
	struct ucred peer = {0};
	socklen_t bytes = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	if (!connect_to(fd, target) || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

/* Of a thread, the process is meant. */
static bool reach(int fd, pid_t target)
{
	if (connect_to(fd, target))
		return true;
	pid_t process = unrecorded_find_process(target);

	return process && connect_to(fd, process);
}

/* A descriptor that came with an answer; -1: none did. */
static int take_descriptor(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

/* One question and what came of it. */
struct exchange {
	struct request request;
	struct answer answer;
	int pipe; /* that came with the answer; -1: none */
	pid_t collector;
};

static bool receive_answer(int fd, struct exchange *x)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {.iov_base = &x->answer, .iov_len = sizeof(x->answer)};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got >= 0)
		x->pipe = take_descriptor(&message);
	return got == (ssize_t)sizeof(x->answer) && x->answer.magic == MAGIC;
}

static int get_patience(uint64_t kind)
{
	if (kind == REQUEST_LOST)
		return LOST_MS;
	return kind == REQUEST_SURVEY ? SURVEY_MS : ANSWER_MS;
}

/* A recorder hangs up on those whom it does not trust. */
static int find_why_silent(pid_t target, const struct ucred *recorder, struct error *e)
{
	if (geteuid() != 0 && geteuid() != recorder->uid)
		return error_set(e,
				 "process %d is recorded by another user: only that user and root "
				 "may ask",
				 (int)target);
	return error_set(e, "the recorder of process %d does not answer", (int)target);
}

static int ask_over(int fd, struct exchange *x, pid_t target, struct error *e)
{
	struct ucred peer = {.uid = geteuid()};
	socklen_t bytes = sizeof(peer);

	if (!reach(fd, target))
		return unrecorded_explain(target, e);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0)
		x->collector = peer.pid;
	if (!is_trusted(fd) && geteuid() != 0)
		return find_why_silent(target, &peer, e);
	if (send(fd, &x->request, sizeof(x->request), MSG_NOSIGNAL) != sizeof(x->request) ||
	    !is_ready(fd, get_patience(x->request.kind)) || !receive_answer(fd, x))
		return find_why_silent(target, &peer, e);
	return 0;
}

static int ask(struct exchange *x, pid_t target, struct error *e)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	x->request.magic = MAGIC;
	x->pipe = -1;
	if (fd < 0)
		return error_set_errno(e, "cannot make a socket");
	int result = ask_over(fd, x, target, e);
	close(fd);
	return result;
}

/* Asks again where the recorder is at work for others. */
static int ask_patiently(struct exchange *x, pid_t target, struct error *e)
{
	int result = ask(x, target, e);

	for (int ms = 0; result == 0 && x->answer.kind == ANSWER_BUSY && ms < ANSWER_MS;
	     ms += AGAIN_MS) {
		(void)poll(NULL, 0, AGAIN_MS);
		result = ask(x, target, e);
	}
	return result;
}

int control_take_snapshot(pid_t target, const char *name, struct collect_snapshot *kept,
			  struct error *e)
{
	struct exchange x = {.request = {.kind = REQUEST_SNAPSHOT}};

	(void)snprintf(x.request.name, sizeof(x.request.name), "%s", name);
	int result = ask(&x, target, e);
	if (x.pipe >= 0)
		close(x.pipe);
	if (result == 0 && x.answer.kind != ANSWER_GOOD)
		result = error_set(e, "there is no room for more snapshots");
	*kept = x.answer.kept;
	return result;
}

int control_take_survey(pid_t target, const char *name, struct surveying_answer *answer,
			struct error *e)
{
	struct exchange x = {.request = {.kind = REQUEST_SURVEY}};

	(void)snprintf(x.request.name, sizeof(x.request.name), "%s", name);
	int result = ask_patiently(&x, target, e);
	if (x.pipe >= 0)
		close(x.pipe);
	*answer = x.answer.survey;
	if (result == 0 && x.answer.kind != ANSWER_GOOD)
		return error_set(e, "the recorder of process %d is busy with other requests",
				 (int)target);
	if (result == 0 && *answer->fault)
		return error_set(e, "%s", answer->fault);
	return result;
}

/* A profile that ends early is none: its writer was killed. */
static struct profile *read_pipe(int fd, pid_t target, struct error *e)
{
	struct error unread = {0};
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct profile *p = profile_read(path, &unread);
	if (p && !p->damaged)
		return p;
	if (p)
		profile_free(p);
	(void)error_set(e, "the recorder of process %d did not send all of its profile",
			(int)target);
	return NULL;
}

static struct profile *read_state(pid_t target, const struct request *request,
				  struct control_origin *origin, struct error *e)
{
	struct exchange x = {.request = *request};
	int result = ask_patiently(&x, target, e);

	if (result == 0 && x.answer.kind == ANSWER_REFUSED)
		result = error_set(e, "%.*s", PATH_MAX - 1, x.answer.path);
	if (result == 0 && (x.answer.kind != ANSWER_GOOD || x.pipe < 0))
		result = error_set(e, "the recorder of process %d is busy with other requests",
				   (int)target);
	struct profile *p = result == 0 ? read_pipe(x.pipe, target, e) : NULL;
	if (x.pipe >= 0)
		close(x.pipe);
	if (p) {
		origin->collector = x.collector;
		(void)snprintf(origin->path, sizeof(origin->path), "%.*s", PATH_MAX - 1,
			       x.answer.path);
	}
	return p;
}

struct profile *control_read_profile(pid_t target, struct control_origin *origin, struct error *e)
{
	const struct request request = {.kind = REQUEST_PROFILE};

	return read_state(target, &request, origin, e);
}

struct profile *control_read_brief(pid_t target, struct control_origin *origin, struct error *e)
{
	const struct request request = {.kind = REQUEST_BRIEF};

	return read_state(target, &request, origin, e);
}

struct profile *control_find_lost(pid_t target, unsigned leave, struct control_origin *origin,
				  struct error *e)
{
	const struct request request = {.kind = REQUEST_LOST, .leave = leave};

	return read_state(target, &request, origin, e);
}
