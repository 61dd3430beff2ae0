/* registers.h -- where a stopped thread has its stack and its thread-local variables.
 * Runs: in the collector process, one thread, when somebody wants to know what is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_COLLECT_REGISTERS_H
#define MIDDEN_COLLECT_REGISTERS_H

#include <stdint.h>
#include <sys/types.h>

/* What a function may keep below the stack pointer (the red zone of x86_64; elsewhere it does no
 * harm). */
#define REGISTERS_BELOW_BYTES 128u

struct registers {
	uint64_t sp;	  /* 0: not known */
	uint64_t pointer; /* the thread pointer; 0: not known */
	uint32_t count;	  /* words that were read */
};

/* Reads all general and vector registers of a thread that is stopped into `words`. */
struct registers registers_read(pid_t tid, uint64_t *words, uint32_t room);

#endif
