/* twin_target.h -- processes that do something while copies of them are made, and a look at one.
 * Runs: in test programs; who includes it has cmocka.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MIDDEN_TESTS_TWIN_TARGET_H
#define MIDDEN_TESTS_TWIN_TARGET_H

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/homing.h"
#include "collect/regions.h"
#include "collect/twin.h"

#define PATIENCE_MS   60000u
#define PATTERN_BYTES 65536u

/* What target and test have in common. */
struct common {
	_Atomic uint32_t ready;
	_Atomic uint32_t slept;
	_Atomic uint32_t word; /* to be changed when the target is to end */
	_Atomic uint32_t handled;
	_Atomic uint32_t interrupted;
	_Atomic uint32_t children;
	_Atomic int32_t grandchild;
	_Atomic uint32_t rounds;
};

static struct common *common;
static struct comeback way; /* of the target, which is this program; zero: it has none */
static pid_t undertaker;    /* of copies: 0, or this process */
static int pipe_ends[2];
static uint64_t *pattern;

/* ---- what targets do ------------------------------------------------------------------------- */

static inline bool read_once(void)
{
	char byte;

	return read(pipe_ends[0], &byte, 1) == 1;
}

static inline bool poll_with_timeout(void)
{
	struct pollfd fd = {.fd = pipe_ends[0], .events = POLLIN};

	return poll(&fd, 1, (int)PATIENCE_MS) == 1;
}

/* Both hold as many values as there are registers, and must agree. */
static inline bool calculate(void)
{
	uint64_t a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	double x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	while (!atomic_load_explicit(&common->word, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&common->rounds, 1, memory_order_relaxed);
		for (unsigned i = 0; i < 8; i++) {
			a[i] = a[i] * UINT64_C(6364136223846793005) + a[(i + 1) % 8];
			x[i] = x[i] * 0.5 + x[(i + 1) % 8] * 0.25;
		}
		for (unsigned i = 0; i < 8; i++) {
			b[i] = b[i] * UINT64_C(6364136223846793005) + b[(i + 1) % 8];
			y[i] = y[i] * 0.5 + y[(i + 1) % 8] * 0.25;
		}
		if (memcmp(a, b, sizeof(a)) != 0 || memcmp(x, y, sizeof(x)) != 0)
			return false;
	}
	return true;
}

/* ---- starting and ending them ---------------------------------------------------------------- */

static inline int set_up(void **state)
{
	(void)state;
	way = homing_get();
	undertaker = 0;
	common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	pattern = mmap(NULL, PATTERN_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	return common == MAP_FAILED || pattern == MAP_FAILED || pipe(pipe_ends) ? -1 : 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	munmap(common, sizeof(*common));
	munmap(pattern, PATTERN_BYTES);
	(void)close(pipe_ends[0]);
	(void)close(pipe_ends[1]);
	return 0;
}

static inline char get_state(pid_t pid)
{
	char path[64], text[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	const char *end = strrchr(text, ')');
	return end && end[1] ? end[2] : '\0';
}

static inline void wait_until_asleep(pid_t pid)
{
	char seen = get_state(pid);

	for (unsigned i = 0; i < PATIENCE_MS && seen != 'S'; i++) {
		(void)usleep(1000);
		seen = get_state(pid);
	}
	assert_int_equal(seen, 'S');
}

static inline pid_t start(bool (*work)(void), void (*prepare)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		for (unsigned i = 0; i < PATTERN_BYTES / 8; i++)
			pattern[i] = i * 3;
		atomic_store(&common->ready, 1);
		_exit(work() ? 0 : 1);
	}
	assert_true(pid > 0);
	for (unsigned i = 0; i < PATIENCE_MS && !atomic_load(&common->ready); i++)
		(void)usleep(1000);
	return pid;
}

static inline void order_end(pid_t grandchild)
{
	atomic_store(&common->word, 1);
	(void)syscall(SYS_futex, &common->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	assert_int_equal(write(pipe_ends[1], "e", 1), 1);
	if (grandchild)
		(void)kill(grandchild, SIGTERM);
}

static inline void check_end(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- looking at them ------------------------------------------------------------------------- */

static inline bool has_pattern(pid_t pid)
{
	static uint64_t words[PATTERN_BYTES / 8];
	struct iovec local = {words, sizeof(words)}, remote = {pattern, sizeof(words)};

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(words))
		return false;
	for (unsigned i = 0; i < PATTERN_BYTES / 8; i++)
		if (words[i] != i * UINT64_C(3))
			return false;
	return true;
}

static inline void bury(struct twin *t, pid_t pid)
{
	for (unsigned i = 0; i < PATIENCE_MS && !twin_bury(t, pid); i++)
		(void)usleep(1000);
	assert_int_equal(t->dead, 0);
}

/* A target that is stopped, and its copy. */
struct scene {
	struct twin t;
	struct halt h;
	struct regions regions;
};

static inline struct scene stop_target_with(pid_t pid, struct resume *resume)
{
	struct scene s = {.t = {.way = way, .undertaker = undertaker}};
	struct error e = {0};

	s.h.resume = s.t.halt.resume = resume;
	assert_int_equal(regions_read(&s.regions, pid, &e), 0);
	(void)twin_prepare(&s.t, &s.regions, pid);
	assert_int_equal(halt_start(&s.h, pid, &e), 0);
	return s;
}

static inline struct scene stop_target(pid_t pid)
{
	return stop_target_with(pid, NULL);
}

/* Lets the target go. False: there can be no copy. */
static inline bool copy_target(struct scene *s, pid_t pid)
{
	bool made = twin_make(&s->t, &s->h, &s->regions, pid);

	halt_end(&s->h);
	return made;
}

static inline void bury_copy(struct scene *s, pid_t pid)
{
	twin_end(&s->t);
	bury(&s->t, pid);
}

static inline void leave_target(struct scene *s)
{
	assert_true(halt_settle(&s->h));
	halt_fini(&s->h);
	twin_fini(&s->t);
	regions_fini(&s->regions);
}

/* One copy, from its making to when nothing is left of it. `number` is a signal that comes while
 * the target is stopped, or 0. False: there can be no copy. */
static inline bool look(pid_t pid, int number)
{
	struct scene s = stop_target(pid);

	if (number)
		(void)kill(pid, number);
	bool made = copy_target(&s, pid);
	if (made) {
		pid_t copy = s.t.pid;

		twin_settle(&s.t);
		assert_true(twin_is_alive(&s.t));
		assert_true(has_pattern(copy));
		bury_copy(&s, pid);
		/* Nobody knows when init gets to what an ended target leaves to it. */
		for (unsigned i = 0; i < PATIENCE_MS && get_state(copy) && get_state(pid) != 'Z';
		     i++)
			(void)usleep(1000);
		assert_true(get_state(copy) == 0 || get_state(pid) == 'Z');
	}
	leave_target(&s);
	return made;
}

#endif
