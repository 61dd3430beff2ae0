/* lost_shapes.c -- blocks that are lost, or held, in every way that a checker tells apart.
 * Run by tests/e2e/leaks, which has the table of what becomes of each; built with and without
 * LeakSanitizer.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All blocks are made by block() in a function of their own, shape_NAME, and none is freed but
 * where it says so. Then the program calls exit() with status 7; with an argument it first says
 * "ready" and waits for a line. With "only" and a name there is that shape alone (and main_stack);
 * "threads" are all that threads have. Nothing else allocates but what libc does for threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define SHAPE __attribute__((noinline)) static

struct node {
	struct node *next;
	struct node *other;
};

__attribute__((noinline)) static void *block(size_t bytes)
{
	void *volatile made = malloc(bytes);

	return memset(made, 0, bytes);
}

/* Overwrites what calls have left below. */
__attribute__((noinline)) static void scrub(void)
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

/* ---- held by variables ----------------------------------------------------------------------- */

static void *zeroed_global;
static void *filled_global = &zeroed_global;
static void *slots[8];
static uintptr_t number;
static struct node *held_list, *held_circle, *middle, *held_tree;
static void *both[2];

SHAPE void shape_zeroed_global(void)
{
	zeroed_global = block(64);
}
SHAPE void shape_filled_global(void)
{
	filled_global = block(64);
}
SHAPE void shape_number(void)
{
	number = (uintptr_t)block(64);
}
SHAPE void shape_zero_bytes(void)
{
	slots[0] = block(0);
}

SHAPE void shape_static_local(void)
{
	static void *kept;

	kept = block(64);
	(void)kept;
}

SHAPE void shape_held_list(void)
{
	for (int i = 0; i < 5; i++) {
		struct node *n = block(64);

		n->next = held_list;
		held_list = n;
	}
}

SHAPE void shape_long_list(void)
{
	static struct node *list;

	for (int i = 0; i < 1000; i++) {
		struct node *n = block(32);

		n->next = list;
		list = n;
	}
}

SHAPE void shape_held_circle(void)
{
	held_circle = block(64);
	held_circle->next = block(128);
	held_circle->next->next = held_circle;
}

SHAPE void shape_held_from_the_middle(void)
{
	struct node *a = block(64), *b = block(128), *c = block(256);

	a->next = b, b->next = c;
	c->other = b, b->other = a;
	middle = b;
}

SHAPE struct node *grow(int depth)
{
	struct node *n = block(64);

	if (depth) {
		n->next = grow(depth - 1);
		n->other = grow(depth - 1);
	}
	return n;
}

SHAPE void shape_held_tree(void)
{
	held_tree = grow(4);
}
SHAPE void shape_start_and_inside(void)
{
	both[0] = block(64), both[1] = (char *)both[0] + 16;
}

SHAPE void shape_big_holder(void)
{
	void **big = block(4 << 20);

	big[400000] = block(64);
	slots[1] = big;
}

SHAPE void shape_environment(void)
{
	char *text = block(64);

	strcpy(text, "LOST_SHAPES=1");
	putenv(text);
}

/* ---- held by their inside -------------------------------------------------------------------- */

static char *inside, *inside_of_chain;
static char ***over_start;

SHAPE void shape_inside(void)
{
	inside = (char *)block(64) + 16;
}

SHAPE void shape_inside_over_a_block(void)
{
	over_start = block(64);
	over_start[1] = (char **)((char *)block(128) + 32);
}

SHAPE void shape_behind_an_inside(void)
{
	struct node *a = block(64);

	a->next = block(128);
	a->next->next = block(256);
	inside_of_chain = (char *)a + 24;
}

/* ---- lost ------------------------------------------------------------------------------------ */

static uintptr_t hidden;
static char *past_end; /* where no allocator has another block */
static struct {
	char first;
	void *unaligned;
} __attribute__((packed, aligned(8))) packed;
static void *overwritten, *freed_holder;

