/* rank_test.c -- ranks in environments, lists of ranks, processes by name, names of profiles.
 * Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/choice.h"
#include "cli/recording.h"

#define ENVIRONMENT(text) rank_find(text, sizeof(text))

static void launchers_are_known(void **state)
{
	struct rank r = ENVIRONMENT("HOME=/root\0OMPI_COMM_WORLD_SIZE=8\0OMPI_COMM_WORLD_RANK=3");

	(void)state;
	assert_int_equal(r.number, 3);
	assert_int_equal(r.count, 8);
	assert_int_equal(ENVIRONMENT("PMI_RANK=0\0PMI_SIZE=2").number, 0);
	assert_int_equal(ENVIRONMENT("MV2_COMM_WORLD_RANK=7").number, 7);
	assert_int_equal(ENVIRONMENT("FLUX_TASK_RANK=1").number, 1);
	/* A batch job has a number too; it is a rank where there are several. */
	assert_int_equal(ENVIRONMENT("SLURM_PROCID=0\0SLURM_NTASKS=1").number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("SLURM_PROCID=0").number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("SLURM_PROCID=5\0SLURM_NTASKS=6").number, 5);
	/* The launcher of the MPI library knows better than the batch system. */
	assert_int_equal(ENVIRONMENT("SLURM_PROCID=5\0SLURM_NTASKS=6\0PMI_RANK=4").number, 4);
}

static void what_is_no_rank_is_none(void **state)
{
	(void)state;
	assert_int_equal(rank_find("", 0).number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("PMI_RANK=").number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("PMI_RANK=x").number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("PMI_RANK=-1").number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("PMI_RANK=3x").number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("PMI_RANK=99999999999").number, RANK_NONE);
	assert_int_equal(ENVIRONMENT("XPMI_RANK=3").number, RANK_NONE);
	/* Cut off in the middle of a number. */
	assert_int_equal(rank_find("PMI_RANK=31", 10).number, RANK_NONE);
}

static void lists_have_numbers_and_ranges(void **state)
{
	static const char *const wrong[] = {"", ",", "1,", "a", "1-", "3-1", "1;2", "-1", "1--2"};
	struct rank_list list = {0};
	struct error e = {0};

	(void)state;
	assert_int_equal(rank_list_parse(&list, "0,4-7,9", &e), 0);
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(rank_list_has(&list, i), i == 0 || (i >= 4 && i <= 7) || i == 9);
	assert_false(rank_list_has(&list, RANK_NONE));
	rank_list_free(&list);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		e = (struct error){0};
		assert_int_equal(rank_list_parse(&list, wrong[i], &e), -1);
		assert_true(e.set);
		rank_list_free(&list);
	}
}

static void programs_are_chosen_by_name(void **state)
{
	const struct choice c = {.only = "cc1plus,ld*,/opt/x"};

	(void)state;
	assert_true(choice_has_name(&c, "cc1plus"));
	assert_true(choice_has_name(&c, "/usr/lib/gcc/cc1plus"));
	assert_true(choice_has_name(&c, "/usr/bin/ld.gold"));
	assert_true(choice_has_name(&c, "/opt/x"));
	assert_false(choice_has_name(&c, "/usr/bin/x"));
	assert_false(choice_has_name(&c, "cc1"));
	assert_false(choice_has_name(&c, ""));
	assert_true(choice_is_narrow(&c));
	assert_false(choice_is_narrow(&(struct choice){0}));
}

static void assert_name(const char *pattern, struct recording_subject s, const char *wanted)
{
	s.program = "app";
	s.pid = 17;
	s.image = s.image ? s.image : 1;
	char *name = recording_output_name(pattern, &s);
	assert_string_equal(name, wanted);
	free(name);
}

static void names_tell_ranks_apart(void **state)
{
	const struct recording_subject alone = {.rank = {.number = RANK_NONE}, .is_program = true};
	const struct recording_subject child = {.rank = {.number = RANK_NONE}};
	const struct recording_subject rank = {.rank = {.number = 3}, .is_program = true};
	const struct recording_subject under = {.rank = {.number = 3}, .image = 2};

	(void)state;
	assert_name(NULL, alone, "midden.app.17.mdn");
	assert_name(NULL, rank, "midden.app.rank3.mdn");
	assert_name(NULL, under, "midden.app.rank3.17.mdn");
	assert_name("x.mdn", alone, "x.mdn");
	assert_name("x.mdn", child, "x.17.mdn");
	assert_name("x.mdn", rank, "x.3.mdn");
	assert_name("x.mdn", under, "x.3.17.2.mdn");
	assert_name("%n-%r.mdn", rank, "app-3.mdn");
	assert_name("%n-%r.mdn", alone, "app-17.mdn");
	assert_name("%n-%r.mdn", child, "app-17.mdn");
	assert_name("%p.mdn", rank, "17.mdn");
	assert_name("100%.mdn", alone, "100%.mdn");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launchers_are_known),
		cmocka_unit_test(what_is_no_rank_is_none),
		cmocka_unit_test(lists_have_numbers_and_ranges),
		cmocka_unit_test(programs_are_chosen_by_name),
		cmocka_unit_test(names_tell_ranks_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
