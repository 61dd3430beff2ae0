/* report_options.c -- the options of `midden report`, read into what they ask for. Runs: in the
 * midden command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/amounts.h"
#include "cli/command.h"
#include "cli/message.h"
#include "model/by_thread.h"
#include "model/instances.h"
#include "model/pinning.h"
#include "model/snapshots.h"
#include "report/human.h"

#define LIFETIME_ROWS 25u

const char report_options_help[] =
	"usage: midden report [OPTIONS] [FILE|DIRECTORY]\n"
	"\n"
	"Shows which call stacks are behind a figure. FILE defaults to the newest midden.*.mdn in\n"
	"the working directory; of a DIRECTORY all profiles are shown as one sum.\n"
	"\n"
	"What is counted:\n" OPTIONS_FIGURES_HELP
	"  --realloc            resized by realloc, by number of calls\n"
	"  --own-peak           the most that each stack ever held, each at its own time\n"
	"  --live-at TIME       live at a time: 1.5s, 200ms, 50%, @start, @peak, @end,\n"
	"                       a snapshot's NAME (@snapshot:NAME if it looks like a time);\n"
	"                       exact in a profile recorded with --trace\n"
	"  --growth T1..T2      live at T2 less what was live at T1: what grew, what shrank\n"
	"  --figure NAME        the same by name: peak, leaked, allocated, calls, temporary,\n"
	"                       realloc, own-peak\n"
	"  --lifetime[=ORDER]   how long blocks lived, the longest first, or the shortest\n"
	"  --histogram WHAT     all blocks of the program by size or by lifetime\n"
	"  --snapshots          the moments that were kept on request, and how they differ\n"
	"  --snapshot NAME      live at one of them, by name or number\n"
	"  --snapshot-deltas[=HOW]\n"
	"                       what grew and shrank from each to the next; cumulative: from the\n"
	"                       first to the last\n"
	"  --timeline           what was live over time, as a chart\n"
	"  --rss                which blocks keep which pages of the heap resident, and what of\n"
	"                       them is dead; recorded with --rss or `midden snapshot --rss`\n"
	"  --types              live objects of a Python program by type; recorded as for --rss\n"
	"  --at MOMENT          --rss or --types then: @peak (of the resident size), @end, a\n"
	"                       snapshot's name or number, or at the look nearest to a time,\n"
	"                       767ms, 50% (default: the last look; for --types at a snapshot,\n"
	"                       else at the peak)\n"
	"  --globals            global and thread-local variables of the program and its "
	"libraries\n"
	"  --stacks             the deepest stack of each thread by function; of a program built "
	"with\n"
	"                       -finstrument-functions, recorded with --stack-mode=enter-exit\n"
	"  --findings           habits that cost time or memory, with the evidence\n" LOAD_MAPS_HELP
	"\n"
	"Which stacks:\n"
	"  -i, --include PAT    those through a function; PAT is a glob or /regex/ (repeatable)\n"
	"  -x, --exclude PAT    those not through it (repeatable)\n"
	"  --module PAT         those through a program or library (repeatable)\n"
	"  --not-module PAT     those not through it (repeatable)\n"
	"  --tag PAT            those inside of a tag (repeatable)\n"
	"  --thread PAT         what threads of that name or number allocated (repeatable)\n"
	"  --min-size SIZE      blocks of at least SIZE bytes: 512, 4K, 1.5M; of stacks with\n"
	"                       smaller ones too, a trace tells which\n"
	"  --max-size SIZE      at most\n"
	"  --suppressions FILE  set apart leaks named in FILE, as LeakSanitizer reads it\n"
	"  --no-suppressions    show what the C and C++ libraries keep as leaks too\n"
	"\n"
	"How it is shown:\n"
	"  --tree               as a call tree (default)\n"
	"  --inverted           allocating functions first, their callers below (default)\n"
	"  --top-down           from the program's start down to the allocating functions\n"
	"  --flat               one line per function\n"
	"  --by KEY             one line per function, line, module, tag or thread\n"
	"  -t, --threshold PCT  sum up what is below this share of the whole (default 1)\n"
	"  -d, --depth N        show N levels of calls (default: all)\n"
	"  -n, --limit N        show N lines of a table (default: all; lifetimes: 25); in a tree,\n"
	"                       N functions, and N branches below each frame\n"
	"  --no-fold            show recursion as it was, not once with a "
	"number\n" OPTIONS_OUTPUT_HELP "\n"
	"Symbols:\n" OPTIONS_SYMBOLS_HELP;

enum option_code {
	OPTION_LIVE_AT = 256,
	OPTION_GROWTH,
	OPTION_LIFETIME,
	OPTION_HISTOGRAM,
	OPTION_SNAPSHOTS,
	OPTION_SNAPSHOT,
	OPTION_DELTAS,
	OPTION_TIMELINE,
	OPTION_FINDINGS,
	OPTION_RSS,
	OPTION_AT,
	OPTION_GLOBALS,
	OPTION_STACKS,
	OPTION_TYPES,
	OPTION_MODULE,
	OPTION_NOT_MODULE,
	OPTION_TAG,
	OPTION_THREAD,
	OPTION_MIN_SIZE,
	OPTION_MAX_SIZE,
	OPTION_TREE,
	OPTION_FLAT,
	OPTION_BY,
	OPTION_BY_THREAD,
	OPTION_BY_TAG,
	OPTION_NO_FOLD,
};

static const struct option options[] = {
	OPTIONS_FIGURES,
	LOAD_MAPS_OPTION,
	{"own-peak", no_argument, NULL, OPTIONS_FIGURE + FIGURE_OWN_PEAK},
	{"realloc", no_argument, NULL, OPTIONS_FIGURE + FIGURE_REALLOC},
	{"live-at", required_argument, NULL, OPTION_LIVE_AT},
	{"growth", required_argument, NULL, OPTION_GROWTH},
	{"lifetime", optional_argument, NULL, OPTION_LIFETIME},
	{"histogram", required_argument, NULL, OPTION_HISTOGRAM},
	{"snapshots", no_argument, NULL, OPTION_SNAPSHOTS},
	{"snapshot", required_argument, NULL, OPTION_SNAPSHOT},
	{"snapshot-deltas", optional_argument, NULL, OPTION_DELTAS},
	{"timeline", no_argument, NULL, OPTION_TIMELINE},
	{"findings", no_argument, NULL, OPTION_FINDINGS},
	{"rss", no_argument, NULL, OPTION_RSS},
	{"at", required_argument, NULL, OPTION_AT},
	{"globals", no_argument, NULL, OPTION_GLOBALS},
	{"stacks", no_argument, NULL, OPTION_STACKS},
	{"types", no_argument, NULL, OPTION_TYPES},
	{"include", required_argument, NULL, 'i'},
	{"exclude", required_argument, NULL, 'x'},
	{"module", required_argument, NULL, OPTION_MODULE},
	{"not-module", required_argument, NULL, OPTION_NOT_MODULE},
	{"tag", required_argument, NULL, OPTION_TAG},
	{"thread", required_argument, NULL, OPTION_THREAD},
	{"min-size", required_argument, NULL, OPTION_MIN_SIZE},
	{"max-size", required_argument, NULL, OPTION_MAX_SIZE},
	OPTIONS_SUPPRESS,
	{"tree", no_argument, NULL, OPTION_TREE},
	{"flat", no_argument, NULL, OPTION_FLAT},
	{"by", required_argument, NULL, OPTION_BY},
	{"by-thread", no_argument, NULL, OPTION_BY_THREAD},
	{"by-tag", no_argument, NULL, OPTION_BY_TAG},
	OPTIONS_TREE,
	{"limit", required_argument, NULL, 'n'},
	{"no-fold", no_argument, NULL, OPTION_NO_FOLD},
	OPTIONS_OUTPUT,
	OPTIONS_PAGER,
	OPTIONS_END,
};

/* ---- what is counted ------------------------------------------------------------------------- */

