/* maps.c -- what memory the process has, as the kernel lists it.
 * Runs: any thread of the target, inside malloc. Called by codemaps.c and lock.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "capture/maps.h"

#include <fcntl.h>

#include "capture/host.h"

#define CHUNK_BYTES 1024

/* A line is "START-END PERMISSIONS ...". */
struct line {
	unsigned field;	 /* 0 start, 1 end, 2 permissions, 3 the rest */
	unsigned letter; /* of the permissions */
	uint64_t bounds[2];
	bool executable;
};

static void take_letter(struct line *line, char letter)
{
	if (line->field < 2 && (letter == '-' || letter == ' ')) {
		line->field++;
	} else if (line->field < 2) {
		unsigned digit = (unsigned)(letter <= '9' ? letter - '0' : letter - 'a' + 10);

		line->bounds[line->field] = line->bounds[line->field] << 4 | (digit & 15);
	} else if (line->field == 2) {
		line->executable = line->executable || (line->letter == 2 && letter == 'x');
		line->field += ++line->letter == 4;
	}
}

/* False: no more is wanted. */
static bool take_text(struct line *line, const char *text, long bytes, maps_fn *each, void *context)
{
	for (long i = 0; i < bytes; i++) {
		if (text[i] != '\n') {
			take_letter(line, text[i]);
			continue;
		}
		const struct maps_range range = {.start = line->bounds[0],
						 .end = line->bounds[1],
						 .executable = line->executable};
		if (!each(context, &range))
			return false;
		*line = (struct line){0};
	}
	return true;
}

/* By the thread: the process's own list is empty once its main thread has ended. */
bool maps_read(maps_fn *each, void *context)
{
	struct line line = {0};
	char text[CHUNK_BYTES] = {0};
	int fd = (int)HOST_CALL4(SYS_openat, AT_FDCWD, "/proc/thread-self/maps",
				 O_RDONLY | O_CLOEXEC, 0);
	bool more = true, any = false;
	long got;

	if (fd < 0)
		return false;
	while (more && (got = HOST_CALL3(SYS_read, fd, text, sizeof(text))) > 0) {
		any = true;
		more = take_text(&line, text, got, each, context);
	}
	(void)host_close(fd);
	return any;
}
