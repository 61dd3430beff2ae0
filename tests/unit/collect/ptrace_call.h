/* ptrace_call.h -- the arguments of a ptrace that stands in place of the C library's.
 * Runs: in tests of the collector that disturb it between two calls.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_COLLECT_PTRACE_CALL_H
#define MIDDEN_TESTS_COLLECT_PTRACE_CALL_H

#include <stdarg.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct ptrace_call {
	pid_t pid;
	void *address;
	void *data;
};

static inline struct ptrace_call ptrace_call_read(va_list list)
{
	struct ptrace_call call;

	call.pid = va_arg(list, pid_t);
	call.address = va_arg(list, void *);
	call.data = va_arg(list, void *);
	return call;
}

static inline long ptrace_call_pass(enum __ptrace_request request, const struct ptrace_call *call)
{
	return syscall(SYS_ptrace, request, call->pid, call->address, call->data);
}

#endif
