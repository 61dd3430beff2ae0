/* requests_test.c -- copies of a process that has requests under way (io_uring, aio): what devices
 * bring gets to the process, and the kernel's own threads in it are left alone.
 * Runs: as a test program, with a child as target.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "../../victims/direct_reads.h"
#include "collect/requests.h"
#include "twin_target.h"

/* ---- its parts ------------------------------------------------------------------------------- */

static void test_kernels_pin_pages_from_6_5_on(void **state)
{
	(void)state;
	assert_false(requests_are_pinned_by("5.14.0-611.el9.x86_64"));
	assert_false(requests_are_pinned_by("6.1.0-40-amd64"));
	assert_false(requests_are_pinned_by("6.4.16"));
	assert_false(requests_are_pinned_by("6"));
	assert_false(requests_are_pinned_by(""));
	assert_true(requests_are_pinned_by("6.5.0"));
	assert_true(requests_are_pinned_by("6.12.48+deb13-arm64"));
	assert_true(requests_are_pinned_by("7.0-rc1"));
}

static void test_mounts_are_told_apart_by_their_type(void **state)
{
	(void)state;
#define LINE(type) "36 35 98:0 /a /b\\040-\\040c rw master:1 - " type " /dev/x rw\n"
	assert_int_equal(requests_judge_mount(LINE("ext4")), REQUESTS_PIN);
	assert_int_equal(requests_judge_mount(LINE("tmpfs")), REQUESTS_PIN);
	assert_int_equal(requests_judge_mount(LINE("ext")), REQUESTS_UNSAFE);
	assert_int_equal(requests_judge_mount(LINE("nfs4")), REQUESTS_UNSAFE);
	assert_int_equal(requests_judge_mount(LINE("9p")), REQUESTS_UNSAFE);
	assert_int_equal(requests_judge_mount(LINE("fuseblk")), REQUESTS_UNSAFE);
	assert_int_equal(requests_judge_mount(LINE("fuse")), REQUESTS_DOUBTED);
	assert_int_equal(requests_judge_mount(LINE("fuse.sshfs")), REQUESTS_DOUBTED);
	assert_int_equal(requests_judge_mount(LINE("overlay")), REQUESTS_DOUBTED);
	assert_int_equal(requests_judge_mount("no such line"), REQUESTS_UNSAFE);
}

/* ---- mounts and descriptors ------------------------------------------------------------------ */

/* In a namespace of its own, at the place of a directory: an overlay over it, with a file. */
static bool mount_overlay(const char *path)
{
	char options[256], file[128];
	int fd;

	(void)snprintf(options, sizeof(options), "lowerdir=%s:/usr", path);
	(void)snprintf(file, sizeof(file), "%s/file", path);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	(void)close(fd);
	return fd >= 0 && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("overlay", path, "overlay", MS_RDONLY, options) == 0;
}

enum { ALLOWED = 10, REFUSED, NOT_PERMITTED };

/* What is said of a process without a descriptor on the overlay, with one for direct reads, and
 * with a ring that does not tell of its files. */
static int judge_beside_overlay(const char *path)
{
	char file[128];

	(void)snprintf(file, sizeof(file), "%s/file", path);
	if (!mount_overlay(path))
		return NOT_PERMITTED;
	bool before = requests_survive_fork(getpid(), false);
	bool with_ring = requests_survive_fork(getpid(), true);
	int plain = open(file, O_RDONLY | O_CLOEXEC);
	bool buffered = requests_survive_fork(getpid(), false);
	if (plain < 0 || open(file, O_RDONLY | O_DIRECT | O_CLOEXEC) < 0)
		return NOT_PERMITTED;
	bool direct_too = requests_survive_fork(getpid(), false);
	return before && buffered && !with_ring && !direct_too ? ALLOWED : REFUSED;
}

static void test_descriptors_for_direct_reads_from_an_overlay_count(void **state)
{
	char path[] = "/tmp/midden-requests-XXXXXX", file[128];
	int status = 0;

	(void)state;
	if (!requests_survive_fork(getpid(), false))
		skip();
	assert_non_null(mkdtemp(path));
	pid_t pid = fork();
	if (pid == 0)
		_exit(judge_beside_overlay(path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)snprintf(file, sizeof(file), "%s/file", path);
	(void)unlink(file);
	(void)rmdir(path);
	if (WEXITSTATUS(status) == NOT_PERMITTED)
		skip();
	assert_int_equal(WEXITSTATUS(status), ALLOWED);
}

static void change_root(void)
{
	if (chroot("/tmp"))
		_exit(1);
}

/* Its list of mounts is not all that it may have files of. */
static void test_who_has_another_root_is_not_copied(void **state)
{
	(void)state;
	if (!requests_survive_fork(getpid(), false) || geteuid() != 0)
		skip();
	pid_t pid = start(read_once, change_root);
	wait_until_asleep(pid);
	assert_false(requests_survive_fork(pid, false));
	order_end(0);
	check_end(pid);
}

/* ---- direct reads, all the time -------------------------------------------------------------- */

#define LOOKS 250

static bool goes_on(void)
{
	atomic_fetch_add(&common->rounds, 1);
	return !atomic_load(&common->word);
}

static bool read_by_ring(void)
{
	return direct_read_by_ring(goes_on);
}

static bool read_by_aio(void)
{
	return direct_read_by_aio(goes_on);
}

static bool can_read_directly(bool (*work)(void))
{
	struct utsname kernel;
	int status = 0;

	if (uname(&kernel) || !requests_are_pinned_by(kernel.release) ||
	    !requests_survive_fork(getpid(), false))
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		atomic_store(&common->word, 1);
		_exit(work() ? 0 : 1);
	}
	(void)waitpid(pid, &status, 0);
	atomic_store(&common->word, 0);
	return status == 0;
}

