/* paths.c -- the stacks from under which blocks are asked for and given back.
 * Runs: any thread of the torture program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A path does something to the stack and goes on to another path, at most DEPTH_MOST deep, the last
 * of which acts on a block. */
#include "torture.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#define DEPTH_MOST  3
#define COROUTINES  8u
#define STACK_BYTES (256u << 10)

/* ---- recursion ------------------------------------------------------------------------------- */

static void descend_plainly(struct worker *me, unsigned depth, sigjmp_buf *out);

/* A frame of changing size, which is found by the frame pointer alone. */
static __attribute__((noinline)) void descend_widely(struct worker *me, unsigned depth,
						     sigjmp_buf *out)
{
	volatile char *room = alloca(1 + chance_below(&me->chance, 700));

	room[0] = (char)depth;
	descend_plainly(me, depth, out);
	me->spared += (unsigned char)room[0];
}

static __attribute__((noinline)) void descend_plainly(struct worker *me, unsigned depth,
						      sigjmp_buf *out)
{
	if (depth == 0) {
		paths_act(me);
		if (out)
			siglongjmp(*out, 1);
	} else if (chance_below(&me->chance, 3) == 0) {
		descend_widely(me, depth - 1, out);
	} else {
		descend_plainly(me, depth - 1, out);
	}
	me->spared++;
}

static void path_recursion(struct worker *me)
{
	descend_plainly(me, (unsigned)chance_below(&me->chance, 60), NULL);
}

static void path_jump(struct worker *me)
{
	sigjmp_buf here;
	int depth = me->depth;

	if (sigsetjmp(here, 0) == 0)
		descend_plainly(me, (unsigned)chance_below(&me->chance, 30), &here);
	me->depth = depth;
	paths_act(me);
}

/* ---- signals --------------------------------------------------------------------------------- */

static __thread sigjmp_buf *jump_out;

/* Interrupts anything; allocates only where the thread said that it is outside of the allocator. */
static void on_signal(int signal)
{
	struct worker *me = worker_get();
	int saved = errno, outside;

	if (!me || (!me->outside && !habits.anywhere))
		return;
	outside = me->outside;
	me->outside = 0;
	count_begin(&account_image->handled, 1);
	blocks_act(&me->in_handler);
	count_end(&account_image->handled, 1);
	if (jump_out && (signal == SIGUSR2 || me->jumpable))
		siglongjmp(*jump_out, 1);
	me->outside = outside;
	errno = saved;
}

static void raise_here(struct worker *me, int signal)
{
	me->outside = 1;
	(void)pthread_kill(pthread_self(), signal);
	me->outside = 0;
}

static void path_signal(struct worker *me)
{
	raise_here(me, SIGUSR1);
	paths_act(me);
}

static void path_jump_from_handler(struct worker *me)
{
	sigjmp_buf here, *before = jump_out;

	if (sigsetjmp(here, 1) == 0) {
		jump_out = &here;
		raise_here(me, SIGUSR2);
	}
	me->outside = 0;
	jump_out = before;
	paths_act(me);
}

/* Out of whatever the timer interrupts, midden's hooks among it; what was begun is never done. Not
 * on a coroutine's stack: there nobody can tell a hook that is gone from one that waits. */
static void path_jump_from_anywhere(struct worker *me)
{
	sigjmp_buf here, *before = jump_out;

	if (habits.jumping && !before && !me->coroutines && sigsetjmp(here, 1) == 0) {
		jump_out = &here;
		me->jumpable = 1;
		for (int i = 0; i < 300; i++)
			blocks_act(&me->chance);
	}
	me->jumpable = 0;
	jump_out = before;
	me->outside = 0;
	blocks_act(&me->chance);
}

static void set_timer(long microseconds)
{
	struct itimerval every = {{0, microseconds}, {0, microseconds}};

	(void)setitimer(ITIMER_REAL, &every, NULL);
}

void paths_arm(struct worker *me)
{
	set_timer(habits.anywhere || chance_below(&me->chance, 2)
			  ? 200 + (long)chance_below(&me->chance, 2000)
			  : 0);
}

void paths_disarm(void)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN};

	/* A timer and what it has sent already outlive an exec. */
	set_timer(0);
	(void)sigaction(SIGALRM, &ignored, NULL);
}

static bool catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	const int signals[] = {SIGUSR1, SIGUSR2, SIGALRM};

	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (sigaction(signals[i], &action, NULL) != 0)
			return false;
	}
	return true;
}

/* ---- coroutines ------------------------------------------------------------------------------ */

struct coroutine {
	atomic_flag taken;
	bool started;
	ucontext_t own, back;
	void *stack;
};

static struct coroutine coroutines[COROUTINES];

static void yield(struct coroutine *self)
{
	(void)swapcontext(&self->own, &self->back);
}

/* Yields from the depth too, so that it comes back with frames of before below it, maybe on
 * another thread. */
static __attribute__((noinline)) void act_and_yield(struct coroutine *self, unsigned depth)
{
	paths_act(worker_get());
	yield(self);
	if (depth)
		act_and_yield(self, depth - 1);
	paths_act(worker_get());
	__asm__ volatile("" : : : "memory");
}

static void coroutine_main(unsigned index)
{
	for (;;) {
		struct coroutine *self = &coroutines[index];

		act_and_yield(self, (unsigned)chance_below(&worker_get()->chance, 5));
		yield(self);
	}
}

static void start_coroutine(struct coroutine *c)
{
	(void)getcontext(&c->own);
	c->own.uc_stack.ss_sp = c->stack;
	c->own.uc_stack.ss_size = STACK_BYTES;
	c->own.uc_link = NULL;
	makecontext(&c->own, (void (*)(void))coroutine_main, 1, (unsigned)(c - coroutines));
	c->started = true;
}

static void path_coroutine(struct worker *me)
{
	struct coroutine *c = &coroutines[chance_below(&me->chance, COROUTINES)];
	int depth = me->depth;

	if (atomic_flag_test_and_set_explicit(&c->taken, memory_order_acquire))
		return;
	if (!c->started)
		start_coroutine(c);
	me->coroutines++;
	(void)swapcontext(&c->back, &c->own);
	me->coroutines--;
	atomic_flag_clear_explicit(&c->taken, memory_order_release);
	me->depth = depth;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void path_exception(struct worker *me)
{
	int depth = me->depth;

	if (!habits.calm)
		paths_throw((unsigned)chance_below(&me->chance, 12));
	me->depth = depth;
}

static void path_straight(struct worker *me)
{
	blocks_act(&me->chance);
}

static void (*const paths[])(struct worker *me) = {
	path_straight,	path_straight,	path_straight,		path_recursion,
	path_recursion, path_jump,	path_jump_from_handler, path_jump_from_anywhere,
	path_signal,	path_coroutine, path_coroutine,		path_exception};

void paths_act(struct worker *me)
{
	if (me->depth >= DEPTH_MOST) {
		blocks_act(&me->chance);
		return;
	}
	me->depth++;
	paths[chance_below(&me->chance, sizeof(paths) / sizeof(paths[0]))](me);
	me->depth--;
}

bool paths_open(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK;

	for (unsigned i = 0; i < COROUTINES; i++) {
		void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);

		if (stack == MAP_FAILED)
			return false;
		coroutines[i].stack = stack;
	}
	return catch_signals();
}
