/* write_test.c -- how a profile reaches its file, and what is left when it cannot.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int open_directory(void **state)
{
	struct fixture_file *f = mem_new(1, sizeof(*f));

	fixture_open_directory(f);
	*state = f;
	return 0;
}

static int close_directory(void **state)
{
	fixture_close_directory(*state);
	free(*state);
	return 0;
}

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void assert_ends_with(const char *text, const char *end)
{
	size_t n = strlen(text);

	assert_true(n >= strlen(end));
	assert_string_equal(text + n - strlen(end), end);
}

/* ---- what is written comes back -------------------------------------------------------------- */

static void assert_round_trip(const struct profile *p, const char *path)
{
	struct error e = {0};

	assert_int_equal(profile_check(p, &e), 0);
	assert_int_equal(profile_write(p, path, &e), 0);
	struct profile *q = profile_read(path, &e);
	if (!q)
		fail_msg("%s", e.text);
	fixture_assert_equal(p, q);
	profile_free(q);
}

static void a_rich_profile_comes_back_equal_in_every_field(void **state)
{
	static const struct fixture_size size = {40, 70000, 40000, 33000, 100, 500, 100000, 40000};
	const struct fixture_file *f = *state;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct profile *p = fixture_profile(seed, &size);
		assert_round_trip(p, f->path);
		profile_free(p);
	}
}

static void an_empty_profile_comes_back(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = profile_new();

	assert_round_trip(p, f->path);
	profile_free(p);
}

static void tables_at_the_edges_of_a_block_come_back(void **state)
{
	const struct fixture_file *f = *state;

	for (size_t edge = 32767; edge <= 32769; edge++) {
		struct fixture_size size = {2, edge, edge, edge, 2, 2, edge, 9};
		struct profile *p = fixture_profile(edge, &size);
		assert_round_trip(p, f->path);
		profile_free(p);
	}
}

static void a_long_string_table_comes_back(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = profile_new();
	char *text = mem_new(3000001, 1);

	memset(text, 'x', 3000000);
	p->run.command = profile_add_string(p, text);
	profile_add_string(p, text + 1);
	assert_round_trip(p, f->path);
	free(text);
	profile_free(p);
}