/* One of the shapes of a figure; --tree, --flat and --by choose among them. */
static bool is_of_figure(enum sheet_shape shape)
{
	return shape == SHEET_TREE || shape == SHEET_FLAT || shape == SHEET_THREADS;
}

static int set_figure(struct report_options *o, enum figure f)
{
	o->sheet.view.figure = f;
	if (!is_of_figure(o->sheet.shape))
		o->sheet.shape = SHEET_TREE;
	return COMMAND_GOOD;
}

static int parse_figure(struct report_options *o, const char *name)
{
	enum figure f = figure_find_any(name);

	if (f == FIGURE_LIVE)
		return message_usage("report", "live needs a time: --live-at TIME");
	if (f == FIGURE_GROWTH)
		return message_usage("report", "growth needs two times: --growth T1..T2");
	if (f == FIGURE_ALL)
		return message_usage("report", "there is no figure %s", name);
	return set_figure(o, f);
}

static int parse_times(struct report_options *o, int code, const char *text)
{
	struct error e = {0};
	int status = code == OPTION_GROWTH ? moment_parse_span(text, o->times, &e)
					   : moment_parse(text, &o->times[1], &e);

	if (status != 0)
		return message_usage("report", "%s", e.text);
	return set_figure(o, code == OPTION_GROWTH ? FIGURE_GROWTH : FIGURE_LIVE);
}

