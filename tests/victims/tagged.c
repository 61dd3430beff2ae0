/* tagged.c -- allocates inside of tags, in as many ways as it has first arguments. Run by
 * tests/e2e/tags.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Heap: said at each function below. What is in no tag there is nowhere: the program itself
 * allocates nothing else. */
#include "truth.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "midden/midden.h"

static void *kept[4096];

static void *take(size_t bytes)
{
	return truth_malloc(bytes);
}

static void take_and_free(size_t bytes)
{
	truth_free(take(bytes), bytes);
}

static void visit(const char *name, size_t bytes)
{
	midden_tag_push(name);
	take(bytes);
	midden_tag_pop();
}

/* outer: 1,000 bytes; inner inside it, 10 times: 100 bytes, freed. note[0]: usable bytes of both */
static void nest(void)
{
	midden_tag_push("outer");
	truth_note(0, malloc_usable_size(take(1000)));
	for (int i = 0; i < 10; i++) {
		midden_tag_push("inner");
		void *block = take(100);
		truth_note(1, 10 * malloc_usable_size(block));
		truth_free(block, 100);
		midden_tag_pop();
	}
	midden_tag_pop();
}

/* many: 300 children child0 ..., each twice, child i with i + 1 bytes each time */
static void siblings(void)
{
	char name[32];

	midden_tag_push("many");
	for (int i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "child%d", i % 300);
		visit(name, (size_t)(i % 300) + 1);
	}
	midden_tag_pop();
}

/* Names of 5,000 letters that differ in the last one, twice each, 10 and 20 bytes; FooBar with 30,
 * then Foo with 40, then FooBarBaz with 50 */
static void names(void)
{
	static char name[5001];

	memset(name, 'x', 4999);
	for (int i = 0; i < 4; i++) {
		name[4999] = (char)('a' + i % 2);
		visit(name, i % 2 ? 20 : 10);
	}
	visit("FooBar", 30);
	visit("Foo", 40);
	visit("FooBarBaz", 50);
	midden_tag_push_method("Foo", "Bar");
	take(60);
	midden_tag_pop();
	midden_tag_push_method("Foo", "Bar");
	take(60);
	midden_tag_pop();
	visit(NULL, 70);
}

/* 2,000 tags inside one another, "level 0" and so on; 5 bytes in the innermost */
static void deep(void)
{
	char name[32];

	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "level %d", i);
		midden_tag_push(name);
	}
	take(5);
	for (int i = 0; i < 2000; i++)
		midden_tag_pop();
}

static void *work(void *number)
{
	truth_use((uint64_t)(uintptr_t)number);
	if ((uintptr_t)number % 2)
		(void)pthread_setname_np(pthread_self(), "odd one");
	visit("work", 64);
	return NULL;
}

/* 300 threads, one after another: work with 64 bytes each */
static void threads(void)
{
	pthread_t thread;

	for (uintptr_t i = 1; i <= 300; i++) {
		truth_expect(pthread_create(&thread, NULL, work, (void *)i) == 0);
		truth_expect(pthread_join(thread, NULL) == 0);
	}
}

/* resize: 100 bytes, to 1,000, to 50, freed; one that fails. note[0]: usable bytes of all three */
static void resize(void)
{
	midden_tag_push("resize");
	void *block = take(100);
	uint64_t usable = malloc_usable_size(block);
	block = truth_realloc(block, 100, 1000);
	usable += malloc_usable_size(block);
	truth_expect(truth_realloc(block, 1000, (size_t)-1 / 2) == NULL);
	block = truth_realloc(block, 1000, 50);
	truth_note(0, usable + malloc_usable_size(block));
	truth_free(block, 50);
	midden_tag_pop();
}

/* failing: 1,000 times 100 bytes, freed, so that the allocator is trusted; 10 calls that fail */
static void failing(void)
{
	midden_tag_push("failing");
	for (int i = 0; i < 1000; i++)
		truth_free(take(100), 100);
	for (int i = 0; i < 10; i++)
		truth_expect(take((size_t)-1 / 2 - (size_t)i) == NULL);
	midden_tag_pop();
}

/* aligned: 100 bytes by each of five functions, all freed; calloc apart: 10 times 10 bytes */
static void aligned(void)
{
	void *block = NULL;

	midden_tag_push("aligned");
	truth_free(truth_got(memalign(64, 100), 100), 100);
	truth_free(truth_got(aligned_alloc(64, 100), 100), 100);
	truth_free(truth_got(valloc(100), 100), 100);
	truth_expect(posix_memalign(&block, 4096, 100) == 0);
	truth_free(truth_got(block, 100), 100);
	truth_free(truth_got(memalign(1 << 20, 100), 100), 100);
	midden_tag_pop();
	midden_tag_push("calloc");
	truth_free(truth_got(calloc(10, 10), 100), 100);
	midden_tag_pop();
}

