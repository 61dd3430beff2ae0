/* x86_64.h -- what the capture room must know of the x86_64 processor and its ABI.
 * Runs: anywhere in the target. Included through host.h only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_ARCH_X86_64_H
#define MIDDEN_CAPTURE_ARCH_X86_64_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "capture/unwatched.h"

#define ARCH_MACHINE EM_X86_64

/* DWARF register numbers (System V ABI, figure 3.36). */
#define ARCH_REGS	17
#define ARCH_REG_FP	6
#define ARCH_REG_SP	7
#define ARCH_REG_RA	16
#define ARCH_REG_PC	16

#define ARCH_STACK_STEP 8 /* a call moves the stack by at least this much */

/* The stack pointer of whoever called the function, as it was before the call. */
#define ARCH_CFA() ((uint64_t)(uintptr_t)__builtin_dwarf_cfa())

/* NOLINTNEXTLINE(readability-function-size): a number and six arguments */
static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Fetches the cache line of `at`, which is going to be written. No compiler makes this of
 * __builtin_prefetch unless the processor is named; those that do not know it do nothing. */
static inline UNWATCHED void arch_prefetch_to_write(const void *at)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
}

/* Where the thread's descriptor is: gcc before 11 has no __builtin_thread_pointer here. */
static inline UNWATCHED uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* Where a function that does nothing but return a word has it from: an address, or what there is to
 * add to the thread pointer. False: it is not known to be such a function. */
static inline bool arch_find_returned(const uint8_t *code, uint64_t *at, bool *is_of_thread)
{
	static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};	/* endbr64 */
	static const uint8_t plain[] = {0x48, 0x8b, 0x05};		/* mov at(%rip), %rax */
	static const uint8_t thread[] = {0x64, 0x48, 0x8b, 0x04, 0x25}; /* mov %fs:at, %rax */
	const uint8_t ret = 0xc3;
	int32_t offset;

	if (memcmp(code, landing, sizeof(landing)) == 0)
		code += sizeof(landing);
	*is_of_thread = memcmp(code, thread, sizeof(thread)) == 0;
	if (!*is_of_thread && memcmp(code, plain, sizeof(plain)) != 0)
		return false;
	code += *is_of_thread ? sizeof(thread) : sizeof(plain);
	memcpy(&offset, code, sizeof(offset));
	code += sizeof(offset);
	*at = (*is_of_thread ? 0 : (uint64_t)(uintptr_t)code) + (uint64_t)(int64_t)offset;
	return *code == ret;
}

/* The registers that a callee must preserve, as they are here, with this place as the pc. */
static inline __attribute__((always_inline)) void arch_capture(uint64_t regs[ARCH_REGS])
{
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "movq %%rax, 128(%0)\n"
			 "1:\n\t"
			 :
			 : "r"(regs)
			 : "rax", "memory");
}

/* Return addresses carry no signature here. */
static inline uint64_t arch_strip(uint64_t return_address)
{
	return return_address;
}

#define ARCH_RECORD_GIVES_SP false

/* The caller's stack pointer, given a frame record and what it holds: the record is the top of a
 * frame. */
static inline uint64_t arch_record_sp(uint64_t record, uint64_t caller_fp)
{
	(void)caller_fp;
	return record + 16;
}

#define ARCH_SIGRETURN_BYTES 9

/* Whether these are the instructions of the kernel's way back from a signal handler. */
static inline bool arch_is_sigreturn(const uint8_t bytes[ARCH_SIGRETURN_BYTES])
{
	/* mov $15, %rax; syscall */
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return memcmp(bytes, code, sizeof(code)) == 0;
}

#define ARCH_CALL_BYTES 7 /* the longest call */

/* The bytes of an indirect call with this second byte, from the opcode to its end; 0: none. `third`
 * matters where a scaled index follows. */
static inline unsigned arch_indirect_call_bytes(uint8_t second, uint8_t third)
{
	unsigned mode = second >> 6, operand = second & 7;
	unsigned index = operand == 4; /* a byte of scale, index and base */

	if ((second >> 3 & 7) != 2)
		return 0;
	if (mode == 3)
		return 2;
	if (mode == 0)
		return 2 + index + (operand == 5 || (index && (third & 7) == 5) ? 4 : 0);
	return 2 + index + (mode == 1 ? 1 : 4);
}

