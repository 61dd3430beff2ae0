/* aarch64.h -- what the capture room must know of the aarch64 processor and its ABI.
 * Runs: anywhere in the target. Included through host.h only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_CAPTURE_ARCH_AARCH64_H
#define MIDDEN_CAPTURE_ARCH_AARCH64_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "capture/unwatched.h"

#define ARCH_MACHINE EM_AARCH64

/* DWARF register numbers (AADWARF64): x0..x30, sp; 32 stands for the pc. */
#define ARCH_REGS	33
#define ARCH_REG_FP	29
#define ARCH_REG_LR	30
#define ARCH_REG_SP	31
#define ARCH_REG_PC	32
#define ARCH_REG_RA	ARCH_REG_LR

#define ARCH_STACK_STEP 0 /* a leaf may have no frame at all */

/* The stack pointer of whoever called the function. clang's __builtin_dwarf_cfa is the function's
 * own frame pointer here. */
#ifdef __clang__
#define ARCH_CFA() ((uint64_t)(uintptr_t)__builtin_sponentry())
#else
#define ARCH_CFA() ((uint64_t)(uintptr_t)__builtin_dwarf_cfa())
#endif

/* NOLINTNEXTLINE(readability-function-size): a number and six arguments */
static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

/* Fetches the cache line of `at`, which is going to be written. */
static inline UNWATCHED void arch_prefetch_to_write(const void *at)
{
	__builtin_prefetch(at, 1);
}

/* Where the thread's descriptor ends. */
static inline UNWATCHED uint64_t arch_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
	return pointer;
}

/* What an instruction adds to the register that leads to a word, which is the one it is put into;
 * false: it does something else. */
static inline bool arch_take_add(uint32_t instruction, uint32_t reg, uint64_t *at)
{
	/* add xN, xN, #immediate {, lsl #12} */
	if ((instruction & 0xff8003ff) != (0x91000000 | reg << 5 | reg))
		return false;
	*at += (uint64_t)(instruction >> 10 & 0xfff) << (instruction >> 22 & 1 ? 12 : 0);
	return true;
}

/* Where a function that does nothing but return a word has it from: an address, or what there is to
 * add to the thread pointer. False: it is not known to be such a function. */
static inline bool arch_find_returned(const uint8_t *code, uint64_t *at, bool *is_of_thread)
{
	const uint32_t landing = 0xd503245f, ret = 0xd65f03c0; /* bti c */
	uint32_t words[6], i = 0;

	memcpy(words, code, sizeof(words));
	if (words[i] == landing)
		i++;
	uint32_t reg = words[i] & 31;
	*is_of_thread = (words[i] & ~31u) == 0xd53bd040; /* mrs xN, tpidr_el0 */
	*at = 0;
	if (!*is_of_thread) {
		if ((words[i] & 0x9f000000) != 0x90000000) /* adrp xN, page */
			return false;
		uint32_t pages = (words[i] >> 5 & 0x7ffff) << 2 | (words[i] >> 29 & 3);
		*at = ((uint64_t)(uintptr_t)(code + i * sizeof(*words)) & ~UINT64_C(0xfff)) +
		      (uint64_t)((int64_t)((uint64_t)pages << 43) >> 31);
	}
	for (i++; i < 4 && arch_take_add(words[i], reg, at); i++)
		;
	if ((words[i] & 0xffc003ff) != (0xf9400000 | reg << 5)) /* ldr x0, [xN, #immediate] */
		return false;
	*at += (uint64_t)(words[i] >> 10 & 0xfff) * 8;
	return words[i + 1] == ret;
}

/* The registers that a callee must preserve, as they are here, with this place as the pc. */
static inline __attribute__((always_inline)) void arch_capture(uint64_t regs[ARCH_REGS])
{
	__asm__ volatile("stp x19, x20, [%0, #152]\n\t"
			 "stp x21, x22, [%0, #168]\n\t"
			 "stp x23, x24, [%0, #184]\n\t"
			 "stp x25, x26, [%0, #200]\n\t"
			 "stp x27, x28, [%0, #216]\n\t"
			 "stp x29, x30, [%0, #232]\n\t"
			 "mov x9, sp\n\t"
			 "adr x10, 1f\n\t"
			 "stp x9, x10, [%0, #248]\n"
			 "1:\n\t"
			 :
			 : "r"(regs)
			 : "x9", "x10", "memory");
}

