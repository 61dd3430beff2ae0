/* registers.h -- what a stopped thread has in its registers, and how it makes a system call.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_REGISTERS_H
#define MIDDEN_COLLECT_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/comeback.h"

/* What a function may keep below the stack pointer (the red zone of x86_64; elsewhere it does no
 * harm). */
#define REGISTERS_BELOW_BYTES 128u

struct registers {
	uint64_t sp;	  /* 0: not known */
	uint64_t pointer; /* the thread pointer; 0: not known */
	uint32_t count;	  /* words that were read */
};

/* Reads the general and vector registers of a thread that is stopped into `words`: all of them, or
 * those that are kept over a call if it was in a system call. */
struct registers registers_read(pid_t tid, uint64_t *words, uint32_t room);

/* ---- system calls ---------------------------------------------------------------------------- */

#define REGISTERS_SET_WORDS 40u /* there are 27 on x86_64, 34 on aarch64 */
#define REGISTERS_GATE_MOST 4u	/* bytes of an instruction that makes a system call */

/* Whether the thread works with vector registers of which a system call keeps a part only. */
bool registers_are_scalable(pid_t tid);

/* The general registers, to be changed and put back. The others are not touched by a system call.
 */
struct registers_set {
	uint64_t words[REGISTERS_SET_WORDS];
	uint32_t count;
};

struct registers_call {
	long number;
	uint64_t arguments[4];
};

bool registers_save(pid_t tid, struct registers_set *s);
bool registers_load(pid_t tid, const struct registers_set *s);

/* Whether it runs the machine's own kind of code. */
bool registers_is_native(const struct registers_set *s);

/* Where it goes on, which may be in the middle of anything. */
uint64_t registers_get_place(const struct registers_set *s);

/* The instruction by which a thread makes the system call again that we stopped it in. */
struct registers_again {
	uint64_t address; /* 0: it was in none */
	bool is_certain;  /* otherwise it was in one if such an instruction is there */
};
struct registers_again registers_find_again(const struct registers_set *s);

/* How far into `bytes` there is an instruction that makes a system call; `count`: nowhere. */
uint64_t registers_find_gate(const unsigned char *bytes, uint64_t count);

/* Has the thread go on with this call, by the instruction at `gate`. */
void registers_aim(struct registers_set *s, uint64_t gate, const struct registers_call *call);

/* Whether all that the kernel knows of a call that we stopped a thread in is in the registers: it
 * goes on with the call when they are put back, whatever was done in between. */
bool registers_hold_call(void);

/* With which a thread that we have stopped goes on when it is let go, signals aside. */
struct registers_set registers_begin_again(const struct registers_set *s);

/* Makes what a thread needs to get to these registers and this mask of signals by itself, through
 * the library's code (format/comeback.h). False: there is no such way. */
bool registers_build_comeback(pid_t tid, const struct registers_set *s, uint64_t mask,
			      unsigned char room[COMEBACK_BYTES]);

/* Of a thread that is stopped at the begin of a system call: has it do this one instead, and then
 * go on behind the instruction at `gate`; 0: behind its own. */
bool registers_swap(pid_t tid, const struct registers_set *s, const struct registers_call *call,
		    uint64_t gate);

/* From the registers at the begin of a system call to those with which it begins again. */
void registers_rewind(struct registers_set *s);

/* Puts them back at the end of a system call, which is then forgotten. */
bool registers_restore(pid_t tid, const struct registers_set *s);

/* A system call that a thread waits in, or that ends with EINTR because it was stopped. */
struct registers_ended {
	long number;
	uint64_t arguments[6];
	uint64_t sp, pc; /* when it is over; of `seen` below alone */
};

/* Finds the call that ends so. Where not all of it is in the registers (see registers_hold_call),
 * it is taken from `seen`, what the thread waited in before, if it is the same as far as they
 * tell; NULL: nothing is known. False: the thread is stopped in no such one. */
bool registers_find_ended(const struct registers_set *s, const struct registers_ended *seen,
			  struct registers_ended *call);

/* ERESTARTNOHAND: the kernel begins the call again when it lets the thread go, and makes it EINTR
 * if a handler is to run before. */
#define REGISTERS_AGAIN (-514)

/* Has the call that the thread is stopped in come to something else. On aarch64, where that is in
 * the same register: sets the first argument of one that is to begin. */
void registers_set_result(struct registers_set *s, int64_t value);

/* What a system call has come to, at its end. */
int64_t registers_get_result(const struct registers_set *s);

#endif