SHAPE void shape_lost(void)
{
	block(64);
}
SHAPE void shape_overwritten(void)
{
	overwritten = block(64), overwritten = block(128);
}
SHAPE void shape_hidden(void)
{
	hidden = (uintptr_t)block(64) ^ 0x5555555555555555u;
}
SHAPE void shape_past_its_end(void)
{
	past_end = (char *)block(100) + 100;
}
SHAPE void shape_unaligned(void)
{
	packed.unaligned = block(64);
}
SHAPE void shape_lost_zero_bytes(void)
{
	block(0);
}
SHAPE void shape_lost_big(void)
{
	block(1 << 20);
}

SHAPE void shape_lost_list(void)
{
	struct node *n = block(64);

	n->next = block(128);
	n->next->next = block(256);
}

SHAPE void shape_lost_tree(void)
{
	grow(3);
}

SHAPE void shape_lost_circle(void)
{
	struct node *a = block(64), *b = block(64), *c = block(64);

	a->next = b, b->next = c, c->next = a;
}

SHAPE void shape_lost_into_circle(void)
{
	struct node *a = block(64), *b = block(64), *head = block(128);

	a->next = b, b->next = a;
	head->next = a;
}

SHAPE void shape_points_to_itself(void)
{
	struct node *n = block(64);

	n->next = n;
}

SHAPE void shape_two_share_one(void)
{
	struct node *a = block(64), *b = block(64);

	a->next = b->next = block(128);
}

SHAPE void shape_lost_inside(void)
{
	struct node *a = block(64);

	a->next = (struct node *)((char *)block(128) + 16);
}

/* The holder is freed, and what it held with it is not. No other block is of its size: none comes
 * to lie there. */
SHAPE void shape_holder_freed(void)
{
	struct node *a = malloc(700);

	a->other = block(128);
	freed_holder = a;
	free(a);
}

SHAPE void shape_lost_by_realloc(void)
{
	struct node *a = malloc(16);

	a->next = block(64);
	a = realloc(a, 4096);
	a->next = block(128);
	free(a);
}

SHAPE void deeper(int depth)
{
	void *volatile here = block(64);
	volatile char room[256];

	room[0] = (char)depth;
	if (depth > 0)
		deeper(depth - 1);
	(void)here;
	(void)room;
}

SHAPE void shape_dead_frames(void)
{
	deeper(3);
}

/* ---- threads --------------------------------------------------------------------------------- */

static __thread void *local;
static pthread_key_t key;
static pthread_barrier_t ready;

SHAPE void shape_main_local(void)
{
	local = block(64);
}

SHAPE void shape_thread_local(void)
{
	local = block(64);
}
SHAPE void shape_thread_specific(void)
{
	pthread_setspecific(key, block(64));
}
SHAPE void *shape_thread_stack(void)
{
	return block(64);
}
SHAPE void *shape_thread_register(void)
{
	return block(64);
}
SHAPE void *shape_thread_vector(void)
{
	return block(64);
}

/* As functions do that use vector registers, and of which none is left when they return. */
SHAPE void leave_in_vector(void)
{
	void *volatile made = shape_thread_vector();

#if defined(__x86_64__)
	__asm__ volatile("movq %0, %%xmm9" : : "m"(made) : "xmm9");
#elif defined(__aarch64__)
	__asm__ volatile("ldr d21, %0" : : "m"(made) : "v21");
#endif
	made = NULL;
}

static void *live_thread(void *unused)
{
	(void)unused;
	shape_thread_local();
	shape_thread_specific();
	void *volatile here = shape_thread_stack();
	leave_in_vector();
	scrub();
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return here;
}

static volatile int in_register;

/* The pointer is in a register that calls keep, and nowhere else: waits in a system call. */
static void *register_thread(void *unused)
{
	(void)unused;
	void *made = shape_thread_register();

	scrub();
	pthread_barrier_wait(&ready);
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%r12\n\tmovq $0, %0\n\tmovl $1, %1\n"
			 "1:\tmov $34, %%eax\n\tsyscall\n\tjmp 1b"
			 : "+m"(made), "=m"(in_register)
			 :
			 : "r12", "rax", "rcx", "r11", "memory");
