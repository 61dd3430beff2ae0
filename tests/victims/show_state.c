/* show_state.c -- prints what a program can see of its own process. Run by tests/e2e/clean.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Output, one item per line: open descriptors with what they are, number of threads, signal masks
 * and dispositions, the environment but for LD_PRELOAD and MIDDEN_*, umask, and whether there is a
 * child to wait for. Heap: one block of 100 bytes, freed, and what stdio takes for its buffers. */
#include "truth.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

static void show_descriptors(void)
{
	char path[64], target[256];

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t bytes = readlink(path, target, sizeof(target) - 1);
		if (bytes < 0)
			continue;
		target[bytes] = '\0';
		/* Pipes and files of the test differ in number from run to run, their kind does
		 * not. */
		target[strcspn(target, ":[")] = '\0';
		printf("fd %d %s\n", fd, fd > 2 ? target : "standard");
	}
}

static void show_status(void)
{
	static const char *const wanted[] = {
		"Threads:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:", "SigCgt:", "NoNewPrivs:"};
	char line[512];
	FILE *status = fopen("/proc/self/status", "r");

	truth_expect(status != NULL);
	while (fgets(line, sizeof(line), status)) {
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0)
				fputs(line, stdout);
		}
	}
	fclose(status);
}

static void show_environment(void)
{
	for (char **entry = environ; *entry; entry++) {
		if (strncmp(*entry, "LD_PRELOAD=", 11) != 0 && strncmp(*entry, "MIDDEN_", 7) != 0)
			printf("env %s\n", *entry);
	}
}

int main(void)
{
	mode_t mask = umask(0);

	truth_free(truth_malloc(100), 100);
	umask(mask);
	show_descriptors();
	show_status();
	show_environment();
	printf("umask %03o\n", mask);
	errno = 0;
	int waited = (int)waitpid(-1, NULL, WNOHANG);
	printf("wait %d %d\n", waited, errno == ECHILD);
	return 0;
}
