/* twin_filter_test.c -- copies of a process under filters of system calls (seccomp): made where the
 * filters are those that the collector has too and let it make one, and nobody dies where they do
 * not. Runs: as a test program; a child is the collector, and a child of that the target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>

#include "collect/filters.h"
#include "twin_target.h"

#define NUMBER	 offsetof(struct seccomp_data, nr)
#define ARGUMENT offsetof(struct seccomp_data, args) /* its lower half, on both architectures */
#define SKIPPED	 77

static void add_filter(struct sock_filter *rules, uint16_t count)
{
	struct sock_fprog program = {count, rules};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* A sanitizer has a thread of its own. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		_exit(SKIPPED);
}

static void allow_all(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

	add_filter(all, 1);
}

/* A call with this number does what it says; clone only if it is by the flags of a copy. */
static void answer_call(uint32_t number, uint32_t flags, uint32_t what)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, flags, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, what),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	add_filter(rules, sizeof(rules) / sizeof(rules[0]));
}

static void kill_who_copies(void)
{
	answer_call(SYS_clone, CLONE_FILES, SECCOMP_RET_KILL_PROCESS);
}

static void refuse_siblings(void)
{
	answer_call(SYS_clone, CLONE_FILES | CLONE_PARENT, SECCOMP_RET_ERRNO | EPERM);
}

static void refuse_closing(void)
{
	answer_call(TWIN_CLOSE_RANGE, 0, SECCOMP_RET_ERRNO | EPERM);
}

static void refuse_waits(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	add_filter(rules, sizeof(rules) / sizeof(rules[0]));
}

static void kill_closing(void)
{
	answer_call(TWIN_CLOSE_RANGE, 0, SECCOMP_RET_KILL_PROCESS);
}

/* With them, filters can be put aside. */
static void give_up_rights(void)
{
	(void)!setuid(65534);
	(void)prctl(PR_SET_DUMPABLE, 1);
}

struct place {
	void (*inherited)(void); /* by collector and target */
	void (*own)(void);	 /* of the target */
	bool by_parent;		 /* the copy is a child of the collector, which is its undertaker */
	bool is_poor;		 /* the collector is anybody's */
};

/* In the collector. Exits with 0: copied; 1: not; else something is wrong. */
static void collect(const struct place *p)
{
	bool made = true;

	if (p->is_poor)
		give_up_rights();
	if (p->inherited)
		p->inherited();
	if (p->inherited && filters_count_own() == 0)
		_exit(SKIPPED); /* the kernel does not tell */
	undertaker = p->by_parent ? getpid() : 0;
	pid_t pid = start(read_once, p->own);
	wait_until_asleep(pid);
	for (unsigned i = 0; i < 3; i++)
		made = look(pid, 0) && made;
	order_end(0);
	check_end(pid);
	if (waitpid(-1, NULL, __WALL) != -1 || errno != ECHILD)
		_exit(2); /* nobody is left over */
	_exit(made ? 0 : 1);
}

static void check(bool wanted, struct place p)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		collect(&p);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), wanted ? 0 : 1);
	tear_down(NULL);
	set_up(NULL);
}

static void test_filters_that_both_have_do_not_matter_if_they_allow_it(void **state)
{
	(void)state;
	check(true, (struct place){.inherited = allow_all});
	check(true, (struct place){.inherited = allow_all, .by_parent = true});
}

static void test_a_filter_of_its_own_forbids_a_copy(void **state)
{
	(void)state;
	check(false, (struct place){.own = allow_all, .is_poor = true});
	check(false, (struct place){.inherited = allow_all, .own = allow_all});
	check(false, (struct place){.inherited = allow_all, .own = kill_who_copies});
}

/* ---- filters that are put aside -------------------------------------------------------------- */

static void skip_unless_suspended(void)
{
	if (filters_can_suspend())
		return;
	print_message("the kernel does not let us put filters aside (CAP_SYS_ADMIN)\n");
	skip();
}

