/* greeter.c -- says hello to its recorder again and again. Run by tests/e2e/security.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: COUNT. Sends COUNT hellos as the library does it (src/format/segment.h), each with the
 * claim to be a fork child, and prints how many of them were answered with a segment. No exact heap
 * is claimed. Exits with 0, or with 1 if the recorder cannot be reached. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/segment.h"

/* The library hides the recorder's address from the program, but not in what the kernel shows. */
static bool find_recorder(char *path, size_t room)
{
	static const char name[] = "MIDDEN_SOCKET=";
	FILE *environment = fopen("/proc/self/environ", "re");
	char *word = NULL;
	size_t bytes = 0;
	bool found = false;

	while (!found && environment && getdelim(&word, &bytes, '\0', environment) > 0)
		found = strncmp(word, name, sizeof(name) - 1) == 0;
	if (found)
		(void)snprintf(path, room, "%s", word + sizeof(name) - 1);
	free(word);
	if (environment)
		fclose(environment);
	return found;
}

static int greet(const char *path)
{
	struct segment_hello hello = {.magic = SEGMENT_HELLO_MAGIC,
				      .version = SEGMENT_VERSION,
				      .address_space_limit = UINT64_MAX,
				      .forked = 1,
				      .image = 1};
	struct segment_welcome welcome = {.refused = 1};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    send(fd, &hello, sizeof(hello), 0) != sizeof(hello) ||
	    recv(fd, &welcome, sizeof(welcome), MSG_WAITALL) != sizeof(welcome))
		return -1;
	close(fd);
	return welcome.refused == 0;
}

int main(int argc, char **argv)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int count = argc > 1 ? atoi(argv[1]) : 1, welcomed = 0;

	if (!find_recorder(path, sizeof(path)))
		return 1;
	for (int i = 0; i < count; i++) {
		int answer = greet(path);

		if (answer < 0)
			return 1;
		welcomed += answer;
	}
	printf("%d\n", welcomed);
	return 0;
}