/* open: 10 bytes; never left. Before that, three pops of nothing */
static void unbalanced(void)
{
	for (int i = 0; i < 3; i++)
		midden_tag_pop();
	midden_tag_push("open");
	take(10);
}

static jmp_buf out;

static void jump_out(void)
{
	midden_tag_push("inside");
	midden_tag_push("further");
	take(20);
	longjmp(out, 1);
}

/* around/inside/further: 20 bytes, left by longjmp; then after: 30 bytes */
static void jump(void)
{
	volatile uint64_t around = midden_tag_push("around");

	if (setjmp(out) == 0)
		jump_out();
	midden_tag_leave(around);
	visit("after", 30);
	midden_tag_leave(around);
}

/* outer/before: in the parent 100 bytes, then a child that takes 200 in it, 300 in child inside
 * it and 400 in outer */
static void split(void)
{
	midden_tag_push("outer");
	uint64_t handle = midden_tag_push("before");
	take(100);
	pid_t child = fork();
	if (child == 0) {
		free(malloc(200));
		midden_tag_push("child");
		free(malloc(300));
		midden_tag_pop();
		midden_tag_leave(handle);
		free(malloc(400));
		midden_tag_pop();
		_exit(0);
	}
	truth_expect(waitpid(child, NULL, 0) == child);
	midden_tag_leave(handle);
	midden_tag_pop();
}

/* last: 1,000 blocks of 100 bytes, then SIGKILL */
static void killed(void)
{
	midden_tag_push("last");
	for (int i = 0; i < 1000; i++)
		kept[i] = take(100);
	raise(SIGKILL);
}

/* step: 100 bytes; snapshot "one"; 200 bytes; snapshot "two"; 400 bytes */
static void moments(void)
{
	midden_tag_push("step");
	take(100);
	midden_snapshot("one");
	take(200);
	midden_snapshot("two");
	take(400);
	midden_tag_pop();
}

static void handle(int signal)
{
	(void)signal;
	visit("handler", 10);
}

/* main/handler: 100 times 10 bytes, in a signal handler; main: 100 times 20 bytes, freed */
static void interrupted(void)
{
	(void)signal(SIGUSR1, handle);
	midden_tag_push("main");
	for (int i = 0; i < 100; i++) {
		take_and_free(20);
		raise(SIGUSR1);
	}
	midden_tag_pop();
}

static uint64_t handed_on;

static void *adopt(void *unused)
{
	(void)unused;
	truth_use(1);
	uint64_t before = midden_tag_adopt(handed_on);
	truth_note(0, before);
	take(500);
	visit("inner", 600);
	midden_tag_adopt(before);
	take(700);
	truth_note(1, midden_tag_adopt(12345)); /* no handle */
	take(800);
	return NULL;
}

/* A thread adopts request/parse of the main one: 500 bytes there, 600 in inner inside it, then 700
 * and 800 in no tag */
static void handing_on(void)
{
	pthread_t thread;

	midden_tag_push("request");
	midden_tag_push("parse");
	handed_on = midden_tag_current();
	truth_expect(pthread_create(&thread, NULL, adopt, NULL) == 0);
	truth_expect(pthread_join(thread, NULL) == 0);
	midden_tag_pop();
	midden_tag_pop();
	truth_note(2, midden_tag_current());
}

/* maker: 3 blocks of 100 bytes; breaker: frees two of them; 1 block of 50 in no tag */
static void crossing(void)
{
	midden_tag_push("maker");
	for (int i = 0; i < 3; i++)
		kept[i] = take(100);
	midden_tag_pop();
	midden_tag_push("breaker");
	truth_free(kept[0], 100);
	truth_free(kept[1], 100);
	midden_tag_pop();
	kept[0] = take(50);
}

/* C's scope: block: 10 bytes; then 20 bytes outside of it */
static void block_scope(void)
{
	{
		MIDDEN_TAG("block");
		take(10);
	}
	take(20);
}

/* busy: a million times 48 bytes, freed, in ten tags in turn */
static void busy(void)
{
	static const char *const tags[10] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

	for (int i = 0; i < 1000000; i++) {
		midden_tag_push(tags[i % 10]);
		take_and_free(48);
		midden_tag_pop();
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"nest", nest},
		    {"siblings", siblings},
		    {"names", names},
		    {"deep", deep},
		    {"threads", threads},
		    {"resize", resize},
		    {"failing", failing},
		    {"aligned", aligned},
		    {"unbalanced", unbalanced},
		    {"jump", jump},
		    {"split", split},
		    {"killed", killed},
		    {"moments", moments},
		    {"interrupted", interrupted},
		    {"handing_on", handing_on},
		    {"block_scope", block_scope},
		    {"crossing", crossing},
		    {"busy", busy}};

	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run();
			return 0;
		}
	return 99;
}
