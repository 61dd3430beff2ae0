/* spare_test.c -- memory and cores that can be taken: what the machine has left, and what each
 * control group leaves of it. Runs: as a test program, with files that look like the kernel's.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/spare.h"

#define MIB 1048576u

static char place[] = "/tmp/midden-spare-XXXXXX";
static char meminfo[64], cgroup[64];
static struct spare_files files = {meminfo, cgroup, place};

/* Below the place; folders are made. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", place, name);
	for (char *slash = strchr(path + sizeof(place), '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(place, sizeof(place), "/tmp/midden-spare-XXXXXX");
	if (!mkdtemp(place))
		return -1;
	(void)snprintf(meminfo, sizeof(meminfo), "%s/meminfo", place);
	(void)snprintf(cgroup, sizeof(cgroup), "%s/cgroup", place);
	put("meminfo", "MemTotal:       8388608 kB\nMemAvailable:   4194304 kB\nBuffers: 1 kB\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -r %s", place);
	return system(command); /* NOLINT */
}

static void test_without_groups_it_is_what_the_machine_has(void **state)
{
	(void)state;
	assert_int_equal(spare_read_bytes(&files), UINT64_C(4096) * MIB);
	put("cgroup", "0::/\n");
	assert_int_equal(spare_read_bytes(&files), UINT64_C(4096) * MIB);
	assert_true(spare_read_bytes(NULL) > 0);
}

static void test_where_nothing_is_told_there_is_none(void **state)
{
	(void)state;
	put("meminfo", "MemTotal: 1 kB\n");
	assert_int_equal(spare_read_bytes(&files), 0);
	assert_int_equal(unlink(meminfo), 0);
	assert_int_equal(spare_read_bytes(&files), 0);
}

/* Files in memory that nobody uses are as good as free. */
static void test_a_group_leaves_its_limit_but_for_what_is_used(void **state)
{
	(void)state;
	put("cgroup", "0::/user/app\n");
	put("user/app/memory.max", "1073741824\n");
	put("user/app/memory.high", "max\n");
	put("user/app/memory.current", "524288000\n");
	assert_int_equal(spare_read_bytes(&files), 1073741824 - 524288000);
	put("user/app/memory.stat", "anon 1\ninactive_anon 7\ninactive_file 104857600\nx 1\n");
	assert_int_equal(spare_read_bytes(&files), 1073741824 - 524288000 + 104857600);
	put("user/app/memory.high", "536870912\n");
	assert_int_equal(spare_read_bytes(&files), 536870912 - 524288000 + 104857600);
	put("user/app/memory.high", "1048576\n");
	assert_int_equal(spare_read_bytes(&files), 0);
}

static void test_the_groups_around_it_have_limits_too(void **state)
{
	(void)state;
	put("cgroup", "0::/user/app\n");
	put("user/app/memory.max", "max\n");
	put("user/memory.max", "314572800\n");
	put("user/memory.current", "104857600\n");
	assert_int_equal(spare_read_bytes(&files), 200 * MIB);
	/* In a container the group is what is mounted. */
	put("memory.max", "209715200\n");
	put("memory.current", "104857600\n");
	assert_int_equal(spare_read_bytes(&files), 100 * MIB);
	put("cgroup", "0::/\n");
	assert_int_equal(spare_read_bytes(&files), 100 * MIB);
}

static void test_groups_of_the_first_version_are_known(void **state)
{
	(void)state;
	put("cgroup", "5:cpu,cpuacct:/a\n4:memory:/box\n1:name=systemd:/x\n0::/y\n");
	put("memory/box/memory.limit_in_bytes", "209715200\n");
	put("memory/box/memory.usage_in_bytes", "157286400\n");
	put("memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/memory.usage_in_bytes", "1073741824\n");
	assert_int_equal(spare_read_bytes(&files), 50 * MIB);
	put("memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 10485760\n");
	assert_int_equal(spare_read_bytes(&files), 60 * MIB);
}

static void test_groups_say_how_many_cores_may_be_used(void **state)
{
	(void)state;
	assert_true(spare_read_cores(&files) == UINT64_MAX);
	put("cgroup", "0::/user/app\n");
	assert_true(spare_read_cores(&files) == UINT64_MAX);
	put("user/app/cpu.max", "max 100000\n");
	assert_true(spare_read_cores(&files) == UINT64_MAX);
	put("user/cpu.max", "600000 100000\n");
	assert_int_equal(spare_read_cores(&files), 6);
	put("user/app/cpu.max", "150000 100000\n");
	assert_int_equal(spare_read_cores(&files), 2);
	put("user/app/cpu.max", "1000 100000\n");
	assert_int_equal(spare_read_cores(&files), 1);
	put("user/app/cpu.max", "");
	assert_int_equal(spare_read_cores(&files), 6);
}

static void test_groups_of_the_first_version_say_it_too(void **state)
{
	(void)state;
	put("cgroup", "7:cpuset:/none\n5:cpu,cpuacct:/box\n4:memory:/box\n");
	put("cpu/none/cpu.cfs_quota_us", "100000\n");
	put("cpu/none/cpu.cfs_period_us", "100000\n");
	put("cpu/cpu.cfs_quota_us", "-1\n");
	put("cpu/cpu.cfs_period_us", "100000\n");
	assert_true(spare_read_cores(&files) == UINT64_MAX);
	put("cpu/box/cpu.cfs_quota_us", "250000\n");
	put("cpu/box/cpu.cfs_period_us", "100000\n");
	assert_int_equal(spare_read_cores(&files), 3);
	put("cpu/box/cpu.cfs_period_us", "0\n");
	assert_true(spare_read_cores(&files) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_without_groups_it_is_what_the_machine_has,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_where_nothing_is_told_there_is_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_group_leaves_its_limit_but_for_what_is_used,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_groups_around_it_have_limits_too, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_groups_of_the_first_version_are_known, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_groups_say_how_many_cores_may_be_used, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_groups_of_the_first_version_say_it_too, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
