/* registers.c -- what a stopped thread has in its registers, and how it makes a system call.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "collect/registers.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#if defined(__aarch64__)
#include <asm/sigcontext.h>
#endif

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif
#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
#define NT_ARM_CHECKED 0x410 /* NT_ARM_GCS: not in all headers */

#define SET_WORDS      (sizeof(struct user_regs_struct) / sizeof(uint64_t))

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

static bool is_in_call(pid_t tid, const uint64_t *words)
{
	(void)tid;
	return (int64_t)words[offsetof(struct user_regs_struct, orig_rax) / sizeof(uint64_t)] >= 0;
}

/* A called function keeps none. */
static uint32_t keep_kept(uint64_t *vectors, uint32_t count)
{
	(void)vectors;
	(void)count;
	return 0;
}

#else

#define SP_WORD	   (offsetof(struct user_regs_struct, sp) / sizeof(uint64_t))
#define SVC_CODE   0xd4000001u /* svc #0 */
#define KEPT_FIRST 8u	       /* v8 to v15 */
#define KEPT_END   16u

static uint64_t find_pointer(pid_t tid, const uint64_t *words, uint32_t count)
{
	uint64_t pointer[2] = {0};

	(void)words;
	(void)count;
	return read_set(tid, NT_ARM_TLS, pointer, 2) ? pointer[0] : 0;
}

/* The kernel has forgotten it by now: it is told by the instruction that makes calls, which the
 * thread is at again, or just behind. */
static bool is_in_call(pid_t tid, const uint64_t *words)
{
	uint64_t place = words[offsetof(struct user_regs_struct, pc) / sizeof(uint64_t)];
	uint32_t codes[2] = {0};

	if (place < sizeof(codes[0]))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		errno = 0;
		long word = ptrace(PTRACE_PEEKTEXT, tid, place - i * sizeof(codes[0]), NULL);
		codes[i] = errno ? 0 : (uint32_t)word;
	}
	return codes[0] == SVC_CODE || codes[1] == SVC_CODE;
}

/* A called function keeps the lower halves of these. */
static uint32_t keep_kept(uint64_t *vectors, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 2 * KEPT_FIRST; i < 2 * KEPT_END && i < count; i += 2)
		vectors[kept++] = vectors[i];
	return kept;
}

#endif

struct registers registers_read(pid_t tid, uint64_t *words, uint32_t room)
{
	struct registers r = {.count = read_set(tid, NT_PRSTATUS, words, room)};

	if (r.count > SP_WORD)
		r.sp = words[SP_WORD];
	r.pointer = find_pointer(tid, words, r.count);
	uint64_t *vectors = words + r.count;
	uint32_t count = read_set(tid, NT_PRFPREG, vectors, room - r.count);
	/* Whoever waits has called a function that waits: what is in the other vector registers was
	 * left there by some function that is over, the library's hooks among them. */
	if (r.count >= SET_WORDS && is_in_call(tid, words))
		count = keep_kept(vectors, count);
	r.count += count;
	return r;
}

/* ---- system calls ---------------------------------------------------------------------------- */

bool registers_save(pid_t tid, struct registers_set *s)
{
	s->count = read_set(tid, NT_PRSTATUS, s->words, REGISTERS_SET_WORDS);
	return s->count >= SET_WORDS;
}

#if defined(__aarch64__)

#define SET_SVE	 0x405u /* NT_ARM_SVE, NT_ARM_SSVE: not in all headers */
#define SET_SSVE 0x40bu
#define IS_LIVE	 UINT64_C(1) /* in the flags of a header of two words, its last half word */

bool registers_are_scalable(pid_t tid)
{
	uint64_t plain[2] = {0}, streaming[2] = {0};

	return (read_set(tid, SET_SVE, plain, 2) && plain[1] >> 32 & IS_LIVE) ||
	       (read_set(tid, SET_SSVE, streaming, 2) && streaming[1] >> 32 & IS_LIVE);
}

#else

bool registers_are_scalable(pid_t tid)
{
	(void)tid;
	return false;
}

#endif

static bool write_set(pid_t tid, uintptr_t set, const void *bytes, size_t count)
{
	struct iovec from = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count}; /* NOLINT */

	return ptrace(PTRACE_SETREGSET, tid, set, &from) == 0;
}

bool registers_load(pid_t tid, const struct registers_set *s)
{
	return write_set(tid, NT_PRSTATUS, s->words, s->count * sizeof(*s->words));
}

#if defined(__x86_64__)

#define WORD(name)    (offsetof(struct user_regs_struct, name) / sizeof(uint64_t))
#define NATIVE_CODE   0x33u /* the code segment of 64 bits */
#define GATE_BYTES    2u    /* syscall */
#define NO_CALL	      UINT64_MAX
#define RESTART_FIRST (-516) /* ERESTART_RESTARTBLOCK, ERESTARTNOHAND, -NOINTR, -SYS */
#define RESTART_LAST  (-512)
#define NO_RESTART    (-515) /* ENOIOCTLCMD, which is among them */

