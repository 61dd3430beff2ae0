/* cmd_check.c -- `midden check`: limits on a profile, for automatic tests. Runs: in the midden
 * command.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amounts.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/outfile.h"
#include "report/check_json.h"
#include "report/check_junit.h"
#include "report/check_text.h"

static const char help[] =
	"usage: midden check [LIMITS] [OPTIONS] [FILE]\n"
	"\n"
	"Ends with status 0 if all limits hold, and with 1 and the stacks behind it if not. At\n"
	"least one limit is needed. FILE defaults to the newest midden.*.mdn in the working\n"
	"directory.\n"
	"\n"
	"Limits; the value itself is allowed:\n"
	"  --max-peak SIZE          bytes held at the peak\n"
	"  --max-leaked SIZE        bytes not freed at the end\n"
	"  --max-unreachable SIZE   bytes that are lost, where `midden record --leaks` tells\n"
	"  --max-allocations N      calls that allocated\n"
	"  --max-temporary N        temporary allocations; or their share of all: 20%\n"
	"  --max-lost N             events that were not recorded (default 0)\n"
	"  --max-growth-vs OLD      growth since the profile OLD of peak, leaked and allocated\n"
	"                           bytes and of calls; followed by the limit: OLD 5%\n"
	"  SIZE has a unit: K, M, G, T and KiB, MiB, ... are powers of 1024, kB, MB, ... of 1000\n"
	"\n"
	"Options:\n"
	"  --allow-damaged          neither a damaged file nor lost events fail by themselves\n"
	"  --allow-unchecked NAMES  with --max-unreachable: processes of these programs need not\n"
	"                           have been looked at; patterns with commas between: sh,make\n"
	"  --suppressions FILE      leaks named in FILE, as LeakSanitizer reads it, do not count\n"
	"  --no-suppressions        what the C and C++ libraries keep counts as leaked too\n"
	"  --maps[=KIND]            limits on what the program mapped itself, not on blocks: all, "
	"or\n"
	"                           KIND anonymous, file, reserved, shared or break\n"
	"  --stacks N               name N stacks for each limit that does not hold (default 5)\n"
	"  --junit OUT              write the results to OUT as JUnit XML too\n"
	"  --all-frames             show malloc, operator new and the like in stacks too, and\n"
	"                           what belongs to the Python interpreter\n"
	"  --json                   print JSON\n"
	"  --color WHEN             auto (default: on a terminal, unless NO_COLOR is set), "
	"always,\n"
	"                           never\n"
	"  -h, --help               show this text\n"
	"\n"
	"Symbols:\n" OPTIONS_SYMBOLS_HELP;

#define STACKS_MOST 1000u

struct request {
	struct options shared;
	struct check_request check;
	const char *file;
	const char *baseline;
	const char *junit;
	bool wants_growth; /* the next word is the limit of growth */
};

enum option_code {
	OPTION_MAX = 256, /* + enum check_kind */
	OPTION_GROWTH = OPTION_MAX + CHECK_KINDS,
	OPTION_ALLOW_DAMAGED,
	OPTION_ALLOW_UNCHECKED,
	OPTION_STACKS,
	OPTION_JUNIT,
};

