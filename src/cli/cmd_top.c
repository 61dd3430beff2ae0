/* cmd_top.c -- `midden top`: who holds memory and who allocates, while the program runs. Runs: in
 * the midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/browse.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"

#define ROWS_USUAL 20u

static const char help[] =
	"usage: midden top [OPTIONS] [FILE | PID]\n"
	"\n"
	"Shows which functions hold memory, grow and allocate, every second anew, in a program\n"
	"that is being recorded; PID is its process id, or that of its `midden record`. Enter\n"
	"shows the stacks of a function, ? all keys. With FILE, the end of a recording; it\n"
	"defaults to the newest midden.*.mdn in the working directory.\n"
	"\n"
	"  -b, --batch          print text, and do not take over the terminal\n"
	"  -n, --count N        print N times, then end (default: until the program ends)\n"
	"  -l, --limit N        print N rows at most (default: 20)\n"
	"  -d, --delay SECONDS  renew so often (default: 1)\n"
	"  -s, --sort KEY       live (default), blocks, growth, calls or bytes\n"
	"  -f, --filter TEXT    only stacks through functions with TEXT in their name\n"
	"      --stacks         a row for each stack, not for each function\n"
	"      --color WHEN     auto (default: on a terminal, unless NO_COLOR is set), always, "
	"never\n"
	"  -h, --help           show this text\n"
	"\n"
	"Symbols:\n" OPTIONS_SYMBOLS_HELP;

struct request {
	struct options shared;
	struct tracking_view view;
	unsigned count; /* 0: without end */
	unsigned limit;
	int delay_ms;
	bool batch;
};

enum option_code { OPTION_STACKS = 256 };

static const struct option options[] = {
	{"batch", no_argument, NULL, 'b'},
	{"count", required_argument, NULL, 'n'},
	{"limit", required_argument, NULL, 'l'},
	{"delay", required_argument, NULL, 'd'},
	{"sort", required_argument, NULL, 's'},
	{"filter", required_argument, NULL, 'f'},
	{"stacks", no_argument, NULL, OPTION_STACKS},
	{"color", required_argument, NULL, OPTIONS_COLOUR},
	{"colour", required_argument, NULL, OPTIONS_COLOUR},
	OPTIONS_LAST,
};

static int parse_delay(struct request *r, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0.1 && seconds <= 3600))
		return message_usage("top", "the delay must be 0.1 to 3600 seconds, not %s", text);
	r->delay_ms = (int)(seconds * 1000);
	return COMMAND_GOOD;
}

static int parse_sort(struct request *r, const char *name)
{
	r->view.key = ranking_find(name);
	if (r->view.key == RANKING_KEYS)
		return message_usage(
			"top", "--sort: %s is none of live, blocks, growth, calls, bytes", name);
	return COMMAND_GOOD;
}

static int parse_filter(struct request *r, const char *text)
{
	if (strlen(text) > TRACKING_FILTER_MOST)
		return message_usage("top", "a filter has at most %u bytes", TRACKING_FILTER_MOST);
	memcpy(r->view.filter, text, strlen(text) + 1);
	return COMMAND_GOOD;
}

static int parse_option(void *request, int code, const char *argument)
{
	struct request *r = request;

	switch (code) {
	case 'b':
		r->batch = true;
		return COMMAND_GOOD;
	case 'n':
		return options_parse_count("top", "count", argument, &r->count);
	case 'l':
		return options_parse_count("top", "limit", argument, &r->limit);
	case 'd':
		return parse_delay(r, argument);
	case 's':
		return parse_sort(r, argument);
	case 'f':
		return parse_filter(r, argument);
	case OPTION_STACKS:
		r->view.by_stack = true;
		return COMMAND_GOOD;
	default:
		return options_take(&r->shared, "top", code, argument);
	}
}

static int parse_arguments(struct request *r, int argc, char **argv)
{
	static const struct options_table table = {"top", ":bn:l:d:s:f:h", options, parse_option};
	int status = options_parse(&table, r, argc, argv);

	if (status != COMMAND_GOOD || r->shared.help)
		return status;
	if (argc - optind > 1)
		return message_usage("top", "one FILE or PID at a time");
	return COMMAND_GOOD;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_state(FILE *out, const struct tracking *t, const struct request *r,
			const struct style *style)
{
	const struct ranking_request request = tracking_get_request(t);
	struct ranking ranking;

	ranking_build(&ranking, &request);
	struct top_text text = tracking_get_text(t, &ranking);
	text.style = *style;
	top_text_print_head(out, &text);
	top_text_print_titles(out, &text);
	for (size_t i = 0; i < ranking.rows.count && i < r->limit; i++)
		top_text_print_row(out, &text, &ranking.rows.at[i]);
	ranking_free(&ranking);
}

static bool wait_for_next(struct tracking *t, int delay_ms)
{
	const struct timespec delay = {delay_ms / 1000, delay_ms % 1000 * 1000000L};

	while (t->live) {
		(void)nanosleep(&delay, NULL);
		if (tracking_step(t))
			return true;
	}
	return false;
}

static int print_states(struct tracking *t, const struct request *r, struct output *o)
{
	for (unsigned i = 1;; i++) {
		print_state(o->file, t, r, &o->style);
		if (fflush(o->file) != 0 || i == r->count || !wait_for_next(t, r->delay_ms))
			break;
		fputc('\n', o->file);
	}
	return output_close(o);
}

static int show(const struct request *r, struct tracking *t)
{
	struct output o;

	t->view = r->view;
	output_open(&o, r->shared.colour, false);
	if (r->batch || r->count || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return print_states(t, r, &o);
	return browse_run(t, r->delay_ms, &o.style);
}

static int run(int argc, char **argv)
{
	struct request r = {
		.shared = {.load = {.symbols = true, .keep = true}},
		.limit = ROWS_USUAL,
		.delay_ms = 1000,
	};
	struct tracking tracking = {0};
	int status = parse_arguments(&r, argc, argv);

	if (status == COMMAND_GOOD && r.shared.help) {
		command_print_help(&command_top, stdout);
	} else if (status == COMMAND_GOOD) {
		const char *word = argv[optind];
		pid_t pid = load_find_pid(word);

		status = tracking_begin(&tracking, pid, word, &r.shared.load);
		if (status == COMMAND_GOOD)
			status = show(&r, &tracking);
	}
	tracking_end(&tracking);
	options_free(&r.shared);
	return status;
}

const struct command command_top = {
	.name = "top",
	.summary = "who holds memory and allocates, every second",
	.help = help,
	.run = run,
};