static int parse_snapshot(struct report_options *o, const char *name)
{
	o->times[1] = (struct moment_name){.kind = MOMENT_AT_SNAPSHOT, .text = name};
	return set_figure(o, FIGURE_LIVE);
}

static int parse_deltas(struct report_options *o, const char *how)
{
	if (how && strcmp(how, "cumulative") != 0)
		return message_usage("report", "--snapshot-deltas is cumulative or not, not %s",
				     how);
	o->cumulative = how != NULL;
	o->sheet.deltas = !how;
	return set_figure(o, FIGURE_GROWTH);
}

static int parse_lifetime(struct report_options *o, const char *order)
{
	if (order && strcmp(order, "longest") != 0 && strcmp(order, "shortest") != 0)
		return message_usage("report", "--lifetime is longest or shortest, not %s", order);
	o->sheet.shape = SHEET_LIFETIME;
	o->sheet.shortest_first = order && strcmp(order, "shortest") == 0;
	return COMMAND_GOOD;
}

static int parse_histogram(struct report_options *o, const char *what)
{
	if (strcmp(what, "size") == 0)
		o->sheet.shape = SHEET_SIZES;
	else if (strcmp(what, "lifetime") == 0)
		o->sheet.shape = SHEET_LIFETIMES;
	else
		return message_usage("report", "--histogram is size or lifetime, not %s", what);
	return COMMAND_GOOD;
}

static int parse_by(struct report_options *o, const char *key)
{
	static const char *const keys[] = {
		[FLAT_BY_FUNCTION] = "function",
		[FLAT_BY_LINE] = "line",
		[FLAT_BY_MODULE] = "module",
		[FLAT_BY_TAG] = "tag",
	};
	unsigned i = 0;

	o->by_given = true;
	o->by_thread = strcmp(key, "thread") == 0;
	if (o->by_thread)
		return COMMAND_GOOD;
	while (i <= FLAT_BY_TAG && strcmp(key, keys[i]) != 0)
		i++;
	if (i > FLAT_BY_TAG)
		return message_usage("report",
				     "--by is function, line, module, tag or thread, not %s", key);
	o->sheet.key = (enum flat_key)i;
	return COMMAND_GOOD;
}

/* ---- which stacks ---------------------------------------------------------------------------- */

static int parse_pattern(struct pattern_list *list, const char *text)
{
	struct error e = {0};

	if (pattern_add(list, text, &e) != 0)
		return message_usage("report", "%s", e.text);
	return COMMAND_GOOD;
}