static void check_reading(bool (*work)(void))
{
	if (!can_read_directly(work))
		skip();
	uint32_t least = 0;
	pid_t pid = start(work, NULL);
	for (unsigned i = 0; i < LOOKS; i++) {
		assert_true(look(pid, 0));
		for (unsigned k = 0; k < 100 && atomic_load(&common->rounds) <= least; k++)
			(void)usleep(100);
		least = atomic_load(&common->rounds) + DIRECT_SLOTS;
	}
	assert_true(atomic_load(&common->rounds) > DIRECT_SLOTS);
	order_end(0);
	check_end(pid);
}

static void test_what_is_read_by_io_uring_gets_to_the_target(void **state)
{
	(void)state;
	check_reading(read_by_ring);
}

static void test_what_is_read_by_aio_gets_to_the_target(void **state)
{
	(void)state;
	check_reading(read_by_aio);
}

/* ---- threads of the kernel's ----------------------------------------------------------------- */

#ifdef HAS_RING

/* One of them waits for somebody to write to a pipe with a name. */
static bool open_by_worker(void)
{
	char path[] = "/tmp/midden-requests-XXXXXX";
	struct io_uring_sqe request = {0};
	struct io_uring_cqe done = {0};
	struct ring r;

	if (!mkdtemp(path) || !ring_open(&r, 1) || chdir(path) || mkfifo("fifo", 0600))
		return false;
	request.opcode = IORING_OP_OPENAT;
	request.flags = IOSQE_ASYNC;
	request.fd = AT_FDCWD;
	request.addr = (uintptr_t) "fifo";
	request.open_flags = O_RDONLY;
	bool good = ring_submit(&r, &request);
	atomic_store(&common->slept, 1);
	good = good && read_once();
	int other = open("fifo", O_RDWR | O_CLOEXEC);
	while (good && !ring_take(&r, &done))
		(void)usleep(1000);
	(void)close(other);
	(void)unlink("fifo");
	(void)rmdir(path);
	return good && done.res >= 0;
}

static unsigned count_workers(pid_t pid)
{
	unsigned count = 0;
	char path[64];
	struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		count += tid > 0 && halt_is_worker(tid);
	}
	(void)closedir(tasks);
	return count;
}

static void test_requests_that_wait_in_the_kernel_go_on(void **state)
{
	struct error e = {0};
	struct halt h = {0};
	struct ring r;

	(void)state;
	if (!ring_open(&r, 1))
		skip();
	(void)close(r.fd);
	pid_t pid = start(open_by_worker, NULL);
	for (unsigned i = 0; i < 1000 && !count_workers(pid); i++)
		(void)usleep(1000);
	wait_until_asleep(pid);
	if (!count_workers(pid)) { /* they are no threads of a process before Linux 5.12 */
		order_end(0);
		check_end(pid);
		skip();
	}
	(void)usleep(50000); /* it gets to where it waits */
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(halt_start(&h, pid, &e), 0);
		halt_end(&h);
		assert_true(halt_settle(&h));
	}
	halt_fini(&h);
	order_end(0);
	check_end(pid);
}

#else

static void test_requests_that_wait_in_the_kernel_go_on(void **state)
{
	(void)state;
	skip();
}

#endif

/* A name is not enough: what is not stopped is not looked at. */
static bool bear_the_name(void)
{
	(void)prctl(PR_SET_NAME, "iou-wrk-1");
	return read_once();
}

static void test_a_thread_with_the_name_of_one_is_none(void **state)
{
	(void)state;
	pid_t pid = start(bear_the_name, NULL);
	wait_until_asleep(pid);
	assert_false(halt_is_worker(pid));
	order_end(0);
	check_end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_pin_pages_from_6_5_on),
		cmocka_unit_test(test_mounts_are_told_apart_by_their_type),
		cmocka_unit_test(test_descriptors_for_direct_reads_from_an_overlay_count),
		cmocka_unit_test_setup_teardown(test_who_has_another_root_is_not_copied, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_read_by_io_uring_gets_to_the_target,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_read_by_aio_gets_to_the_target, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_requests_that_wait_in_the_kernel_go_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_thread_with_the_name_of_one_is_none, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