#elif defined(__aarch64__)
	__asm__ volatile("ldr x20, %0\n\tstr xzr, %0\n\tmov w0, #1\n\tstr w0, %1\n"
			 "1:\tmov x0, #0\n\tmov x1, #0\n\tmov x2, #0\n\tmov x3, #0\n\t"
			 "mov x4, #0\n\tmov x8, #73\n\tsvc #0\n\tb 1b"
			 : "+m"(made), "=m"(in_register)
			 :
			 : "x0", "x1", "x2", "x3", "x4", "x8", "x20", "memory");
#endif
	return made;
}

SHAPE void shape_ended_thread(void)
{
	local = block(64);
}

static void *ended_thread(void *unused)
{
	shape_ended_thread();
	return unused;
}

/* ---- elsewhere ------------------------------------------------------------------------------- */

static void **mapped;
static ucontext_t here, there;

SHAPE void shape_mapped(void)
{
	mapped[3] = block(64);
}
/* Where libc could have an arena, which begins at such an address. */
SHAPE void shape_mapped_at_64_mib(void)
{
	const size_t mib_64 = (size_t)64 << 20;
	char *room = mmap(NULL, 2 * mib_64, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			  -1, 0);
	void **at = (void **)(((uintptr_t)room + mib_64 - 1) / mib_64 * mib_64);

	mprotect(at, 65536, PROT_READ | PROT_WRITE);
	at[0] = at[5] = block(64);
}
SHAPE void *shape_coroutine(void)
{
	return block(64);
}
SHAPE void *shape_coroutine_stack(void)
{
	return block(65536);
}

static void coroutine(void)
{
	void *volatile kept = shape_coroutine();

	swapcontext(&there, &here);
	(void)kept;
}

static void run_coroutine(void)
{
	getcontext(&there);
	there.uc_stack.ss_sp = shape_coroutine_stack();
	there.uc_stack.ss_size = 65536;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
}

SHAPE void *shape_main_stack(void)
{
	return block(64);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void start_threads(void)
{
	pthread_t thread;

	pthread_key_create(&key, NULL);
	pthread_barrier_init(&ready, NULL, 3);
	pthread_create(&thread, NULL, ended_thread, NULL);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, live_thread, NULL);
	pthread_create(&thread, NULL, register_thread, NULL);
	pthread_barrier_wait(&ready);
	while (!in_register)
		usleep(1000);
}

#define ROW(name)                   \
	{                           \
#name, shape_##name \
	}

static const struct {
	const char *name;
	void (*make)(void);
} shapes[] = {
	ROW(zeroed_global),
	ROW(filled_global),
	ROW(number),
	ROW(zero_bytes),
	ROW(static_local),
	ROW(held_list),
	ROW(long_list),
	ROW(held_circle),
	ROW(held_from_the_middle),
	ROW(held_tree),
	ROW(start_and_inside),
	ROW(big_holder),
	ROW(environment),
	ROW(inside),
	ROW(inside_over_a_block),
	ROW(behind_an_inside),
	ROW(lost),
	ROW(overwritten),
	ROW(hidden),
	ROW(past_its_end),
	ROW(unaligned),
	ROW(lost_zero_bytes),
	ROW(lost_big),
	ROW(lost_list),
	ROW(lost_tree),
	ROW(lost_circle),
	ROW(lost_into_circle),
	ROW(points_to_itself),
	ROW(two_share_one),
	ROW(lost_inside),
	ROW(holder_freed),
	ROW(lost_by_realloc),
	ROW(dead_frames),
	ROW(main_local),
	ROW(mapped),
	ROW(mapped_at_64_mib),
	{"coroutine", run_coroutine},
	{"threads", start_threads},
};

int main(int argc, char **argv)
{
	const char *only = argc > 2 ? argv[2] : NULL;
	char line[16];
	void *volatile kept = shape_main_stack();

	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (only && strcmp(only, shapes[i].name) != 0)
			continue;
		shapes[i].make();
		scrub();
	}
	if (argc == 2 &&
	    (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, line, sizeof(line)) < 0))
		return 1;
	exit(7);
	return kept != NULL;
}