static void forbid_all_of_it(void)
{
	answer_call(SYS_clone, CLONE_FILES, SECCOMP_RET_KILL_PROCESS);
	answer_call(SYS_clone, CLONE_FILES | CLONE_PARENT, SECCOMP_RET_KILL_PROCESS);
	kill_closing();
	refuse_waits();
}

static void test_a_filter_of_its_own_is_put_aside_for_a_copy(void **state)
{
	(void)state;
	skip_unless_suspended();
	check(true, (struct place){.own = allow_all});
	check(true, (struct place){.own = kill_who_copies});
	check(true, (struct place){.own = forbid_all_of_it});
	check(true, (struct place){.own = forbid_all_of_it, .by_parent = true});
}

static bool is_refused(void)
{
	return syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0) == -1 && errno == EPERM;
}

static void refuse_copies(void)
{
	answer_call(SYS_clone, CLONE_FILES, SECCOMP_RET_ERRNO | EPERM);
}

/* On the way to a call of its own, and in none. */
static bool read_and_be_refused(void)
{
	return is_refused() && read_once() && is_refused();
}

static bool calculate_and_be_refused(void)
{
	return is_refused() && calculate() && is_refused();
}

static void check_refusal(bool (*work)(void), bool by_parent, bool has_way)
{
	undertaker = by_parent ? getpid() : 0;
	if (!has_way)
		way = (struct comeback){0};
	pid_t pid = start(work, refuse_copies);
	if (work == read_and_be_refused)
		wait_until_asleep(pid);
	for (unsigned i = 0; i < 20; i++)
		assert_true(look(pid, 0));
	order_end(0);
	check_end(pid);
	tear_down(NULL);
	set_up(NULL);
}

static void test_what_a_filter_forbids_is_forbidden_after_the_look(void **state)
{
	(void)state;
	skip_unless_suspended();
	for (unsigned i = 0; i < 4; i++) {
		check_refusal(read_and_be_refused, i & 1, i & 2);
		check_refusal(calculate_and_be_refused, i & 1, i & 2);
	}
}

static bool copy_itself(void)
{
	(void)read_once();
	(void)syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0);
	return true;
}

