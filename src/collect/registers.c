/* registers.c -- where a stopped thread has its stack and its thread-local variables.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/registers.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

/* One set of registers behind what is there already; the words that it takes. */
static uint32_t read_set(pid_t tid, uintptr_t set, uint64_t *words, uint32_t room)
{
	struct iovec to = {.iov_base = words, .iov_len = room * sizeof(*words)};

	if (!room || ptrace(PTRACE_GETREGSET, tid, set, &to) != 0)
		return 0;
	return (uint32_t)(to.iov_len / sizeof(*words));
}

#if defined(__x86_64__)

#define SP_WORD (offsetof(struct user_regs_struct, rsp) / sizeof(uint64_t))
#define TP_WORD (offsetof(struct user_regs_struct, fs_base) / sizeof(uint64_t))

static uint64_t find_pointer(pid_t tid, const uint64_t *words, uint32_t count)
{
	(void)tid;
	return count > TP_WORD ? words[TP_WORD] : 0;
}

#else

#define SP_WORD (offsetof(struct user_regs_struct, sp) / sizeof(uint64_t))

static uint64_t find_pointer(pid_t tid, const uint64_t *words, uint32_t count)
{
	uint64_t pointer[2] = {0};

	(void)words;
	(void)count;
	return read_set(tid, NT_ARM_TLS, pointer, 2) ? pointer[0] : 0;
}

#endif

struct registers registers_read(pid_t tid, uint64_t *words, uint32_t room)
{
	struct registers r = {.count = read_set(tid, NT_PRSTATUS, words, room)};

	if (r.count > SP_WORD)
		r.sp = words[SP_WORD];
	r.pointer = find_pointer(tid, words, r.count);
	r.count += read_set(tid, NT_PRFPREG, words + r.count, room - r.count);
	return r;
}
