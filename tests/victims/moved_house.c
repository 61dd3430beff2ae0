/* moved_house.c -- changes the surroundings of its own process, then allocates. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: 500 blocks of 48 bytes before and 500 after, 300 of each freed; then a thread makes and
 * frees 200 blocks of 48 bytes. In between, by mode (argument 2 is a directory where one is
 * needed): `nothing`; `close` closes every descriptor below 4,096, 0 to 2 too; `chdir` goes to the
 * directory and removes it; `chroot` makes the directory, which is empty, its root; `newuser`
 * enters a user namespace of its own, which takes a process with one thread; `user` becomes user
 * 65534; `nofile`, `fsize` and `nproc` set these limits to 0; `stack` gives the main thread no more
 * stack than 64 KiB; `memory` allows no more address space than is in use. Ends with status 6. */
#include "truth.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

static void allocate(int count)
{
	void *kept[500];

	for (int i = 0; i < count; i++)
		kept[i] = truth_malloc(48);
	for (int i = 0; i < 300; i++)
		truth_free(kept[i], 48);
}

static void *in_thread(void *argument)
{
	(void)argument;
	truth_use(1);
	for (int i = 0; i < 200; i++)
		truth_free(truth_malloc(48), 48);
	return NULL;
}

static int limit(int what, rlim_t bytes)
{
	struct rlimit value = {bytes, bytes};

	return setrlimit(what, &value);
}

static rlim_t address_space_in_use(void)
{
	char text[32] = "";
	int fd = open("/proc/self/statm", O_RDONLY);

	truth_expect(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && close(fd) == 0);
	return strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

static int set_limit(const char *mode)
{
	if (strcmp(mode, "nofile") == 0)
		return limit(RLIMIT_NOFILE, 0);
	if (strcmp(mode, "fsize") == 0)
		return limit(RLIMIT_FSIZE, 0);
	if (strcmp(mode, "nproc") == 0)
		return limit(RLIMIT_NPROC, 0);
	if (strcmp(mode, "stack") == 0)
		return limit(RLIMIT_STACK, 65536);
	if (strcmp(mode, "memory") == 0)
		return limit(RLIMIT_AS, address_space_in_use());
	return 0;
}

static int move(const char *mode, const char *directory)
{
	if (strcmp(mode, "close") == 0) {
		for (int fd = 0; fd < 4096; fd++)
			close(fd);
	}
	if (strcmp(mode, "chdir") == 0)
		return chdir(directory) || rmdir(directory);
	if (strcmp(mode, "chroot") == 0)
		return chroot(directory) || chdir("/");
	if (strcmp(mode, "newuser") == 0)
		return unshare(CLONE_NEWUSER);
	if (strcmp(mode, "user") == 0)
		return setgid(65534) || setuid(65534);
	return set_limit(mode);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "nothing";
	pthread_t thread;

	truth_use(1);
	truth_use(0);
	allocate(500);
	if (move(mode, argc > 2 ? argv[2] : "/"))
		return 77; /* not allowed here */
	allocate(500);
	/* A thread needs a stack, and user 65534 maybe has too many processes. */
	if (strcmp(mode, "memory") != 0 && strcmp(mode, "nproc") != 0) {
		truth_expect(pthread_create(&thread, NULL, in_thread, NULL) == 0);
		truth_expect(pthread_join(thread, NULL) == 0);
	}
	return 6;
}