static void test_who_is_killed_for_a_call_is_killed_for_it_after_the_look(void **state)
{
	int status = 0;

	(void)state;
	skip_unless_suspended();
	pid_t pid = start(copy_itself, kill_who_copies);
	wait_until_asleep(pid);
	assert_true(look(pid, 0));
	order_end(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

/* The mode in which there are four calls: not even exit_group is among them. */
static void be_strict(void)
{
	(void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
}

static bool read_and_leave(void)
{
	bool is_right = read_once();

	(void)syscall(SYS_exit, is_right ? 0 : 1);
	return false;
}

static void test_the_strict_mode_is_put_aside_for_a_copy(void **state)
{
	(void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	skip(); /* they make calls of their own */
#endif
	skip_unless_suspended();
	pid_t pid = start(read_and_leave, be_strict);
	wait_until_asleep(pid);
	for (unsigned i = 0; i < 20; i++)
		assert_true(look(pid, 0));
	order_end(0);
	check_end(pid);
}

static void test_where_filters_forbid_the_copy_nobody_dies(void **state)
{
	(void)state;
	check(false, (struct place){.inherited = kill_who_copies});
	check(true, (struct place){.inherited = kill_who_copies, .by_parent = true});
	check(false, (struct place){.inherited = refuse_siblings, .by_parent = true});
	check(true, (struct place){.inherited = refuse_siblings});
}

/* It would share the target's descriptors for as long as it lives, or be killed. */
static void test_where_filters_forbid_a_copy_to_close_its_files_there_is_none(void **state)
{
	(void)state;
	check(false, (struct place){.inherited = refuse_closing});
	check(false, (struct place){.inherited = kill_closing, .by_parent = true});
}

static void test_the_trial_is_made_once(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		kill_who_copies();
		struct twin t = {0};
		struct regions none = {0};
		bool first = twin_prepare(&t, &none, getpid());
		enum twin_trial found = t.trials[TWIN_CHILD];
		t.trials[TWIN_CHILD] = TWIN_DONE;
		bool second = twin_prepare(&t, &none, getpid());
		_exit(!first && second && found == TWIN_REFUSED ? 0 : filters_count_own() ? 1 : 77);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

/* In a child that is under a filter: 0, or what is wrong. */
static void check_in_child(void (*filter)(void), int (*work)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		filter();
		_exit(filters_count_own() == 0 ? SKIPPED : work());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

static int look_for_a_sibling_before_the_burial(void)
{
	pid_t pid = start(read_once, NULL);

	wait_until_asleep(pid);
	struct scene s = stop_target(pid);
	if (!copy_target(&s, pid))
		return 2;
	twin_settle(&s.t);
	twin_end(&s.t);
	s.t.only_sibling = true;
	if (twin_prepare(&s.t, &s.regions, pid))
		return 3;
	for (unsigned i = 0; i < 5000 && !twin_bury(&s.t, pid); i++)
		(void)usleep(1000);
	if (s.t.dead)
		return 4;
	leave_target(&s);
	order_end(0);
	check_end(pid);
	return 0;
}

static void test_the_next_look_does_not_keep_a_copy_from_its_burial(void **state)
{
	(void)state;
	check_in_child(allow_all, look_for_a_sibling_before_the_burial);
}

static int lose_the_parent_before_the_copy(void)
{
	undertaker = getpid();
	pid_t pid = start(read_once, NULL);

	wait_until_asleep(pid);
	struct scene s = stop_target(pid);
	if (!s.t.filters || !s.t.is_sibling)
		return 2;
	s.t.undertaker = 0;
	if (copy_target(&s, pid))
		return 3;
	leave_target(&s);
	order_end(0);
	check_end(pid);
	return 0;
}

/* What filters say to one kind of copy is no answer for the other. */
static void test_a_target_that_loses_its_parent_is_not_copied_untried(void **state)
{
	(void)state;
	check_in_child(kill_who_copies, lose_the_parent_before_the_copy);
}

/* As many filters as we have are no proof for who does not come from where we do. */
static void test_a_stranger_with_as_many_filters_is_not_copied(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		allow_all();
		struct twin t = {.undertaker = 0x7ffffffe};
		struct regions none = {0};
		_exit(filters_count_own() == 0 ? SKIPPED : twin_prepare(&t, &none, getpid()));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

/* Leave for a child would be of no use, and is not to be asked for. */
static void test_where_a_filter_forbids_a_copy_no_leave_is_needed(void **state)
{
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct twin t = {
			.undertaker = 0x7ffffffe, .only_sibling = true, .suspension = TWIN_REFUSED};
		struct regions none = {0};
		bool needs_leave = !twin_prepare(&t, &none, getpid()) && t.needs_leave;

		allow_all();
		bool is_made = twin_prepare(&t, &none, getpid());
		_exit(!needs_leave || is_made || t.needs_leave || !strstr(t.why, "filter"));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_filters_that_both_have_do_not_matter_if_they_allow_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_filter_of_its_own_forbids_a_copy, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_filter_of_its_own_is_put_aside_for_a_copy,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_what_a_filter_forbids_is_forbidden_after_the_look, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_who_is_killed_for_a_call_is_killed_for_it_after_the_look, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_the_strict_mode_is_put_aside_for_a_copy,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_where_filters_forbid_the_copy_nobody_dies,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_where_filters_forbid_a_copy_to_close_its_files_there_is_none, set_up,
			tear_down),
		cmocka_unit_test(test_the_trial_is_made_once),
		cmocka_unit_test_setup_teardown(
			test_the_next_look_does_not_keep_a_copy_from_its_burial, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_a_target_that_loses_its_parent_is_not_copied_untried, set_up,
			tear_down),
		cmocka_unit_test(test_a_stranger_with_as_many_filters_is_not_copied),
		cmocka_unit_test(test_where_a_filter_forbids_a_copy_no_leave_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
