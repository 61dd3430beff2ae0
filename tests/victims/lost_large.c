/* lost_large.c -- is large, and may be one of which no copy can be made, while somebody looks at
 * what it has lost. Run by tests/e2e/leaks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: lost_large plain | sealed | ring | socket
 *
 * Holds 100 blocks of 1 MiB, each by a word of the one before, the first by a variable; loses 3
 * blocks of 100 bytes. "sealed": a filter kills it if it makes a process or a thread; "ring": has
 * an io_uring mapped, "socket": a socket. Says "ready", or "cannot" where the kernel has no such
 * thing; for every line it reads it says what it knows of children, of which it makes one for
 * "fork"; ends with 5. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "children.h"

#define BLOCKS	    100
#define BLOCK_BYTES (1024 * 1024)
#define RING_SETUP  425 /* the number of io_uring_setup everywhere; old headers have none */
#define RING_WORDS  15	/* of its parameters */

#define KILL_AT(number)                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void *held;
__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 3; i++)
		memset(malloc(100), 1, 100);
}

__attribute__((noinline)) static void hold(void)
{
	void **last = &held;

	for (int i = 0; i < BLOCKS; i++) {
		*last = malloc(BLOCK_BYTES);
		if (!*last)
			abort();
		memset(*last, 1, BLOCK_BYTES);
		last = (void **)((char *)*last + BLOCK_BYTES / 2);
	}
	*last = NULL;
}

static int seal(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL_AT(SYS_clone),
		KILL_AT(435), /* clone3 */
#ifdef SYS_fork
		KILL_AT(SYS_fork),
		KILL_AT(SYS_vfork),
#endif
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(*rules), .filter = rules};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int make_ring(void)
{
	uint64_t params[RING_WORDS] = {0};
	int fd = (int)syscall(RING_SETUP, 8, params);

	return fd >= 0 && mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED;
}

/* The kernel can put what it receives there. */
static int map_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd >= 0 && mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;
}

static int become(const char *how)
{
	if (strcmp(how, "sealed") == 0)
		return seal();
	if (strcmp(how, "ring") == 0)
		return make_ring();
	return strcmp(how, "socket") != 0 || map_socket();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "plain";
	char line[16];

	listen_for_children();
	lose();
	hold();
	puts(become(how) ? "ready" : "cannot");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "fork\n") == 0 && fork() == 0)
			_exit(0);
		say_of_children();
	}
	return 5;
}
