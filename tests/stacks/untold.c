/* untold.c -- allocations below code without unwind information: compiled, hand-written, copied.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: untold LINK...       calls the named links one below the other; see `links`
 *
 * No unwinder knows the stack here, so the functions note their return addresses themselves. */
#include "untold.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "oracle.h"

#define NOINLINE __attribute__((noinline))

static __thread size_t hidden_at; /* where the return address of the assembly function lies */

/* ---- links with unwind information ----------------------------------------------------------- */

static NOINLINE void told(struct chain *c)
{
	CHAIN_LINK(c);
}

static NOINLINE void told_large(struct chain *c)
{
	volatile char pad[300] = {1};
	uint64_t a = c->depth * 7, b = a * a;

	CHAIN_LINK(c);
	(void)pad[(a + b) % sizeof(pad)];
}

/* Compilers need a frame pointer for this one. */
static NOINLINE void told_fp(struct chain *c)
{
	volatile char *space = __builtin_alloca(c->depth * 16 + 16);

	*space = 1;
	CHAIN_LINK(c);
}

/* ---- links around hand-written code ---------------------------------------------------------- */

/* Called by an assembly function, whose own return address it finds for it. */
static NOINLINE void below_assembly(struct chain *c)
{
	const char *stack = __builtin_dwarf_cfa();

	chain_note(c, *(void *const *)(const void *)(stack + hidden_at));
	CHAIN_LINK(c);
	c->depth--;
}

static inline __attribute__((always_inline)) void through(struct chain *c, call_fn *call, size_t at)
{
	chain_note(c, __builtin_return_address(0));
	hidden_at = at;
	call(c, below_assembly);
	c->depth--;
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void through_told(struct chain *c)
{
	through(c, asm_told, ASM_TOLD_RA);
}

static NOINLINE void through_fp(struct chain *c)
{
	through(c, asm_fp, ASM_FP_RA);
}

static NOINLINE void through_fp_large(struct chain *c)
{
	through(c, asm_fp_large, ASM_FP_LARGE_RA);
}

static NOINLINE void through_bare(struct chain *c)
{
	through(c, asm_bare, ASM_BARE_RA);
}

static NOINLINE void through_wild(struct chain *c)
{
	through(c, asm_wild, ASM_WILD_RA);
}

/* ---- links around code whose frame pointer leads astray --------------------------------------- */

uint64_t untold_astray;

static void *volatile heap_block;

#define ASTRAY(name, value)                            \
	static NOINLINE void name(struct chain *c)     \
	{                                              \
		untold_astray = (uint64_t)(value);     \
		through(c, asm_astray, ASM_ASTRAY_RA); \
	}

ASTRAY(astray_number, 0x1234567)
ASTRAY(astray_huge, UINT64_C(0x0102030405060708))
ASTRAY(astray_heap, heap_block)
ASTRAY(astray_stack, __builtin_frame_address(0))
ASTRAY(astray_data, &untold_astray)
ASTRAY(astray_text, "text")
ASTRAY(astray_function, malloc)
ASTRAY(astray_own, told)

/* ---- code in no object ----------------------------------------------------------------------- */

/* A copy of a function in memory of its own, as a just-in-time compiler makes them. */
static call_fn *copy_code(const void *from, const void *end)
{
	size_t bytes = (size_t)((const char *)end - (const char *)from);
	void *to = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(to, from, bytes);
	mprotect(to, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(to, (char *)to + bytes);
	return (call_fn *)(uintptr_t)to;
}

static call_fn *jit_fp, *jit_fp_large;

static NOINLINE void through_jit(struct chain *c)
{
	through(c, jit_fp, ASM_FP_RA);
}

static NOINLINE void through_jit_large(struct chain *c)
{
	through(c, jit_fp_large, ASM_FP_LARGE_RA);
}

/* ---- the chain ------------------------------------------------------------------------------- */

static NOINLINE void end(struct chain *c)
{
	/* not on the stack: there it could be taken for frames */
	static uint64_t pcs[UNTOLD_DEPTH + 1];

	chain_note(c, __builtin_return_address(0));
	for (size_t i = 0; i < c->depth; i++)
		pcs[1 + i] = c->returns[c->depth - 1 - i];
	oracle_mark_known(pcs, c->depth + 1);
	c->depth--;
}

static const struct {
	const char *name;
	link_fn *link;
} links[] = {
	{"told", told},
	{"told_large", told_large},
	{"told_fp", told_fp},
	{"fp", untold_fp_small},
	{"fp_large", untold_fp_large},
	{"bare", untold_bare_small},
	{"bare_large", untold_bare_large},
	{"asm_told", through_told},
	{"asm_fp", through_fp},
	{"asm_fp_large", through_fp_large},
	{"asm_bare", through_bare},
	{"asm_wild", through_wild},
	{"astray_number", astray_number},
	{"astray_huge", astray_huge},
	{"astray_heap", astray_heap},
	{"astray_stack", astray_stack},
	{"astray_data", astray_data},
	{"astray_text", astray_text},
	{"astray_function", astray_function},
	{"astray_own", astray_own},
	{"jit", through_jit},
	{"jit_large", through_jit_large},
};

static link_fn *find_link(const char *name)
{
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (strcmp(links[i].name, name) == 0)
			return links[i].link;
	exit(2);
}

/* The frames beyond this one are the oracle's to find. */
static NOINLINE void run(link_fn *const *chain_links)
{
	static struct chain c;
	static uint64_t outer[UNTOLD_DEPTH];
	size_t count = oracle_take(outer, UNTOLD_DEPTH);

	c.next = chain_links;
	c.depth = 0;
	for (size_t i = count; i-- > 1;)
		c.returns[c.depth++] = outer[i];
	chain_go_on(&c);
}

int main(int argc, char **argv)
{
	link_fn *chosen[UNTOLD_DEPTH];
	int count = 0;

	heap_block = malloc(100);
	memset(heap_block, 0xe8, 100); /* as if calls were there */
	heap_block = (char *)heap_block + 50;
	jit_fp = copy_code((const void *)(uintptr_t)asm_fp, asm_fp_end);
	jit_fp_large = copy_code((const void *)(uintptr_t)asm_fp_large, asm_fp_large_end);
	for (int i = 1; i < argc; i++)
		chosen[count++] = find_link(argv[i]);
	chosen[count] = end;
	/* Chains of all lengths, so that frames of one are compared with those of another. */
	for (int round = 0; round < 3; round++)
		for (int first = 0; first <= count; first++)
			run(&chosen[first]);
	return 0;
}
