/* reading_test.c -- `report` and `stats` on a file, as a user runs them. Runs: as a unit test.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/command.h"

#include "../model/sample.h"

#define FILE_NAME "midden.app.42.mdn"

static char directory[] = "/tmp/midden-test-XXXXXX";
static char printed[65536];

static int enter_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
	(void)state;
	(void)unlink(FILE_NAME);
	return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static int remove_file(void **state)
{
	(void)state;
	(void)unlink(FILE_NAME);
	return 0;
}

static void write_sample(struct profile *p)
{
	struct error e = {0};

	if (profile_write(p, FILE_NAME, &e) != 0)
		fail_msg("%s", e.text);
	profile_free(p);
}

/* Sends a stream to a file; returns a descriptor of where it went before. */
static int divert(FILE *stream, FILE *to)
{
	fflush(stream);
	int before = dup(fileno(stream));
	assert_true(dup2(fileno(to), fileno(stream)) >= 0);
	return before;
}

static void restore(FILE *stream, int before)
{
	fflush(stream);
	assert_true(dup2(before, fileno(stream)) >= 0);
	close(before);
}

/* Runs a command with the words of a line; what it prints is in `printed`. */
static int run(const struct command *c, const char *line)
{
	char *words = strdup(line), *rest = NULL;
	char *argv[16] = {words};
	int argc = 0;
	FILE *page = tmpfile();

	for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		argv[argc++] = w;
	int out = divert(stdout, page), err = divert(stderr, page);
	optind = 0;
	int status = c->run(argc, argv);
	restore(stdout, out);
	restore(stderr, err);
	rewind(page);
	printed[fread(printed, 1, sizeof(printed) - 1, page)] = '\0';
	fclose(page);
	free(words);
	return status;
}

static void assert_printed(const char *text)
{
	if (!strstr(printed, text))
		fail_msg("no \"%s\" in: %s", text, printed);
}

static void given_no_profile_then_one_line_says_what_to_do(void **state)
{
	(void)state;
	assert_int_equal(run(&command_report, "report"), COMMAND_FAILED);
	assert_string_equal(printed,
			    "midden: no midden.*.mdn here; run `midden record PROGRAM` first\n");
	assert_int_equal(run(&command_stats, "stats"), COMMAND_FAILED);
}

static void given_one_profile_then_it_is_reported_without_naming_it(void **state)
{
	(void)state;
	write_sample(sample_tables());
	assert_int_equal(run(&command_report, "report"), COMMAND_GOOD);
	assert_printed("app  pid 42, mode exact\n");
	assert_printed("\nHeld at the peak: 1000 B in 10 blocks\n");
	assert_printed("table_new (app.c:30) [hot]\n");
}

static void views_filters_and_shapes_are_options(void **state)
{
	(void)state;
	write_sample(sample_tables());
	assert_int_equal(run(&command_report, "report --by module"), COMMAND_GOOD);
	assert_printed("  app (/src/app)\n");
	assert_int_equal(run(&command_report, "report -i load --max-size 1K --by line"),
			 COMMAND_GOOD);
	assert_printed("  filter       stacks through load; blocks of at most 1.00 KiB\n");
	assert_printed("Held at the peak: 700 B in 7 blocks (of 1000 B in 10 blocks)\n");
	assert_int_equal(run(&command_report, "report --histogram lifetime"), COMMAND_GOOD);
	assert_printed("not freed");
	assert_int_equal(run(&command_report, "report --lifetime=shortest"), COMMAND_GOOD);
	assert_printed("Nothing was freed.\n");
	assert_int_equal(run(&command_report, "report --findings"), COMMAND_GOOD);
	assert_printed("Nothing to report");
	assert_int_equal(run(&command_report, "report --figure realloc --flat"), COMMAND_GOOD);
	assert_printed("No block was resized.\n");
}

static void options_that_make_no_sense_are_usage_errors(void **state)
{
	static const char *const lines[] = {
		"report --live-at 1parsec",
		"report --growth 1s",
		"report --figure live",
		"report --by colour",
		"report --histogram age",
		"report --histogram size -i main",
		"report --lifetime=middling",
		"report --lifetime --by thread",
		"report --live-at 1s --by thread",
		"report --min-size big",
		"report --max-size -1",
		"report -i /(/",
		"report -n 0",
	};

	(void)state;
	write_sample(sample_tables());
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (run(&command_report, lines[i]) != COMMAND_USAGE)
			fail_msg("%s: %s", lines[i], printed);
}

static void what_the_profile_cannot_answer_fails_with_a_reason(void **state)
{
	struct profile *p = sample_tables();

	(void)state;
	*vec_push(&p->threads) = (struct profile_thread){
		.tid = 7, .serial = 1, .name = profile_add_string(p, "one")};
	*vec_push(&p->threads) = (struct profile_thread){
		.tid = 8, .serial = 2, .name = profile_add_string(p, "two")};
	write_sample(p);
	assert_int_equal(run(&command_report, "report --live-at 50%"), COMMAND_FAILED);
	assert_string_equal(printed, "midden: the profile has no time line\n");
	assert_int_equal(run(&command_report, "report --thread one"), COMMAND_FAILED);
	assert_printed("does not tell which thread");
	assert_int_equal(run(&command_report, "report --thread one --by thread"), COMMAND_GOOD);
	assert_int_equal(run(&command_report, "report --leaks --suppressions nowhere"),
			 COMMAND_FAILED);
	assert_printed("midden: nowhere: ");
}