static const struct option options[] = {
	{"max-peak", required_argument, NULL, OPTION_MAX + CHECK_PEAK},
	{"max-leaked", required_argument, NULL, OPTION_MAX + CHECK_LEAKED},
	{"max-unreachable", required_argument, NULL, OPTION_MAX + CHECK_UNREACHABLE},
	{"max-allocations", required_argument, NULL, OPTION_MAX + CHECK_ALLOCATIONS},
	{"max-temporary", required_argument, NULL, OPTION_MAX + CHECK_TEMPORARY},
	{"max-lost", required_argument, NULL, OPTION_MAX + CHECK_LOST},
	{"max-growth-vs", required_argument, NULL, OPTION_GROWTH},
	{"allow-damaged", no_argument, NULL, OPTION_ALLOW_DAMAGED},
	{"allow-unchecked", required_argument, NULL, OPTION_ALLOW_UNCHECKED},
	{"stacks", required_argument, NULL, OPTION_STACKS},
	{"junit", required_argument, NULL, OPTION_JUNIT},
	OPTIONS_SUPPRESS,
	LOAD_MAPS_OPTION,
	OPTIONS_OUTPUT,
	OPTIONS_END,
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_limit(struct request *r, enum check_kind kind, const char *text)
{
	struct check_limit *limit = &r->check.limits[kind];
	bool good;

	*limit = (struct check_limit){.set = true};
	if (check_is_bytes(kind)) {
		good = amounts_parse_bytes(text, &limit->value);
	} else if (kind == CHECK_TEMPORARY && strchr(text, '%')) {
		limit->relative = true;
		good = amounts_parse_percent(text, &limit->value);
	} else {
		good = amounts_parse_count(text, &limit->value);
	}
	/* The largest number stands for no limit. */
	if (good && limit->value != UINT64_MAX)
		return COMMAND_GOOD;
	return message_usage("check", "%s is not a %s", text,
			     check_is_bytes(kind)      ? "size"
			     : kind == CHECK_TEMPORARY ? "number or percentage"
						       : "number");
}

static int parse_growth(struct request *r, const char *text)
{
	struct check_limit *limit = &r->check.limits[CHECK_PEAK_GROWTH];

	r->wants_growth = false;
	*limit = (struct check_limit){.set = true, .relative = true};
	if (amounts_parse_percent(text, &limit->value))
		return COMMAND_GOOD;
	return message_usage("check", "--max-growth-vs OLD is followed by a percentage, not %s",
			     text);
}

static int parse_stacks(struct request *r, const char *text)
{
	uint64_t count;

	if (!amounts_parse_count(text, &count) || count > STACKS_MOST)
		return message_usage("check", "%s is not a number of stacks, at most %u", text,
				     STACKS_MOST);
	r->check.stacks = count;
	return COMMAND_GOOD;
}

/* Words that are no options come in their order: OLD's limit, FILE. */
static int parse_word(struct request *r, const char *word)
{
	if (r->wants_growth)
		return parse_growth(r, word);
	if (r->file)
		return message_usage("check", "one FILE at a time");
	r->file = word;
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	if (code >= OPTION_MAX && code < OPTION_MAX + CHECK_KINDS)
		return parse_limit(r, (enum check_kind)(code - OPTION_MAX), argument);
	switch (code) {
	case 1:
		return parse_word(r, argument);
	case OPTION_GROWTH:
		r->baseline = argument;
		r->wants_growth = true;
		return COMMAND_GOOD;
	case OPTION_ALLOW_DAMAGED:
		r->check.allow_damaged = r->shared.load.allow_damaged = true;
		return COMMAND_GOOD;
	case OPTION_ALLOW_UNCHECKED:
		r->check.allow_unchecked = argument;
		return COMMAND_GOOD;
	case OPTION_STACKS:
		return parse_stacks(r, argument);
	case OPTION_JUNIT:
		r->junit = argument;
		return COMMAND_GOOD;
	default:
		return options_take(&r->shared, "check", code, argument);
	}
}

static bool has_limit(const struct check_request *c)
{
	unsigned kind = 0;

	while (kind < CHECK_KINDS && !c->limits[kind].set)
		kind++;
	return kind < CHECK_KINDS;
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"check", "-:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	for (; status == COMMAND_GOOD && optind < argc; optind++) /* behind -- */
		status = parse_word(r, argv[optind]);
	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	if (r->wants_growth)
		return message_usage("check", "--max-growth-vs OLD is followed by a percentage");
	if (!has_limit(&r->check))
		return message_usage("check", "nothing to check: set a limit, --max-leaked 0 say");
	return status;
}

/* ---- the work -------------------------------------------------------------------------------- */

static int write_junit(const struct check *c, const char *path)
{
	struct error e = {.offset = -1};
	struct outfile o;

	if (outfile_open(&o, path, &e) == 0) {
		check_junit_print(o.file, c);
		if (outfile_close(&o, &e) == 0)
			return COMMAND_GOOD;
	}
	message_print("cannot write %s", e.text);
	return COMMAND_FAILED;
}

static int print_check(const struct check *c, const struct request *r)
{
	struct output o;

	output_open(&o, r->shared.colour, false);
	if (r->shared.json)
		check_json_print(o.file, c);
	else
		check_text_print(o.file, c, &o.style);
	int status = output_close(&o);
	if (r->junit && write_junit(c, r->junit) != COMMAND_GOOD)
		status = COMMAND_FAILED;
	return c->failures ? COMMAND_FAILED : status;
}

static int check(struct profile *p, struct profile *before, struct request *r)
{
	struct model *m = model_new(p, &r->shared.model);
	struct model *baseline = before ? model_new(before, &r->shared.model) : NULL;
	bool *suppressed[2] = {
		baseline ? options_list_suppressed(&r->shared, baseline) : NULL,
		options_list_suppressed(&r->shared, m),
	};

	r->check.baseline = baseline;
	r->check.suppressed[0] = suppressed[0];
	r->check.suppressed[1] = suppressed[1];
	struct check *c = check_build(m, &r->check);
	int status = print_check(c, r);
	check_free(c);
	free(suppressed[0]);
	free(suppressed[1]);
	model_free(m);
	model_free(baseline);
	return status;
}

static int load_and_check(struct request *r)
{
	struct profile *p = load_profile(r->file, &r->shared.load);
	struct profile *before =
		p && r->baseline ? load_profile(r->baseline, &r->shared.load) : NULL;
	int status = COMMAND_FAILED;

	if (p && profile_is_by_tag(p)) {
		message_print("the profile counts by tag: it knows neither peak nor leaks");
	} else if (p && r->check.limits[CHECK_UNREACHABLE].set && !p->run.lost_flags) {
		message_refuse_lost(r->file, p);
	} else if (p && (before || !r->baseline)) {
		load_fill_model(&r->shared.load, &r->shared.model);
		status = check(p, before, r);
	}
	profile_free(p);
	profile_free(before);
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = {.check = {.stacks = 5},
			    .shared = {.load = {.symbols = true, .keep = true}}};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help)
		fputs(help, stdout);
	else if (status == COMMAND_GOOD)
		status = load_and_check(&r);
	options_free(&r.shared);
	return status;
}

const struct command command_check = {
	.name = "check",
	.summary = "fail where a profile exceeds limits, for automatic tests",
	.help = help,
	.run = run,
};