static void damage_noted_before_writing_is_still_known_after(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();

	p->damaged = true;
	strcpy(p->damage, "cut off at byte 17");
	assert_round_trip(p, f->path);
	profile_free(p);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void the_file_is_for_its_owner_only(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error e = {0};
	struct stat st;
	mode_t old = umask(0);

	assert_int_equal(profile_write(p, f->path, &e), 0);
	umask(old);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	profile_free(p);
}

static void an_existing_file_is_replaced_and_whoever_has_it_open_keeps_the_old_one(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error e = {0};
	char text[8] = {0};

	put_text(f->path, "old");
	int fd = open(f->path, O_RDONLY);
	assert_int_equal(profile_write(p, f->path, &e), 0);
	assert_int_equal(read(fd, text, sizeof(text)), 3);
	assert_string_equal(text, "old");
	(void)close(fd);
	struct profile *q = profile_read(f->path, &e);
	assert_non_null(q);
	profile_free(q);
	profile_free(p);
}

static void a_symbolic_link_is_replaced_and_its_target_left_alone(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error e = {0};
	struct stat st;
	char *victim = mem_format("%s/victim", f->directory);

	put_text(victim, "precious");
	assert_int_equal(symlink(victim, f->path), 0);
	assert_int_equal(profile_write(p, f->path, &e), 0);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(unlink(victim), 0);
	free(victim);
	profile_free(p);
}

static void a_left_over_temporary_of_the_same_name_is_not_touched(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error e = {0};
	char *other = mem_format("%s.partial-%ld-0", f->path, (long)getpid());

	put_text(other, "mine");
	assert_int_equal(profile_write(p, f->path, &e), 0);
	struct fixture_bytes b = fixture_load(other);
	assert_int_equal(b.count, 4);
	assert_int_equal(unlink(other), 0);
	free(b.at);
	free(other);
	profile_free(p);
}

static void a_pipe_is_written_to_and_stays_a_pipe(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error e = {0};
	struct stat st;

	assert_int_equal(mkfifo(f->path, 0600), 0);
	int fd = open(f->path,
		      O_RDWR); /* holds the pipe open; the small file fits into its buffer */
	assert_int_equal(profile_write(p, f->path, &e), 0);
	char magic[8];
	assert_int_equal(read(fd, magic, 8), 8);
	assert_memory_equal(magic + 1, "MDN", 3);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	(void)close(fd);
	profile_free(p);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void a_full_device_gives_the_reason_with_the_name(void **state)
{
	struct profile *p = fixture_small();
	struct error e = {0};

	(void)state;
	assert_int_equal(profile_write(p, "/dev/full", &e), -1);
	assert_string_equal(e.text, "/dev/full: No space left on device");
	profile_free(p);
}

/* Big enough that a thread writes it. */
static void a_full_device_is_noticed_when_many_sections_follow(void **state)
{
	struct fixture_size size = {2, 100000, 100000, 100, 2, 2, 100, 9};
	struct profile *p = fixture_profile(7, &size);
	struct error e = {0};

	(void)state;
	assert_int_equal(profile_write(p, "/dev/full", &e), -1);
	assert_string_equal(e.text, "/dev/full: No space left on device");
	profile_free(p);
}

static void when_the_disk_fills_up_the_old_file_stays_and_no_temporary_is_left(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error e = {0};
	struct rlimit old;

	put_text(f->path, "old");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	struct rlimit small = {300, old.rlim_max};
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int result = profile_write(p, f->path, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, handler);

	assert_int_equal(result, -1);
	assert_ends_with(e.text, "a.mdn: File too large");
	struct fixture_bytes b = fixture_load(f->path);
	assert_int_equal(b.count, 3);
	free(b.at);
	profile_free(p); /* close_directory fails if the temporary is still there */
}

static void a_directory_that_may_not_be_written_gives_the_reason(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error e = {0};
	bool root = geteuid() == 0;

	assert_int_equal(chmod(f->directory, 0555), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0); /* for root nothing is read-only */
	int result = profile_write(p, f->path, &e);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(f->directory, 0755), 0);
	assert_int_equal(result, -1);
	assert_ends_with(e.text, "a.mdn: Permission denied");
	profile_free(p);
}

static void a_directory_that_is_not_there_or_a_directory_as_target_gives_the_reason(void **state)
{
	const struct fixture_file *f = *state;
	struct profile *p = fixture_small();
	struct error missing = {0}, taken = {0};
	char *path = mem_format("%s/none/a.mdn", f->directory);

	assert_int_equal(profile_write(p, path, &missing), -1);
	assert_ends_with(missing.text, "none/a.mdn: No such file or directory");
	assert_int_equal(profile_write(p, f->directory, &taken), -1);
	assert_ends_with(taken.text, ": Is a directory");
	free(path);
	profile_free(p);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, open_directory, close_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(a_rich_profile_comes_back_equal_in_every_field),
		IN_DIRECTORY(an_empty_profile_comes_back),
		IN_DIRECTORY(tables_at_the_edges_of_a_block_come_back),
		IN_DIRECTORY(a_long_string_table_comes_back),
		IN_DIRECTORY(damage_noted_before_writing_is_still_known_after),
		IN_DIRECTORY(the_file_is_for_its_owner_only),
		IN_DIRECTORY(
			an_existing_file_is_replaced_and_whoever_has_it_open_keeps_the_old_one),
		IN_DIRECTORY(a_symbolic_link_is_replaced_and_its_target_left_alone),
		IN_DIRECTORY(a_left_over_temporary_of_the_same_name_is_not_touched),
		IN_DIRECTORY(a_pipe_is_written_to_and_stays_a_pipe),
		cmocka_unit_test(a_full_device_gives_the_reason_with_the_name),
		cmocka_unit_test(a_full_device_is_noticed_when_many_sections_follow),
		IN_DIRECTORY(when_the_disk_fills_up_the_old_file_stays_and_no_temporary_is_left),
		IN_DIRECTORY(a_directory_that_may_not_be_written_gives_the_reason),
		IN_DIRECTORY(
			a_directory_that_is_not_there_or_a_directory_as_target_gives_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