/* Takes the pointer authentication code off a return address; a no-op where the CPU has none. */
static inline uint64_t arch_strip(uint64_t return_address)
{
	register uint64_t lr __asm__("x30") = return_address;

	__asm__("hint #7" : "+r"(lr)); /* xpaclri */
	return lr;
}

#define ARCH_RECORD_GIVES_SP true

/* The caller's stack pointer, given a frame record and what it holds. Records are at the bottom
 * of their frames, so the caller's own one is where its stack pointer was left. */
static inline uint64_t arch_record_sp(uint64_t record, uint64_t caller_fp)
{
	return caller_fp >= record + 16 ? caller_fp : record + 16;
}

#define ARCH_SIGRETURN_BYTES 8

/* Whether these are the instructions of the kernel's way back from a signal handler. */
static inline bool arch_is_sigreturn(const uint8_t bytes[ARCH_SIGRETURN_BYTES])
{
	/* mov x8, #139; svc #0 */
	static const uint32_t code[] = {0xd2801168u, 0xd4000001u};

	return memcmp(bytes, code, sizeof(code)) == 0;
}

#define ARCH_CALL_BYTES 4

/* Whether these bytes are a call: bl, blr, or one that authenticates its target. */
static inline bool arch_is_call(const uint8_t bytes[ARCH_CALL_BYTES])
{
	uint32_t code;

	memcpy(&code, bytes, sizeof(code));
	return (code & 0xfc000000u) == 0x94000000u || (code & 0xfffffc1fu) == 0xd63f0000u ||
	       (code & 0xfffff81fu) == 0xd63f081fu || (code & 0xfffff800u) == 0xd73f0800u;
}

/* Where the kernel saved register `reg` of the interrupted code. `sp` at the trampoline: siginfo
 * (128 bytes), ucontext with its machine context at 176, whose registers follow the fault address.
 */
static inline uint64_t arch_signal_slot(uint64_t sp, int reg)
{
	return sp + 128 + 176 + 8 + 8 * (uint64_t)reg;
}

/* The way back of homing.c: no branch goes to where memory says without a register, so that the
 * kernel does it, which takes the room for what a signal handler returns from. No signal must
 * come while the stack is the room. A call that forks gives 0 to the child. */
#define ARCH_HOMING                              \
	"homing_fork:\n\t"                       \
	"svc #0\n\t"                             \
	"cbz x0, 3f\n\t"                         \
	"tbnz x0, #63, 2f\n\t"                   \
	"adrp x1, homing_room\n\t"               \
	"add x1, x1, :lo12:homing_room\n\t"      \
	"mov x2, #5112\n\t"                      \
	"ldr x1, [x1, x2]\n\t"                   \
	"cbnz x1, 2f\n\t"                        \
	"mov x19, x0\n"                          \
	"1:\n\t"                                 \
	"mov x0, x19\n\t"                        \
	"mov x1, xzr\n\t"                        \
	"mov w2, #0x80000000\n\t" /* __WCLONE */ \
	"mov x3, xzr\n\t"                        \
	"mov x8, #260\n\t" /* wait4 */           \
	"svc #0\n\t"                             \
	"cmn x0, #4\n\t" /* EINTR */             \
	"b.eq 1b\n\t"                            \
	"b 2f\n"                                 \
	"3:\n\t"                                 \
	"mov x0, xzr\n\t"                        \
	"mov x8, #94\n\t" /* exit_group */       \
	"svc #0\n\t"                             \
	"brk #1\n"                               \
	"homing_call:\n\t"                       \
	"svc #0\n"                               \
	"2:\n\t"                                 \
	"mov x0, #2\n\t"                         \
	"adrp x1, homing_all\n\t"                \
	"add x1, x1, :lo12:homing_all\n\t"       \
	"mov x2, xzr\n\t"                        \
	"mov x3, #8\n\t"                         \
	"mov x8, #135\n\t" /* rt_sigprocmask */  \
	"svc #0\n\t"                             \
	"adrp x0, homing_room\n\t"               \
	"add x0, x0, :lo12:homing_room\n\t"      \
	"mov sp, x0\n\t"                         \
	"mov x8, #139\n\t" /* rt_sigreturn */    \
	"svc #0\n\t"                             \
	"brk #1\n"

#endif