static void options_choose_figure_direction_and_form(void **state)
{
	(void)state;
	write_sample(sample_tables());
	assert_int_equal(run(&command_report, "report --leaks --top-down " FILE_NAME),
			 COMMAND_GOOD);
	assert_printed("Not freed when the program ended");
	assert_printed("program start, callees below");
	assert_int_equal(run(&command_report, "report --figure calls --flat"), COMMAND_GOOD);
	assert_printed("Calls that allocated");
	assert_printed("  total  ");
	assert_int_equal(run(&command_report, "report -t 30% -d 1"), COMMAND_GOOD);
	assert_printed("  5.00%      50 B       1  ... 1 more function\n");
	assert_int_equal(run(&command_report, "report --json"), COMMAND_GOOD);
	assert_int_equal(printed[0], '{');
	assert_int_equal(run(&command_report, "report --color always"), COMMAND_GOOD);
	assert_printed("\033[");
	assert_int_equal(run(&command_report, "report --color never"), COMMAND_GOOD);
	assert_null(strstr(printed, "\033["));
}

static void stats_are_printed_for_people_and_for_scripts(void **state)
{
	(void)state;
	write_sample(sample_tables());
	assert_int_equal(run(&command_stats, "stats"), COMMAND_GOOD);
	assert_printed("  peak         1000 B in 10 blocks");
	assert_int_equal(run(&command_stats, "stats --json --sites --points"), COMMAND_GOOD);
	assert_printed("\"peak_bytes\": 1000,");
	assert_printed("\"table_new (/src/app.c:30)\"");
	assert_printed("\"points\": []");
}

static void wrong_usage_is_told_apart_from_failure(void **state)
{
	(void)state;
	assert_int_equal(run(&command_report, "report --nonsense"), COMMAND_USAGE);
	assert_printed(
		"midden: report: --nonsense is not an option\nTry `midden report --help`.\n");
	assert_int_equal(run(&command_report, "report -z"), COMMAND_USAGE);
	assert_printed("-z is not an option");
	assert_int_equal(run(&command_report, "report --threshold"), COMMAND_USAGE);
	assert_printed("needs an argument");
	assert_int_equal(run(&command_report, "report --threshold 101"), COMMAND_USAGE);
	assert_int_equal(run(&command_report, "report --threshold nan"), COMMAND_USAGE);
	assert_int_equal(run(&command_report, "report --depth 0"), COMMAND_USAGE);
	assert_int_equal(run(&command_report, "report --depth -1"), COMMAND_USAGE);
	assert_int_equal(run(&command_report, "report --figure size"), COMMAND_USAGE);
	assert_int_equal(run(&command_report, "report --color blue"), COMMAND_USAGE);
	assert_int_equal(run(&command_report, "report a b"), COMMAND_USAGE);
	assert_int_equal(run(&command_stats, "stats --sites"), COMMAND_USAGE);
	assert_int_equal(run(&command_stats, "stats --nonsense"), COMMAND_USAGE);
	assert_int_equal(run(&command_export, "export"), COMMAND_USAGE);
	assert_printed("midden: export: which format? name it with -f\n");
	assert_int_equal(run(&command_export, "export -f nonsense"), COMMAND_USAGE);
	assert_int_equal(run(&command_export, "export -o x.nonsense"), COMMAND_USAGE);
	assert_int_equal(run(&command_export, "export -f collapsed --figure size"), COMMAND_USAGE);
	assert_int_equal(run(&command_export, "export -f collapsed a b"), COMMAND_USAGE);
	assert_int_equal(run(&command_export, "export -f"), COMMAND_USAGE);
	assert_int_equal(run(&command_help, "help nonsense"), COMMAND_USAGE);
	assert_int_equal(run(&command_report, "report /nowhere/x.mdn"), COMMAND_FAILED);
	assert_printed("midden: /nowhere/x.mdn: ");
}

static void help_is_printed_wherever_the_option_stands(void **state)
{
	(void)state;
	assert_int_equal(run(&command_report, "report --peak --help"), COMMAND_GOOD);
	assert_string_equal(printed, command_report.help);
	assert_int_equal(run(&command_stats, "stats -h"), COMMAND_GOOD);
	assert_string_equal(printed, command_stats.help);
	assert_int_equal(run(&command_help, "help stats"), COMMAND_GOOD);
	assert_string_equal(printed, command_stats.help);
	assert_int_equal(run(&command_help, "help"), COMMAND_GOOD);
	assert_printed("  report  ");
	assert_null(strstr(printed, "  collect  "));
}