static int parse_size(const char *text, uint64_t *bytes)
{
	if (!amounts_parse_bytes(text, bytes))
		return message_usage("report", "%s is not a size: 512, 4K, 1.5M, 2G", text);
	return COMMAND_GOOD;
}

static int parse_filter(struct report_options *o, int code, const char *argument)
{
	struct filter *f = &o->filter;

	switch (code) {
	case 'i':
		return parse_pattern(&f->include, argument);
	case 'x':
		return parse_pattern(&f->exclude, argument);
	case OPTION_MODULE:
		return parse_pattern(&f->modules, argument);
	case OPTION_NOT_MODULE:
		return parse_pattern(&f->no_modules, argument);
	case OPTION_TAG:
		return parse_pattern(&f->tags, argument);
	case OPTION_THREAD:
		return parse_pattern(&f->threads, argument);
	case OPTION_MIN_SIZE:
		return parse_size(argument, &f->size_min);
	default:
		f->has_size_max = true;
		return parse_size(argument, &f->size_max);
	}
}

/* ---- how it is shown ------------------------------------------------------------------------- */

static int parse_limit(struct report_options *o, const char *text)
{
	unsigned limit;
	int status = options_parse_count("report", "limit", text, &limit);

	if (status == COMMAND_GOOD)
		o->sheet.limit = limit;
	return status;
}

static void parse_form(struct report_options *o, int code)
{
	switch (code) {
	case OPTION_TREE:
		o->sheet.shape = SHEET_TREE;
		o->by_given = o->by_thread = false;
		break;
	case OPTION_FLAT:
	case OPTION_BY_THREAD:
		o->by_given = true;
		o->by_thread = code == OPTION_BY_THREAD;
		break;
	case OPTION_NO_FOLD:
		o->shared.view.fold = false;
		break;
	case OPTION_SNAPSHOTS:
		o->sheet.shape = SHEET_SNAPSHOTS;
		break;
	case OPTION_RSS:
		o->sheet.shape = SHEET_RSS;
		break;
	case OPTION_GLOBALS:
		o->sheet.shape = SHEET_GLOBALS;
		break;
	case OPTION_STACKS:
		o->sheet.shape = SHEET_STACKS;
		break;
	case OPTION_TYPES:
		o->sheet.shape = SHEET_TYPES;
		break;
	default:
		o->sheet.shape = code == OPTION_TIMELINE ? SHEET_TIMELINE : SHEET_FINDINGS;
	}
}

/* Options that other commands have too, but for figures: here they choose a shape as well. */
static int parse_shared(struct report_options *o, int code, const char *argument)
{
	if (code == OPTIONS_FIGURE_NAME)
		return parse_figure(o, argument);
	if (code >= OPTIONS_FIGURE && code < OPTIONS_FIGURE_NAME)
		return set_figure(o, (enum figure)(code - OPTIONS_FIGURE));
	return options_take(&o->shared, "report", code, argument);
}

