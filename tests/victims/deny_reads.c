/* deny_reads.c -- runs another program where process_vm_readv fails with EPERM, as strict sandboxes
 * have it. Run by tests/e2e/collector. deny_reads PROGRAM [ARGUMENTS]
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: none of its own. */
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in <linux/filter.h> and <linux/seccomp.h>, which musl-gcc does not have. */
struct step {
	unsigned short code;
	unsigned char if_true, if_false;
	unsigned value;
};

struct filter {
	unsigned short count;
	struct step *steps;
};

enum { LOAD_NUMBER = 0x20, JUMP_IF_EQUAL = 0x15, RETURN = 0x06, MODE_FILTER = 2 };
#define ALLOW 0x7fff0000u
#define ERROR 0x00050000u

int main(int argc, char **argv)
{
	struct step steps[] = {
		{LOAD_NUMBER, 0, 0, 0}, /* the call's number is the first word */
		{JUMP_IF_EQUAL, 0, 1, SYS_process_vm_readv},
		{RETURN, 0, 0, ERROR | EPERM},
		{RETURN, 0, 0, ALLOW},
	};
	struct filter filter = {4, steps};

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, MODE_FILTER, &filter)) {
		perror("deny_reads: no filter");
		return 77;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