bool registers_is_native(const struct registers_set *s)
{
	return s->words[WORD(cs)] == NATIVE_CODE;
}

uint64_t registers_get_place(const struct registers_set *s)
{
	return s->words[WORD(rip)];
}

/* The kernel goes by these two registers, when it lets the thread go. */
struct registers_again registers_find_again(const struct registers_set *s)
{
	int64_t result = (int64_t)s->words[WORD(rax)];

	if ((int64_t)s->words[WORD(orig_rax)] < 0 || result < RESTART_FIRST ||
	    result > RESTART_LAST || result == NO_RESTART)
		return (struct registers_again){0};
	return (struct registers_again){s->words[WORD(rip)] - GATE_BYTES, true};
}

uint64_t registers_find_gate(const unsigned char *bytes, uint64_t count)
{
	for (uint64_t i = 0; i + GATE_BYTES <= count; i++)
		if (bytes[i] == 0x0f && bytes[i + 1] == 0x05)
			return i;
	return count;
}

static void set_arguments(struct registers_set *s, const struct registers_call *call)
{
	s->words[WORD(rdi)] = call->arguments[0];
	s->words[WORD(rsi)] = call->arguments[1];
	s->words[WORD(rdx)] = call->arguments[2];
	s->words[WORD(r10)] = call->arguments[3];
	s->words[WORD(r8)] = 0; /* of clone: thread-local memory */
}

void registers_aim(struct registers_set *s, uint64_t gate, const struct registers_call *call)
{
	set_arguments(s, call);
	s->words[WORD(rip)] = gate;
	s->words[WORD(rax)] = (uint64_t)call->number;
	s->words[WORD(orig_rax)] = NO_CALL; /* or the kernel might make another one again */
}

void registers_rewind(struct registers_set *s)
{
	s->words[WORD(rip)] -= GATE_BYTES;
	s->words[WORD(rax)] = s->words[WORD(orig_rax)];
	s->words[WORD(orig_rax)] = NO_CALL;
}

bool registers_hold_call(void)
{
	return true;
}

struct registers_set registers_begin_again(const struct registers_set *s)
{
	struct registers_set begun = *s;

	if (!registers_find_again(s).address)
		return begun;
	registers_rewind(&begun);
	if ((int64_t)s->words[WORD(rax)] == RESTART_FIRST)
		begun.words[WORD(rax)] = SYS_restart_syscall;
	return begun;
}

bool registers_build_comeback(pid_t tid, const struct registers_set *s, uint64_t mask,
			      unsigned char room[COMEBACK_BYTES])
{
	_Static_assert(SET_WORDS == COMEBACK_MASK_WORD, "the code knows where the mask is");
	_Static_assert(WORD(rip) == 16 && WORD(eflags) == 18 && WORD(rsp) == 19, "and these");
	(void)tid;
	memcpy(room, s->words, SET_WORDS * sizeof(*s->words));
	memcpy(room + SET_WORDS * sizeof(*s->words), &mask, sizeof(mask));
	return true;
}

bool registers_swap(pid_t tid, const struct registers_set *s, const struct registers_call *call,
		    uint64_t gate)
{
	struct registers_set other = *s;

	set_arguments(&other, call);
	other.words[WORD(orig_rax)] = (uint64_t)call->number;
	if (gate)
		other.words[WORD(rip)] = gate + GATE_BYTES;
	return registers_load(tid, &other);
}

bool registers_restore(pid_t tid, const struct registers_set *s)
{
	return registers_load(tid, s);
}

int64_t registers_get_result(const struct registers_set *s)
{
	return (int64_t)s->words[WORD(rax)];
}

bool registers_find_ended(const struct registers_set *s, const struct registers_ended *seen,
			  struct registers_ended *call)
{
	static const size_t places[] = {WORD(rdi), WORD(rsi), WORD(rdx),
					WORD(r10), WORD(r8),  WORD(r9)};

	(void)seen;
	call->number = (long)s->words[WORD(orig_rax)];
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		call->arguments[i] = s->words[places[i]];
	return registers_is_native(s) && call->number >= 0 &&
	       (int64_t)s->words[WORD(rax)] == -EINTR;
}

void registers_set_result(struct registers_set *s, int64_t value)
{
	s->words[WORD(rax)] = (uint64_t)value;
}

#else

#define PC_WORD	      (offsetof(struct user_regs_struct, pc) / sizeof(uint64_t))
#define STATE_WORD    (offsetof(struct user_regs_struct, pstate) / sizeof(uint64_t))
#define NUMBER_WORD   8u     /* x8 */
#define STATE_32_BITS 0x10u  /* of pstate */
#define STATE_BRANCH  0xc00u /* an indirect branch is under way: only some targets will do */
#define GATE_BYTES    4u     /* svc #0 */
#define GATE_CODE     SVC_CODE
#define NO_CALL	      (-1)

bool registers_is_native(const struct registers_set *s)
{
	return !(s->words[STATE_WORD] & STATE_32_BITS);
}

uint64_t registers_get_place(const struct registers_set *s)
{
	return s->words[PC_WORD];
}

