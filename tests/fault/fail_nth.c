/* fail_nth.c -- runs a program in which the n-th system call of a kind fails. Run by
 * tests/e2e/traps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: fail_nth CALL[,CALL...] ERRNO N WHO REPORT PROGRAM [ARGUMENTS]
 *
 * WHO says whose calls count: `library` those made by libmidden.so itself, `midden` those of
 * processes that run the midden command, `collector` those of collectors that are past their start,
 * `any` all. N is 1 for the first; 0 makes all of them fail.
 * REPORT is a file that gets two numbers when the last process is gone: calls seen, calls failed.
 *
 * The kernel hands the calls to a process of our own (seccomp's user notification), which answers
 * "go on" or with an error. That reaches calls made without libc, in every child and through every
 * exec. The program keeps its process id and has no child that it did not start. Linked statically,
 * so that a preloaded library does not get into this program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define UNSUPPORTED 77 /* the kernel does not do it: the tests are skipped */
#define CALLS_MAX   16
#define COUNT(a)    (sizeof(a) / sizeof((a)[0]))

struct named {
	const char *name;
	int number;
};

static const struct named calls[] = {
	{"accept4", SYS_accept4},
	{"bind", SYS_bind},
	{"clone", SYS_clone},
	{"clone3", SYS_clone3},
	{"connect", SYS_connect},
	{"dup3", SYS_dup3},
	{"execve", SYS_execve},
	{"faccessat", SYS_faccessat},
	{"fcntl", SYS_fcntl},
	{"fstat", SYS_fstat},
	{"ftruncate", SYS_ftruncate},
	{"futex", SYS_futex},
	{"listen", SYS_listen},
	{"madvise", SYS_madvise},
	{"memfd_create", SYS_memfd_create},
	{"mkdirat", SYS_mkdirat},
	{"mmap", SYS_mmap},
	{"mprotect", SYS_mprotect},
	{"openat", SYS_openat},
	{"pidfd_open", SYS_pidfd_open},
	{"pipe2", SYS_pipe2},
	{"ppoll", SYS_ppoll},
	{"prctl", SYS_prctl},
	{"process_vm_readv", SYS_process_vm_readv},
	{"read", SYS_read},
	{"readlinkat", SYS_readlinkat},
	{"recvfrom", SYS_recvfrom},
	{"recvmsg", SYS_recvmsg},
	{"renameat", SYS_renameat},
	{"sendmsg", SYS_sendmsg},
	{"sendto", SYS_sendto},
	{"setsid", SYS_setsid},
	{"signalfd4", SYS_signalfd4},
	{"socket", SYS_socket},
	{"socketpair", SYS_socketpair},
	{"wait4", SYS_wait4},
	{"write", SYS_write},
#ifdef SYS_mkdir /* the older forms, which libc uses where they exist */
	{"mkdir", SYS_mkdir},
	{"poll", SYS_poll},
	{"readlink", SYS_readlink},
	{"rename", SYS_rename},
#endif
};

static const struct named errors[] = {
	{"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EINTR", EINTR},
	{"EMFILE", EMFILE}, {"ENOENT", ENOENT}, {"ENOMEM", ENOMEM},
	{"ENOSPC", ENOSPC}, {"ENOSYS", ENOSYS}, {"EPERM", EPERM},
};

static struct {
	int numbers[CALLS_MAX];
	unsigned count;
	int error;
	long which;
	char who; /* its first letter */
	const char *report;
	long seen, failed;
	_Atomic int *listener; /* shared between the two processes: descriptor + 1 */
} plan;

static int look_up(const struct named *table, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(table[i].name, name, length) == 0 && !table[i].name[length])
			return table[i].number;
	return -1;
}

/* Names that this architecture does not have are left out. */
static void parse_calls(const char *list)
{
	while (*list && plan.count < CALLS_MAX) {
		size_t length = strcspn(list, ",");
		int number = look_up(calls, COUNT(calls), list, length);

		if (number >= 0)
			plan.numbers[plan.count++] = number;
		list += length + (list[length] == ',');
	}
}