/* Whether a call can end with these bytes. */
static inline bool arch_is_call(const uint8_t bytes[ARCH_CALL_BYTES])
{
	const uint8_t *end = bytes + ARCH_CALL_BYTES;

	if (end[-5] == 0xe8)
		return true;
	for (unsigned length = 2; length <= ARCH_CALL_BYTES; length++) {
		const uint8_t *at = end - length;

		if (at[0] == 0xff &&
		    arch_indirect_call_bytes(at[1], length > 2 ? at[2] : 0) == length)
			return true;
	}
	return false;
}

/* Where the kernel saved register `reg` of the interrupted code; 0 if nowhere. `sp` at the
 * trampoline. */
static inline uint64_t arch_signal_slot(uint64_t sp, int reg)
{
	/* Index into gregs by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip. */
	static const uint8_t greg[ARCH_REGS] = {13, 12, 14, 11, 9, 8, 10, 15, 0,
						1,  2,	3,  4,	5, 6, 7,  16};

	return sp + 40 + 8 * (uint64_t)greg[reg];
}

/* The way back of homing.c, by register: the room holds them as struct user_regs_struct has them.
 * A signal must not come while the stack is the room, and none may be held back when it is over;
 * `mov` leaves the flags alone. A call that forks gives 0 to the child. */
#define ARCH_HOMING                                    \
	"homing_fork:\n\t"                             \
	"syscall\n\t"                                  \
	"testq %rax, %rax\n\t"                         \
	"jz 3f\n\t"                                    \
	"js 2f\n\t"                                    \
	"cmpq $0, homing_room+5112(%rip)\n\t"          \
	"jne 2f\n\t"                                   \
	"movq %rax, %rbx\n"                            \
	"1:\n\t"                                       \
	"movq %rbx, %rdi\n\t"                          \
	"xorl %esi, %esi\n\t"                          \
	"movl $0x80000000, %edx\n\t" /* __WCLONE */    \
	"xorl %r10d, %r10d\n\t"                        \
	"movl $61, %eax\n\t" /* wait4 */               \
	"syscall\n\t"                                  \
	"cmpq $-4, %rax\n\t" /* EINTR */               \
	"je 1b\n\t"                                    \
	"jmp 2f\n"                                     \
	"3:\n\t"                                       \
	"xorl %edi, %edi\n\t"                          \
	"movl $231, %eax\n\t" /* exit_group */         \
	"syscall\n\t"                                  \
	"hlt\n"                                        \
	"homing_call:\n\t"                             \
	"syscall\n"                                    \
	"2:\n\t"                                       \
	"movl $14, %eax\n\t" /* rt_sigprocmask: all */ \
	"movl $2, %edi\n\t"                            \
	"leaq homing_all(%rip), %rsi\n\t"              \
	"movl $0, %edx\n\t"                            \
	"movl $8, %r10d\n\t"                           \
	"syscall\n\t"                                  \
	"leaq homing_room+144(%rip), %rsp\n\t"         \
	"popfq\n\t"                                    \
	"movq homing_room+152(%rip), %rsp\n\t"         \
	"movl $14, %eax\n\t" /* its own */             \
	"movl $2, %edi\n\t"                            \
	"leaq homing_room+216(%rip), %rsi\n\t"         \
	"movl $0, %edx\n\t"                            \
	"movl $8, %r10d\n\t"                           \
	"syscall\n\t"                                  \
	"movq homing_room(%rip), %r15\n\t"             \
	"movq homing_room+8(%rip), %r14\n\t"           \
	"movq homing_room+16(%rip), %r13\n\t"          \
	"movq homing_room+24(%rip), %r12\n\t"          \
	"movq homing_room+32(%rip), %rbp\n\t"          \
	"movq homing_room+40(%rip), %rbx\n\t"          \
	"movq homing_room+48(%rip), %r11\n\t"          \
	"movq homing_room+56(%rip), %r10\n\t"          \
	"movq homing_room+64(%rip), %r9\n\t"           \
	"movq homing_room+72(%rip), %r8\n\t"           \
	"movq homing_room+80(%rip), %rax\n\t"          \
	"movq homing_room+88(%rip), %rcx\n\t"          \
	"movq homing_room+96(%rip), %rdx\n\t"          \
	"movq homing_room+104(%rip), %rsi\n\t"         \
	"movq homing_room+112(%rip), %rdi\n\t"         \
	"jmp *homing_room+128(%rip)\n"

#endif
