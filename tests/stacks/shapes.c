/* shapes.c -- random walks through functions of many shapes and builds.
 * Runs: under midden, by tests/e2e/stacks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: shapes ROUNDS THREADS FEATURES [LIBRARY...]
 *
 * Each round is one walk; a few seeds come again and again between others, so that stacks are met
 * anew with other ones in between. The functions are those of shapes_set.c: as linked here, or as
 * they are in the libraries named, all mixed. FEATURES adds ways on: s through a signal handler, a
 * through one on an alternate stack, c through a coroutine on a stack of its own; - for none. */
#include "shapes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SHAPES_MOST 4096
#define SEEDS	    9
#define DEPTH	    36
#define VISITS	    120
#define STACK_BYTES (UINT64_C(2) << 20) /* more than any walk needs */
#define STACKS_MOST 4

static shape_fn *all[SHAPES_MOST];
static unsigned all_count;
static unsigned rounds;
static int alone;
static const char *features;

static __thread char *stacks[STACKS_MOST];
static __thread ucontext_t contexts[STACKS_MOST][2];
static __thread struct trip *passing;

__attribute__((noinline)) void trip_noise(size_t bytes)
{
	void *volatile block = malloc(bytes);

	free(block);
}

/* ---- signals --------------------------------------------------------------------------------- */

static void on_signal(int signal)
{
	struct trip *t = passing;

	(void)signal;
	passing = NULL;
	if (t)
		trip_onward(t);
}

static void raises(struct trip *t)
{
	passing = t;
	raise(SIGUSR1);
	oracle_mark();
}

/* The kernel starts at the top of the alternate stack again if a coroutine was between. */
static void raises_elsewhere(struct trip *t)
{
	if (t->signal_stacks > 0) {
		trip_onward(t);
		return;
	}
	t->signal_stacks++;
	passing = t;
	raise(SIGUSR2);
	t->signal_stacks--;
	oracle_mark();
}

/* Nothing is blocked in a handler: walks go on through further signals, or leave by longjmp. */
static void handle_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};

	sigaction(SIGUSR1, &action, NULL);
	action.sa_flags |= SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
}

static void use_alternate_stack(void)
{
	stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};

	sigaltstack(&stack, NULL);
}

/* ---- coroutines ------------------------------------------------------------------------------ */

/* Half of the stacks are mapped, half are blocks of the heap. */
static char *make_stack(unsigned i)
{
	if (i % 2)
		return malloc(STACK_BYTES);
	return mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void coroutine(void)
{
	trip_onward(passing);
}

static void switches(struct trip *t)
{
	unsigned i = t->stacks;

	if (i == STACKS_MOST)
		return;
	if (!stacks[i])
		stacks[i] = make_stack(i);
	t->stacks++;
	passing = t;
	getcontext(&contexts[i][1]);
	contexts[i][1].uc_stack.ss_sp = stacks[i];
	contexts[i][1].uc_stack.ss_size = STACK_BYTES;
	contexts[i][1].uc_link = &contexts[i][0];
	makecontext(&contexts[i][1], coroutine, 0);
	swapcontext(&contexts[i][0], &contexts[i][1]);
	t->stacks--;
	oracle_mark();
}

/* ---- the walks ------------------------------------------------------------------------------- */

static void add_set(struct shapes_set set)
{
	for (unsigned i = 0; i < set.count && all_count < SHAPES_MOST; i++)
		all[all_count++] = set.shapes[i];
}

static void add_library(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	shapes_get_fn *get =
		handle ? (shapes_get_fn *)(uintptr_t)dlsym(handle, "shapes_get") : NULL;

	if (!get) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	add_set(get());
}

/* Each feature counts as much as the others together would in a small set. */
static void add_features(void)
{
	static shape_fn *const ways[] = {raises, raises_elsewhere, switches};
	const char *letters = "sac";

	for (unsigned i = 0; i < 3; i++)
		for (unsigned n = 0; strchr(features, letters[i]) && n < 1 + all_count / 40; n++)
			add_set((struct shapes_set){.shapes = &ways[i], .count = 1});
}

static void *walk(void *argument)
{
	uint64_t thread = (uint64_t)(uintptr_t)argument;

	use_alternate_stack();
	for (uint64_t round = 0; round < rounds; round++) {
		/* Two rounds in three repeat one of a few; the third is new. */
		uint64_t seed = round % 3 == 2 ? 1000 + round : round * 7 % SEEDS;
		struct trip t = {.random = seed * 77 + thread * 99991 + 5,
				 .left = DEPTH,
				 .visits = VISITS,
				 .all = all,
				 .count = all_count,
				 .alone = alone};

		trip_onward(&t);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[16];
	unsigned thread_count = argc > 3 ? (unsigned)atoi(argv[2]) : 17;

	if (thread_count > 16)
		return 2;
	rounds = (unsigned)atoi(argv[1]);
	alone = thread_count == 1;
	features = argv[3];
	if (argc == 4)
		add_set(shapes_get());
	for (int i = 4; i < argc; i++)
		add_library(argv[i]);
	add_features();
	handle_signals();
	for (uint64_t i = 1; i < thread_count; i++)
		pthread_create(&threads[i], NULL, walk, (void *)(uintptr_t)i);
	walk(NULL);
	for (unsigned i = 1; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