static int parse_option(void *request, int code, const char *argument)
{
	struct report_options *o = request;

	switch (code) {
	case 'n':
		return parse_limit(o, argument);
	case OPTION_LIVE_AT:
	case OPTION_GROWTH:
		return parse_times(o, code, argument);
	case OPTION_SNAPSHOT:
		return parse_snapshot(o, argument);
	case OPTION_DELTAS:
		return parse_deltas(o, argument);
	case OPTION_LIFETIME:
		return parse_lifetime(o, argument);
	case OPTION_HISTOGRAM:
		return parse_histogram(o, argument);
	case OPTION_AT:
		o->rss_at = argument;
		return COMMAND_GOOD;
	case OPTION_BY:
		return parse_by(o, argument);
	case OPTION_BY_TAG:
		return parse_by(o, "tag");
	case OPTION_TREE:
	case OPTION_FLAT:
	case OPTION_BY_THREAD:
	case OPTION_NO_FOLD:
	case OPTION_SNAPSHOTS:
	case OPTION_TIMELINE:
	case OPTION_FINDINGS:
	case OPTION_GLOBALS:
	case OPTION_STACKS:
	case OPTION_TYPES:
	case OPTION_RSS:
		parse_form(o, code);
		return COMMAND_GOOD;
	case 'i':
	case 'x':
	case OPTION_MODULE:
	case OPTION_NOT_MODULE:
	case OPTION_TAG:
	case OPTION_THREAD:
	case OPTION_MIN_SIZE:
	case OPTION_MAX_SIZE:
		return parse_filter(o, code, argument);
	default:
		return parse_shared(o, code, argument);
	}
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Options that do not go together. */
static int check(const struct report_options *o)
{
	const struct sheet *s = &o->sheet;

	if (o->filter.has_size_max && o->filter.size_min > o->filter.size_max)
		return message_usage("report",
				     "--min-size is more than --max-size: no block is so");
	if ((s->shape == SHEET_SIZES || s->shape == SHEET_LIFETIMES) &&
	    !filter_is_empty(&o->filter))
		return message_usage("report", "--histogram is of the whole program: no filters");
	if (s->shape == SHEET_GLOBALS && !filter_is_empty(&o->filter))
		return message_usage("report", "--globals is of the whole program: no filters");
	if (s->shape == SHEET_STACKS && !filter_is_empty(&o->filter))
		return message_usage("report", "--stacks is of the whole program: no filters");
	if (s->shape == SHEET_TYPES && !filter_is_empty(&o->filter))
		return message_usage("report", "--types is of the whole program: no filters");
	if (o->rss_at && s->shape != SHEET_RSS && s->shape != SHEET_TYPES)
		return message_usage("report", "--at goes with --rss or --types");
	if (s->shape == SHEET_RSS && (o->by_thread || s->key == FLAT_BY_TAG))
		return message_usage("report", "--rss is by function, line or module");
	if (s->shape == SHEET_LIFETIME && (o->by_thread || s->key == FLAT_BY_TAG))
		return message_usage("report", "--lifetime is by function, line or module");
	if (s->shape != SHEET_THREADS)
		return COMMAND_GOOD;
	if (!by_thread_is_possible(s->view.figure))
		return message_usage("report", "%s is not recorded thread by thread",
				     figure_name(s->view.figure));
	return COMMAND_GOOD;
}

static void complete(struct report_options *o)
{
	struct sheet *s = &o->sheet;

	if (o->by_given && is_of_figure(s->shape))
		s->shape = o->by_thread ? SHEET_THREADS : SHEET_FLAT;
	if (s->shape == SHEET_LIFETIME && !s->limit)
		s->limit = LIFETIME_ROWS;
	if (s->shape == SHEET_FINDINGS)
		s->view.figure = FIGURE_LEAKED;
	if (!o->shared.no_suppress)
		suppress_add_known(&o->shared.suppress);
	s->tree = o->shared.view;
	s->tree.figure = s->view.figure;
	s->tree.limit = (unsigned)s->limit;
	s->view.filter = &o->filter;
	s->view.suppress = &o->shared.suppress;
	s->findings = s->shape == SHEET_TREE && s->view.figure == FIGURE_PEAK &&
		      filter_is_empty(&o->filter);
}

int report_options_parse(struct report_options *o, int argc, char **argv)
{
	static const struct options_table table = {"report", ":t:d:n:i:x:h", options, parse_option};

	o->shared.load.symbols = o->shared.load.keep = true;
	o->shared.view.threshold = 1.0;
	o->shared.view.fold = true;
	int status = options_parse(&table, o, argc, argv);
	if (status == COMMAND_GOOD && argc - optind > 1)
		return message_usage("report", "one FILE at a time");
	complete(o);
	return status == COMMAND_GOOD ? check(o) : status;
}

void report_options_free(struct report_options *o)
{
	options_free(&o->shared);
	filter_free(&o->filter);
}

/* Whether threads can be told apart as far as shape and filter ask for it. */
static int check_threads(const struct report_options *o, const struct profile *p, struct error *e)
{
	const struct sheet *s = &o->sheet;
	bool of_figure = is_of_figure(s->shape);

	if (s->shape == SHEET_THREADS
		    ? !filter_asks_for_stacks(&o->filter) || by_thread_has_shares(p, s->view.figure)
		    : answer_is_possible(p, &o->filter, of_figure ? s->view.figure : FIGURE_ALL))
		return 0;
	if (!of_figure)
		return error_set(e, "--thread goes with trees and tables of a figure only");
	if (s->view.figure >= FIGURE_KINDS)
		return error_set(e, "%s is not kept for each thread's share of a stack",
				 figure_name(s->view.figure));
	return error_set(e, "the profile does not tell which thread allocated at which stack");
}

/* Of maps there are figures by stack, their sum over time, and nothing else. */
static int check_maps(const struct report_options *o, const struct profile *p, struct error *e)
{
	const struct sheet *s = &o->sheet;
	bool is_kept =
		s->shape == SHEET_TREE || s->shape == SHEET_FLAT || s->shape == SHEET_LIFETIME;

	if (!p->of_maps || (is_kept && s->view.figure != FIGURE_LIVE &&
			    s->view.figure != FIGURE_GROWTH && !o->filter.threads.all.count))
		return 0;
	if (s->shape == SHEET_TIMELINE && p->points.count && filter_is_empty(&o->filter))
		return 0;
	if (s->shape == SHEET_TIMELINE)
		return error_set(e, "over time all maps are known together: not by kind or stack, "
				    "nor in a profile of an older midden");
	return error_set(e, "--maps goes with trees and tables of stacks and with --timeline: by "
			    "stack and time, and by thread, maps are not kept");
}

static int apply_deltas(struct view *v, const struct profile *p, struct error *e)
{
	if (p->snapshots.count < 2)
		return error_set(e, "the profile has %s: a change needs two",
				 human_things(p->snapshots.count, "snapshot").text);
	v->from = snapshots_get_moment(p, 0);
	v->at = snapshots_get_moment(p, p->snapshots.count - 1);
	return 0;
}

static int apply_rss(struct report_options *o, const struct profile *p, struct error *e)
{
	long survey = o->sheet.shape == SHEET_RSS ? pinning_find(p, o->rss_at, e)
						  : instances_find(p, o->rss_at, e);

	o->sheet.survey = survey < 0 ? 0 : (size_t)survey;
	return survey < 0 ? -1 : 0;
}

int report_options_apply(struct report_options *o, const struct profile *p, struct error *e)
{
	struct view *v = &o->sheet.view;

	if (check_maps(o, p, e) != 0 || check_threads(o, p, e) != 0)
		return -1;
	if (o->sheet.shape == SHEET_GLOBALS && !p->variables.count)
		return error_set(e, "no variables are known: a merged profile has none, nor one "
				    "recorded with --tags or by an older midden");
	if (o->sheet.shape == SHEET_STACKS && !p->depths.count)
		return error_set(e, "no stack is known by function: build the program with "
				    "-finstrument-functions and record it with "
				    "--stack-mode=enter-exit");
	if (o->sheet.shape == SHEET_RSS || o->sheet.shape == SHEET_TYPES)
		return apply_rss(o, p, e);
	if (v->figure != FIGURE_LIVE && v->figure != FIGURE_GROWTH)
		return 0;
	if (o->sheet.deltas || o->cumulative)
		return apply_deltas(v, p, e);
	if (v->figure == FIGURE_GROWTH && moment_find(p, &o->times[0], &v->from, e) != 0)
		return -1;
	if (moment_find(p, &o->times[1], &v->at, e) != 0)
		return -1;
	if (v->figure == FIGURE_GROWTH && v->from.time_ns > v->at.time_ns)
		return error_set(e, "the span of --growth goes back in time");
	return 0;
}
