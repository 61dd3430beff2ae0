/* namer_test.c -- profiles get their names one after the other, in another process.
 * Runs: as a unit test of the cli room.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cli/namer.h"
#include "profile/profile.h"

static char directory[] = "/tmp/midden-namer-XXXXXX";

static void enter(void *context)
{
	(void)context;
}

static void be_killed(void *context)
{
	(void)context;
	(void)raise(SIGKILL);
}

static const char *path_of(const char *name)
{
	static char path[4][128];
	static unsigned next;
	char *at = path[next++ % 4];

	(void)snprintf(at, sizeof(path[0]), "%s/%s", directory, name);
	return at;
}

static const char *make_profile(const char *name)
{
	const char *path = path_of(name);
	struct profile *p = profile_new();
	struct error e = {0};

	assert_int_equal(profile_write(p, path, &e), 0);
	profile_free(p);
	return path;
}

static bool is_resolved(const char *path)
{
	struct error e = {0};
	struct profile *p = profile_read(path, &e);

	assert_non_null(p);
	bool resolved = p->resolved;
	profile_free(p);
	return resolved;
}

/* Until it has nothing more to do, and its process is gone. */
static void finish(struct namer *n)
{
	int status;

	namer_hurry(n);
	while (namer_get_fd(n) >= 0) {
		struct pollfd ready = {.fd = namer_get_fd(n), .events = POLLIN};

		assert_int_equal(poll(&ready, 1, 60000), 1);
		namer_take(n);
		if (namer_is_done(n))
			break;
	}
	namer_fini(n);
	while (waitpid(-1, &status, 0) > 0)
		;
}

static void every_profile_gets_its_names(void **state)
{
	struct namer n = {.enter = enter};
	const char *a = make_profile("a.mdn"), *b = make_profile("b.mdn");

	(void)state;
	assert_false(is_resolved(a) || is_resolved(b));
	assert_true(namer_is_done(&n));
	namer_add(&n, a);
	namer_add(&n, path_of("missing.mdn"));
	namer_add(&n, b);
	assert_false(namer_is_done(&n));
	finish(&n);
	assert_true(is_resolved(a) && is_resolved(b));
	assert_int_equal(access(path_of("missing.mdn"), F_OK), -1);
}

static void a_file_that_is_no_profile_stays_as_it_is(void **state)
{
	struct namer n = {.enter = enter};
	int fd = open(path_of("text"), O_RDWR | O_CREAT, 0600);
	char text[8] = "";

	(void)state;
	assert_int_equal(write(fd, "hello", 5), 5);
	namer_add(&n, path_of("text"));
	finish(&n);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 5);
	assert_string_equal(text, "hello");
	close(fd);
}

static void given_one_that_dies_then_the_profile_is_left_and_the_others_are_tried(void **state)
{
	struct namer n = {.enter = be_killed};
	const char *a = make_profile("a.mdn"), *b = make_profile("b.mdn");

	(void)state;
	namer_add(&n, a);
	namer_add(&n, b);
	struct pollfd ready = {.fd = namer_get_fd(&n), .events = POLLIN};
	assert_int_equal(poll(&ready, 1, 60000), 1);
	n.enter = enter;
	namer_take(&n);
	finish(&n);
	assert_false(is_resolved(a));
	assert_true(is_resolved(b));
}

/* With addresses in several files, which are told one by one. */
static const char *make_large_profile(const char *name)
{
	static const char *const files[] = {"/none/a", "/none/b", "/none/c", "/none/d"};
	const char *path = path_of(name);
	struct profile *p = profile_new();
	struct error e = {0};

	for (uint32_t i = 0; i < 4; i++) {
		struct string_id id = profile_add_string(p, files[i]);

		*vec_push(&p->modules) = (struct profile_module){.path = id};
		*vec_push(&p->nodes) =
			(struct profile_node){.pc = 4711, .module = (uint32_t)p->modules.count - 1};
	}
	assert_int_equal(profile_write(p, path, &e), 0);
	profile_free(p);
	return path;
}

static void be_stopped(void *context)
{
	(void)context;
	(void)raise(SIGSTOP);
}

static void what_was_hardly_begun_when_it_became_urgent_is_begun_again_by_another(void **state)
{
	struct namer n = {.enter = be_stopped};
	const char *a = make_large_profile("a.mdn");

	(void)state;
	namer_add(&n, a);
	pid_t modest = n.pid;
	assert_int_equal(waitpid(modest, NULL, WUNTRACED), modest);
	n.enter = enter;
	namer_hurry(&n);
	assert_int_equal(kill(modest, SIGCONT), 0);
	assert_int_equal(waitpid(modest, NULL, 0), modest);
	assert_false(is_resolved(a));
	finish(&n);
	assert_true(is_resolved(a));
}

static void given_up_it_ends_what_it_is_at_and_says_what_is_left(void **state)
{
	struct namer n = {.enter = enter};
	const char *a = make_profile("a.mdn"), *b = make_profile("b.mdn");
	size_t done, total;

	(void)state;
	namer_add(&n, a);
	namer_add(&n, b);
	namer_get_progress(&n, &done, &total);
	assert_int_equal(total, 2000);
	assert_int_equal(namer_give_up(&n), 2); /* if nobody waits for a */
	finish(&n);
	assert_true(is_resolved(a));
	assert_false(is_resolved(b));
}

static int make_directory(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	for (const char *const *name = (const char *const[]){"a.mdn", "b.mdn", "text", NULL}; *name;
	     name++)
		(void)unlink(path_of(*name));
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_profile_gets_its_names),
		cmocka_unit_test(a_file_that_is_no_profile_stays_as_it_is),
		cmocka_unit_test(
			given_one_that_dies_then_the_profile_is_left_and_the_others_are_tried),
		cmocka_unit_test(
			what_was_hardly_begun_when_it_became_urgent_is_begun_again_by_another),
		cmocka_unit_test(given_up_it_ends_what_it_is_at_and_says_what_is_left),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