static void exports_go_to_standard_output_or_to_a_file(void **state)
{
	char line[64] = {0};

	(void)state;
	write_sample(sample_tables());
	assert_int_equal(run(&command_export, "export -f collapsed"), COMMAND_GOOD);
	assert_string_equal(printed, "main;load;table_new 700\nmain;save 50\n"
				     "main;save;table_new 250\n");
	assert_int_equal(run(&command_export, "export --figure calls -o x.folded"), COMMAND_GOOD);
	assert_string_equal(printed, "");
	FILE *file = fopen("x.folded", "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, "main;load;table_new 7\n");
	fclose(file);
	assert_int_equal(unlink("x.folded"), 0);
}

static void given_an_export_that_fails_then_nothing_is_left(void **state)
{
	(void)state;
	write_sample(sample_tables());
	assert_int_equal(run(&command_export, "export -f collapsed -o nowhere/x.folded"),
			 COMMAND_FAILED);
	assert_string_equal(printed, "midden: cannot write nowhere/x.folded: "
				     "No such file or directory\n");
	assert_int_equal(run(&command_export, "export -f collapsed -o ."), COMMAND_FAILED);
	assert_string_equal(printed, "midden: cannot write .: Is a directory\n");
	assert_int_equal(run(&command_export, "export -f collapsed -o /dev/full"), COMMAND_FAILED);
	assert_string_equal(printed, "midden: cannot write /dev/full: No space left on device\n");
}

static void help_on_export_lists_the_formats(void **state)
{
	(void)state;
	assert_int_equal(run(&command_help, "help export"), COMMAND_GOOD);
	assert_printed("  collapsed       one figure as `root;...;leaf N` lines");
	assert_int_equal(run(&command_export, "export -h"), COMMAND_GOOD);
	assert_printed("  collapsed       one figure as `root;...;leaf N` lines");
}

static void write_unresolved(void)
{
	struct profile *p = sample_new();
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(length > 0);
	path[length] = '\0';
	p->resolved = false;
	p->modules.at[1].path = profile_add_string(p, path);
	p->modules.at[1].bias = 0;
	/* Any address with a symbol will do: the program's entry has one in every build. */
	FILE *self = fopen(path, "rb");
	assert_non_null(self);
	uint64_t entry = 0;
	assert_int_equal(fseek(self, 24, SEEK_SET), 0); /* e_entry of a 64-bit ELF file */
	assert_int_equal(fread(&entry, sizeof(entry), 1, self), 1);
	fclose(self);
	uint32_t node = sample_node_in(p, 0, 1, 0);
	p->nodes.at[node].pc = entry;
	p->nodes.at[node].exact = true;
	sample_site(p, node, 8, 1);
	write_sample(p);
}

static bool is_resolved_on_disk(void)
{
	struct error e = {0};
	struct profile *p = profile_read(FILE_NAME, &e);

	assert_non_null(p);
	bool resolved = p->resolved;
	profile_free(p);
	return resolved;
}

static void given_no_symbols_then_they_are_looked_up_once_and_kept(void **state)
{
	(void)state;
	write_unresolved();
	assert_int_equal(run(&command_report, "report --no-write"), COMMAND_GOOD);
	assert_printed("_start");
	assert_false(is_resolved_on_disk());
	assert_int_equal(run(&command_report, "report"), COMMAND_GOOD);
	assert_printed("_start");
	assert_true(is_resolved_on_disk());
	assert_int_equal(run(&command_report, "report"), COMMAND_GOOD);
	assert_printed("_start");
}

static void given_a_cut_off_file_then_it_is_reported_with_a_notice_and_left_alone(void **state)
{
	struct stat before, after;

	(void)state;
	write_unresolved();
	assert_int_equal(stat(FILE_NAME, &before), 0);
	assert_int_equal(truncate(FILE_NAME, before.st_size - 8), 0);
	int status = run(&command_report, "report");
	if (status == COMMAND_GOOD)
		assert_printed("! the file is damaged");
	else
		assert_printed("midden: " FILE_NAME ": ");
	assert_int_equal(stat(FILE_NAME, &after), 0);
	assert_int_equal(after.st_size, before.st_size - 8);
}

#define IN_DIRECTORY(test) cmocka_unit_test_teardown(test, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(given_no_profile_then_one_line_says_what_to_do),
		IN_DIRECTORY(given_one_profile_then_it_is_reported_without_naming_it),
		IN_DIRECTORY(views_filters_and_shapes_are_options),
		IN_DIRECTORY(options_that_make_no_sense_are_usage_errors),
		IN_DIRECTORY(what_the_profile_cannot_answer_fails_with_a_reason),
		IN_DIRECTORY(options_choose_figure_direction_and_form),
		IN_DIRECTORY(stats_are_printed_for_people_and_for_scripts),
		IN_DIRECTORY(wrong_usage_is_told_apart_from_failure),
		IN_DIRECTORY(exports_go_to_standard_output_or_to_a_file),
		IN_DIRECTORY(given_an_export_that_fails_then_nothing_is_left),
		IN_DIRECTORY(help_on_export_lists_the_formats),
		IN_DIRECTORY(help_is_printed_wherever_the_option_stands),
		IN_DIRECTORY(given_no_symbols_then_they_are_looked_up_once_and_kept),
		IN_DIRECTORY(given_a_cut_off_file_then_it_is_reported_with_a_notice_and_left_alone),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