/* ---- the watcher ----------------------------------------------------------------------------- */

static bool is_midden(pid_t pid)
{
	char path[64], target[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	const char *slash = strrchr(target, '/');
	return slash && strcmp(slash, "/midden") == 0;
}

static bool is_collector(pid_t pid)
{
	char path[64], name[32] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *comm = fopen(path, "re");
	bool is = comm && fgets(name, sizeof(name), comm) && strcmp(name, "midden-collect\n") == 0;
	if (comm)
		fclose(comm);
	return is;
}

static bool is_in_library(pid_t pid, unsigned long long at)
{
	char path[64], line[4352];
	unsigned long long low, high;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%llx-%llx", &low, &high) == 2 && at >= low && at < high &&
			strstr(line, "/libmidden.so");
	if (maps)
		fclose(maps);
	return found;
}

static bool is_meant(const struct seccomp_notif *n)
{
	if (plan.who == 'm')
		return is_midden((pid_t)n->pid);
	if (plan.who == 'c')
		return is_collector((pid_t)n->pid);
	return plan.who == 'a' || is_in_library((pid_t)n->pid, n->data.instruction_pointer);
}

static void answer(int listener, const struct seccomp_notif *n)
{
	struct seccomp_notif_resp reply = {.id = n->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	if (is_meant(n) && (++plan.seen == plan.which || plan.which == 0)) {
		reply.flags = 0;
		reply.error = -plan.error;
		plan.failed++;
	}
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

static void write_report(void)
{
	FILE *f = fopen(plan.report, "we");

	if (!f)
		return;
	fprintf(f, "%ld %ld\n", plan.seen, plan.failed);
	fclose(f);
}

static void __attribute__((noreturn)) watch(void)
{
	struct seccomp_notif notice;
	int number;

	while ((number = atomic_load(plan.listener)) == 0)
		usleep(100);
	const int listener = number - 1;
	for (;;) {
		struct pollfd ready = {.fd = listener, .events = POLLIN};

		/* Hung up: nobody who runs under the filter is left. */
		if (poll(&ready, 1, -1) < 0 || !(ready.revents & POLLIN))
			break;
		memset(&notice, 0, sizeof(notice));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) == 0)
			answer(listener, &notice);
	}
	write_report();
	_exit(0);
}

/* As a grandchild, so that the program has no child that it does not know. It shares our
 * descriptors until we exec: that is how the listener gets there without a call that could be
 * caught. */
static void start_watcher(void)
{
	long child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (child == 0) {
		if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0) == 0)
			watch();
		_exit(0);
	}
	(void)waitpid((pid_t)child, NULL, 0);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int install_filter(void)
{
	struct sock_filter code[CALLS_MAX + 6];
	struct sock_fprog program = {.filter = code};
	unsigned short used = 0;

	code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, arch));
	code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0,
						    (unsigned char)(plan.count + 1));
	code[used++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < plan.count; i++)
		code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							    (unsigned)plan.numbers[i],
							    (unsigned char)(plan.count - i), 0);
	code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	program.len = used;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

int main(int argc, char **argv)
{
	if (argc < 7)
		return 2;
	parse_calls(argv[1]);
	plan.error = look_up(errors, COUNT(errors), argv[2], strlen(argv[2]));
	plan.which = atol(argv[3]);
	plan.who = argv[4][0];
	plan.report = argv[5];
	plan.listener = mmap(NULL, sizeof(*plan.listener), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (plan.error < 0 || plan.listener == MAP_FAILED)
		return 2;
	start_watcher();
	int listener = install_filter();
	if (listener < 0) {
		atomic_store(plan.listener, INT_MAX); /* no descriptor: the watcher ends */
		return UNSUPPORTED;
	}
	atomic_store(plan.listener, listener + 1);
	(void)execvp(argv[6], argv + 6);
	return 127;
}
