/* cmd_report.c -- `midden report`: who held, leaked or allocated the memory. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/message.h"
#include "cli/report_options.h"

/* A pattern for what is wanted, and there is no such thing: who asked in a script must not take the
 * empty report for an answer. */
static int check_filter(const struct model *m, const struct filter *f)
{
	struct filter_misses misses = {0};
	int status = COMMAND_GOOD;

	filter_list_misses(f, m, &misses);
	for (size_t i = 0; i < misses.all.count; i++) {
		const struct filter_miss *miss = &misses.all.at[i];

		if (miss->leaves_out)
			continue;
		message_print("no %s in the profile is '%s'", miss->what,
			      pattern_get_text(miss->pattern));
		status = COMMAND_FAILED;
	}
	vec_free(&misses.all);
	return status;
}

static int print_report(const struct profile *p, const struct report_options *o)
{
	struct model *m = model_new(p, &o->shared.model);
	struct output out;

	output_open(&out, o->shared.colour, !o->shared.no_pager && !o->shared.json);
	if (o->shared.json)
		sheet_print_json(out.file, m, &o->sheet);
	else
		sheet_print(out.file, m, &o->sheet, &out.style);
	int written = output_close(&out);
	int status = check_filter(m, &o->filter);
	model_free(m);
	return written == COMMAND_GOOD ? status : written;
}

static int show(struct report_options *o, const char *file)
{
	struct profile *p = load_profile(file, &o->shared.load);
	struct error e = {.offset = -1};
	int status = COMMAND_FAILED;

	if (!p)
		return COMMAND_FAILED;
	if (o->sheet.shape == SHEET_GLOBALS)
		load_globals(p, &o->shared.load);
	load_fill_model(&o->shared.load, &o->shared.model);
	if (report_options_apply(o, p, &e) == 0)
		status = print_report(p, o);
	else
		message_print("%s", e.text);
	profile_free(p);
	return status;
}

static int run(int argc, char **argv)
{
	struct report_options o = {0};
	int status = report_options_parse(&o, argc, argv);

	if (status == COMMAND_GOOD && o.shared.help)
		fputs(report_options_help, stdout);
	else if (status == COMMAND_GOOD)
		status = show(&o, argv[optind]);
	report_options_free(&o);
	return status;
}

const struct command command_report = {
	.name = "report",
	.summary = "show which call stacks are behind a figure",
	.help = report_options_help,
	.run = run,
};
