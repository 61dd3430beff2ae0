/* scribbler.c -- writes nonsense over its own segment while it allocates. Run by
 * tests/e2e/security.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arguments: SEED. A child process, which has the segment mapped as well, writes random words to
 * all parts of it for ever; the program itself allocates and frees 200,000 blocks of 24 bytes and
 * exits with 0, or is killed by what the library finds in the segment. No exact heap is claimed. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct range {
	uint64_t start;
	uint64_t end;
};

/* Where the segment is mapped; it is a memfd, or an unlinked file, named after midden. */
static struct range find_segment(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct range found = {0, 0};
	char line[4096];

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long start, end;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && rights[3] == 's' &&
		    strstr(line, "midden"))
			found = (struct range){start, end};
	}
	if (maps)
		fclose(maps);
	return found;
}

static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Near the start, where the tables are, more often than elsewhere. */
static void scribble(struct range r, uint64_t seed)
{
	uint64_t x = seed * 2654435761u + 1, words = (r.end - r.start) / 8;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t random = next_random(&x);
		uint64_t room = random & 1 ? words : random & 2 ? 4096 : 65536;
		uint64_t value = random & 4 ? next_random(&x) : next_random(&x) % 64;

		((volatile uint64_t *)(uintptr_t)r.start)[(random >> 8) % room] =
			value; /* NOLINT */
	}
}

int main(int argc, char **argv)
{
	void *volatile first = malloc(100);
	struct range segment = find_segment();

	if (argc != 2 || segment.end == 0)
		return 2;
	/* Not by fork, of which the library hears: the child must keep the segment. */
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		scribble(segment, strtoull(argv[1], NULL, 10));
	for (int i = 0; i < 200000; i++) {
		void *volatile block = malloc(24);
		free(block);
	}
	free(first);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
