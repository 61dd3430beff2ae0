/* sealed.c -- forbids itself all but a few system calls, on pain of death, then allocates. Run by
 * tests/e2e/harsh.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is left: those of libc's allocator, those that end a program, and the two that
 * docs/robustness.md names for a thread that is being recorded. Heap: 100,000 blocks of 1 to 1,024
 * bytes, freed; from main, so the calls that prepare the thread must have been made before it. Ends
 * by _exit, or with any argument by returning from main. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(call)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *volatile kept;

int main(int argc, char **argv)
{
	(void)argv;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(getrandom),
		ALLOW(exit_group),
		ALLOW(process_vm_readv),
		ALLOW(futex),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
	for (size_t i = 0; i < 100000; i++) {
		kept = malloc(1 + i % 1024);
		free(kept);
	}
	if (argc == 1)
		_exit(0);
	return 0;
}
