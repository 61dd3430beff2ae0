/* progress_test.c -- the bar: on a terminal alone, not at once, gone at the end. Runs: as a unit
 * test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/progress.h"

#define END	    "$"	  /* stands for itself on terminals too */
#define PATIENCE_MS 60000 /* a terminal hands on what is written when the machine finds time */

static char seen[4096];
static uint64_t clock_ns;

static uint64_t tell_time(void)
{
	return clock_ns;
}

/* Reads up to the mark that ends every run, which is left out. */
static void read_seen(int from)
{
	struct pollfd ready = {.fd = from, .events = POLLIN};
	size_t used = 0;

	while (!memchr(seen, END[0], used)) {
		assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
		ssize_t got = read(from, seen + used, sizeof(seen) - 1 - used);
		assert_true(got > 0);
		used += (size_t)got;
	}
	seen[used] = '\0';
	seen[strcspn(seen, END)] = '\0';
}

/* Runs a look-up of that length with stderr on `fd`; what arrives at `from` is in `seen`. */
static void run(int fd, int from, unsigned milliseconds)
{
	struct progress p;
	int before = dup(STDERR_FILENO);

	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	progress_begin_by(&p, "midden: testing", tell_time);
	progress_note(&p, 0, 100);
	clock_ns += milliseconds * UINT64_C(1000000);
	progress_note(&p, 50, 100);
	progress_end(&p);
	assert_int_equal(write(STDERR_FILENO, END, 1), 1);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	read_seen(from);
}

/* The two ends of a terminal with that many columns. */
static void open_terminal(int *master, int *slave, unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};

	*master = posix_openpt(O_RDWR | O_NOCTTY);
	if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0)
		skip();
	*slave = open(ptsname(*master), O_RDWR | O_NOCTTY);
	assert_true(*slave >= 0);
	assert_int_equal(ioctl(*slave, TIOCSWINSZ, &size), 0);
}

static void run_on_terminal(unsigned short columns, unsigned milliseconds)
{
	int master, slave;

	open_terminal(&master, &slave, columns);
	run(slave, master, milliseconds);
	close(slave);
	close(master);
}

static void a_long_work_has_a_bar_that_is_erased(void **state)
{
	(void)state;
	run_on_terminal(80, 350);
	assert_non_null(strstr(seen, "midden: testing"));
	assert_non_null(strstr(seen, "[###############...............]  50%"));
	const char *last = strrchr(seen, '\r');
	assert_non_null(last);
	assert_string_equal(last, "\r");
	while (last > seen && last[-1] == ' ')
		last--;
	assert_int_equal(last[-1], '\r'); /* blanks over the whole line */
}

static void a_short_work_has_none(void **state)
{
	(void)state;
	run_on_terminal(80, 1);
	assert_string_equal(seen, "");
}

static void a_narrow_terminal_has_none(void **state)
{
	(void)state;
	run_on_terminal(40, 350);
	assert_string_equal(seen, "");
}

static void what_is_no_terminal_has_none(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, 0), 0);
	run(ends[1], ends[0], 350);
	assert_string_equal(seen, "");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_work_has_a_bar_that_is_erased),
		cmocka_unit_test(a_short_work_has_none),
		cmocka_unit_test(a_narrow_terminal_has_none),
		cmocka_unit_test(what_is_no_terminal_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