/* The kernel has set the thread back to the instruction by now. The rest that it has to do, it
 * knows from where it stands itself: the thread must be let go for that. */
struct registers_again registers_find_again(const struct registers_set *s)
{
	return (struct registers_again){s->words[PC_WORD], false};
}

uint64_t registers_find_gate(const unsigned char *bytes, uint64_t count)
{
	for (uint64_t i = 0; i + GATE_BYTES <= count; i += GATE_BYTES) {
		uint32_t code;

		__builtin_memcpy(&code, bytes + i, sizeof(code));
		if (code == GATE_CODE)
			return i;
	}
	return count;
}

static void set_arguments(struct registers_set *s, const struct registers_call *call)
{
	for (unsigned i = 0; i < 4; i++)
		s->words[i] = call->arguments[i];
	s->words[4] = 0; /* of clone: where to write */
}

void registers_aim(struct registers_set *s, uint64_t gate, const struct registers_call *call)
{
	set_arguments(s, call);
	s->words[PC_WORD] = gate;
	s->words[STATE_WORD] &= ~(uint64_t)STATE_BRANCH;
	s->words[NUMBER_WORD] = (uint64_t)call->number;
}

/* The number is no register any more at that point. x7 tells tracers something at the begin and
 * the end of a call and cannot be changed there: the kernel puts the right one back. */
static bool set_number(pid_t tid, int number)
{
	return write_set(tid, NT_ARM_SYSTEM_CALL, &number, sizeof(number));
}

/* A part of it is in the kernel's own stack. */
bool registers_hold_call(void)
{
	return false;
}

struct registers_set registers_begin_again(const struct registers_set *s)
{
	return *s;
}

/* As in the kernel: what is behind a handler on its stack. */
struct handler_frame {
	siginfo_t info;
	ucontext_t context;
};

_Static_assert(sizeof(struct handler_frame) <= COMEBACK_ALONE, "the room is for it");

/* A stack for returns that the processor checks has no place for this one. */
static bool has_checked_returns(pid_t tid)
{
	uint64_t set[3] = {0};

	return read_set(tid, NT_ARM_CHECKED, set, 3) && set[0] & 1;
}

bool registers_build_comeback(pid_t tid, const struct registers_set *s, uint64_t mask,
			      unsigned char room[COMEBACK_BYTES])
{
	struct handler_frame *frame = (struct handler_frame *)(void *)room;
	mcontext_t *m = &frame->context.uc_mcontext;
	struct fpsimd_context *vectors = (struct fpsimd_context *)(void *)m->__reserved;
	struct user_fpsimd_struct state = {0};

	memset(room, 0, COMEBACK_BYTES);
	if (has_checked_returns(tid) ||
	    read_set(tid, NT_PRFPREG, (uint64_t *)(void *)&state, sizeof(state) / 8) == 0)
		return false;
	memcpy(m->regs, s->words, sizeof(m->regs));
	m->sp = s->words[SP_WORD];
	m->pc = s->words[PC_WORD];
	m->pstate = s->words[STATE_WORD];
	memcpy(&frame->context.uc_sigmask, &mask, sizeof(mask));
	frame->context.uc_stack.ss_flags = -1; /* no such kind: what there is stays */
	vectors->head.magic = FPSIMD_MAGIC;
	vectors->head.size = sizeof(*vectors);
	vectors->fpsr = state.fpsr;
	vectors->fpcr = state.fpcr;
	memcpy(vectors->vregs, state.vregs, sizeof(vectors->vregs));
	return true;
}

bool registers_swap(pid_t tid, const struct registers_set *s, const struct registers_call *call,
		    uint64_t gate)
{
	struct registers_set other = *s;

	set_arguments(&other, call);
	if (gate) {
		other.words[PC_WORD] = gate + GATE_BYTES;
		other.words[STATE_WORD] &= ~(uint64_t)STATE_BRANCH;
	}
	return set_number(tid, (int)call->number) && registers_load(tid, &other);
}

void registers_rewind(struct registers_set *s)
{
	s->words[PC_WORD] -= GATE_BYTES;
}

bool registers_restore(pid_t tid, const struct registers_set *s)
{
	bool forgotten = set_number(tid, NO_CALL);

	return registers_load(tid, s) && forgotten;
}

int64_t registers_get_result(const struct registers_set *s)
{
	return (int64_t)s->words[0];
}

/* The first argument has been overwritten by the result, and the kernel has forgotten the call. */
bool registers_find_ended(const struct registers_set *s, const struct registers_ended *seen,
			  struct registers_ended *call)
{
	if (!seen || !registers_is_native(s) || registers_get_result(s) != -EINTR)
		return false;
	for (unsigned i = 1; i < 6; i++)
		if (s->words[i] != seen->arguments[i])
			return false;
	*call = *seen;
	return (long)s->words[NUMBER_WORD] == seen->number && s->words[SP_WORD] == seen->sp &&
	       s->words[PC_WORD] == seen->pc;
}

void registers_set_result(struct registers_set *s, int64_t value)
{
	s->words[0] = (uint64_t)value;
}

#endif
