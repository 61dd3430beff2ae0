/* untold.h -- a chain of calls through code without unwind information, and its true stack.
 * Runs: in untold.c and the code that it calls.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_STACKS_UNTOLD_H
#define MIDDEN_TESTS_STACKS_UNTOLD_H

#include <stddef.h>
#include <stdint.h>

#define UNTOLD_DEPTH 512

struct chain;
typedef void link_fn(struct chain *);

/* Each function notes where it will return to before it calls the next. */
struct chain {
	uint64_t returns[UNTOLD_DEPTH]; /* outermost first */
	size_t depth;
	link_fn *const *next; /* ends with a function that calls no further one */
};

static inline __attribute__((always_inline)) void chain_note(struct chain *c, const void *address)
{
	c->returns[c->depth++] =
		(uint64_t)(uintptr_t)__builtin_extract_return_addr((void *)(uintptr_t)address);
}

/* Calls the next function; the caller's frame stays. */
static inline __attribute__((always_inline)) void chain_go_on(struct chain *c)
{
	(*c->next++)(c);
	c->next--;
	__asm__ volatile("" : : : "memory");
}

/* As the body of a link. */
#define CHAIN_LINK(c)                                         \
	do {                                                  \
		chain_note((c), __builtin_return_address(0)); \
		chain_go_on(c);                               \
		(c)->depth--;                                 \
	} while (0)

/* untold_links.c, without unwind information; with frame pointers or not. */
link_fn untold_fp_small, untold_fp_large, untold_bare_small, untold_bare_large;

/* Hand-written code: calls function(c). */
typedef void call_fn(struct chain *c, link_fn *function);
call_fn asm_told;     /* with unwind information */
call_fn asm_fp;	      /* none, keeps a frame record */
call_fn asm_fp_large; /* the same with more between the record and its caller */
call_fn asm_bare;     /* none, leaves the frame pointer alone */
call_fn asm_wild;     /* none, the frame pointer is a small number */
call_fn asm_astray;   /* none, the frame pointer points to data on the stack */

/* What asm_astray puts where a return address would be. */
extern uint64_t untold_astray;

/* The bytes of asm_fp and asm_fp_large, which can be copied anywhere. */
extern const char asm_fp_end[], asm_fp_large_end[];

/* How far above the stack pointer, at the call, the return address of each lies. */
#ifdef __x86_64__
#define ASM_TOLD_RA	24
#define ASM_FP_RA	8
#define ASM_FP_LARGE_RA 40
#define ASM_BARE_RA	24
#define ASM_WILD_RA	8
#define ASM_ASTRAY_RA	40
#else
#define ASM_TOLD_RA	16
#define ASM_FP_RA	8
#define ASM_FP_LARGE_RA 8
#define ASM_BARE_RA	16
#define ASM_WILD_RA	8
#define ASM_ASTRAY_RA	8
#endif

#endif
