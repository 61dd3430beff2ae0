/* listen.c -- the socket that the server listens on. Runs: in the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "serve/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

union any_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The size of the address, 0 if the text is none. */
static socklen_t parse_address(const char *text, uint16_t port, union any_address *a)
{
	*a = (union any_address){0};
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		return sizeof(a->v4);
	}
	if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons(port);
		return sizeof(a->v6);
	}
	return 0;
}

static int fail(int fd, struct error *e, const char *what, const char *name)
{
	error_set_errno(e, "cannot %s %s", what, name);
	close(fd);
	return -1;
}

int listen_tcp(const char *address, uint16_t *port, struct error *e)
{
	union any_address a;
	socklen_t bytes = parse_address(address, *port, &a);
	int one = 1;

	if (!bytes)
		return error_set(e, "%s is not an address (like 127.0.0.1 or ::1)", address);
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set_errno(e, "cannot make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &a.any, bytes) != 0 || listen(fd, BACKLOG) != 0)
		return fail(fd, e, "listen on", address);
	if (getsockname(fd, &a.any, &bytes) != 0)
		return fail(fd, e, "find the port of", address);
	*port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	return fd;
}

int listen_unix(const char *path, struct error *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(a.sun_path))
		return error_set(e, "%s is too long for a socket's name", path);
	memcpy(a.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set_errno(e, "cannot make a socket");
	/* Before it has its name: there is no moment when others could connect. */
	mode_t before = umask(0177);
	int bound = bind(fd, (const struct sockaddr *)&a, sizeof(a));
	umask(before);
	if (bound != 0 || listen(fd, BACKLOG) != 0)
		return fail(fd, e, "listen on", path);
	return fd;
}
