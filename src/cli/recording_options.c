/* recording_options.c -- options of a recording, from words or from the environment.
 * Runs: in `midden record` and `midden collect`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amounts.h"
#include "base/mem.h"
#include "cli/outfile.h"
#include "cli/switches.h"
#include "format/clock.h"
#include "format/env.h"

static int parse_in_range(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	return !amounts_parse_bytes(text, value) || *value < low || *value > high ? -1 : 0;
}

int recording_set_max_depth(struct recording_options *options, const char *text, struct error *e)
{
	uint64_t value;

	if (parse_in_range(text, 8, 16384, &value))
		return error_set(e, "the depth of stacks must be 8 to 16384, not '%s'", text);
	options->collect.max_depth = (uint32_t)value;
	return 0;
}

int recording_set_buffer(struct recording_options *options, const char *text, struct error *e)
{
	if (parse_in_range(text, 1 << 20, UINT64_C(1) << 30, &options->collect.buffer_bytes))
		return error_set(e, "the buffer must be 1M to 1G, not '%s'", text);
	return 0;
}

int recording_set_patience(struct recording_options *options, const char *text, struct error *e)
{
	uint64_t value;

	if (parse_in_range(text, 10, 600000, &value))
		return error_set(e, "the patience must be 10 to 600000 ms, not '%s'", text);
	options->collect.patience_ms = (uint32_t)value;
	return 0;
}

int recording_set_mode(struct recording_options *options, const char *text, struct error *e)
{
	if (!*text || strcmp(text, "exact") == 0 || strcmp(text, "off") == 0)
		options->collect.mode = SEGMENT_MODE_EXACT;
	else if (strcmp(text, "sample") == 0)
		options->collect.mode = SEGMENT_MODE_SAMPLE;
	else if (strcmp(text, "tags") == 0)
		options->collect.mode = SEGMENT_MODE_TAGS;
	else
		return error_set(e, "the mode must be exact, sample or tags, not '%s'", text);
	return 0;
}

int recording_set_python(struct recording_options *options, const char *text, struct error *e)
{
	static const char *const modes[SEGMENT_PYTHON_MODES] = {
		[SEGMENT_PYTHON_MIXED] = "mixed", [SEGMENT_PYTHON_ONLY] = "only",
		[SEGMENT_PYTHON_FULL] = "full",	  [SEGMENT_PYTHON_DOMAINS] = "domains",
		[SEGMENT_PYTHON_OFF] = "off",
	};

	for (uint32_t i = 0; i < SEGMENT_PYTHON_MODES; i++) {
		if (strcmp(text, modes[i]) != 0)
			continue;
		options->collect.python = (enum segment_python)i;
		return 0;
	}
	return error_set(e, "frames of Python can be mixed, only, full, domains or off, not '%s'",
			 text);
}

int recording_set_stack_mode(struct recording_options *options, const char *text, struct error *e)
{
	bool enter_exit = strcmp(text, "enter-exit") == 0;

	if (!enter_exit && strcmp(text, "unwind") != 0)
		return error_set(e, "stacks come from unwind or enter-exit, not '%s'", text);
	options->collect.enter_exit = enter_exit;
	return 0;
}

int recording_set_pymalloc(struct recording_options *options, const char *text, struct error *e)
{
	static const char *const modes[SEGMENT_PYMALLOC_MODES] = {
		[SEGMENT_PYMALLOC_SAMPLED] = "sampled",
		[SEGMENT_PYMALLOC_EXACT] = "exact",
		[SEGMENT_PYMALLOC_OFF] = "off",
	};

	for (uint32_t i = 0; i < SEGMENT_PYMALLOC_MODES; i++) {
		if (strcmp(text, modes[i]) != 0)
			continue;
		options->collect.pymalloc = (enum segment_pymalloc)i;
		options->pymalloc_chosen = true;
		return 0;
	}
	return error_set(e, "small objects of Python can be sampled, exact or off, not '%s'", text);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Samples of small objects are closer together than others: what is large is not among them. */
#define SMALL_PERIOD_BYTES (UINT64_C(64) << 10)
#define SAMPLE_BLOCKS_MAX  16384 /* half of the table in the target: capture/sampler.c */

static int set_period(struct recording_options *options, const char *text, struct error *e)
{
	if (parse_in_range(text, 1, SEGMENT_PERIOD_MAX, &options->collect.sample_period))
		return error_set(e, "samples must be 1 byte to 1024G apart, not '%s'", text);
	return 0;
}

int recording_set_sample(struct recording_options *options, const char *text, struct error *e)
{
	options->collect.mode = SEGMENT_MODE_SAMPLE;
	return text ? set_period(options, text, e) : 0;
}

int recording_set_sample_blocks(struct recording_options *options, const char *text,
				struct error *e)
{
	uint64_t value;

	if (parse_in_range(text, 16, SAMPLE_BLOCKS_MAX, &value))
		return error_set(e, "the most samples alive must be 16 to %d, not '%s'",
				 SAMPLE_BLOCKS_MAX, text);
	options->collect.sample_blocks = (uint32_t)value;
	return 0;
}

int recording_set_sample_seed(struct recording_options *options, const char *text, struct error *e)
{
	if (!amounts_parse_bytes(text, &options->collect.sample_seed))
		return error_set(e, "the seed of samples must be a number, not '%s'", text);
	return 0;
}

/* Programs that run in many places must not all be sampled alike. */
static uint64_t get_random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = clock_monotonic_ns() ^ (uint64_t)getpid() << 32;
	return seed;
}

static int init_sample(struct recording_options *options, struct error *e)
{
	const char *period = getenv(ENV_SAMPLE);
	const char *blocks = getenv(ENV_SAMPLE_BLOCKS);
	const char *seed = getenv(ENV_SAMPLE_SEED);

	options->collect.sample_period = UINT64_C(512) << 10;
	options->collect.small_period = SMALL_PERIOD_BYTES;
	options->collect.sample_seed = get_random_seed();
	if ((period && set_period(options, period, e)) ||
	    (blocks && recording_set_sample_blocks(options, blocks, e)) ||
	    (seed && recording_set_sample_seed(options, seed, e)))
		return -1;
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool is_on(const char *value)
{
	return value && *value && strcmp(value, "0") != 0;
}

static int init_switches(struct recording_options *options, struct error *e)
{
	bool start = true;

	if (switches_read(ENV_FOLLOW, &options->collect.follow, e) ||
	    switches_read(ENV_SYMBOLS, &options->symbols, e) ||
	    switches_read(ENV_TRACE, &options->trace, e) ||
	    switches_read(ENV_MAPS, &options->collect.maps, e) ||
	    switches_read(ENV_LEAKS, &options->collect.leaks, e) ||
	    switches_read(ENV_STACKS, &options->collect.stacks, e) ||
	    switches_read(ENV_RSS, &options->collect.surveys, e) ||
	    switches_read(ENV_START, &start, e))
		return -1;
	options->collect.delayed = !start;
	return 0;
}

static int init_triggers(struct trigger_options *triggers, struct error *e)
{
	const char *every = getenv(ENV_SNAPSHOT_EVERY);
	const char *limits = getenv(ENV_SNAPSHOT_AT);
	const char *number = getenv(ENV_SNAPSHOT_SIGNAL);

	if ((every && *every && triggers_parse_every(triggers, every, e)) ||
	    (limits && triggers_parse_limits(triggers, limits, e)) ||
	    (number && *number && triggers_parse_signal(triggers, number, e)))
		return -1;
	return 0;
}

int recording_options_init(struct recording_options *options, struct error *e)
{
	const char *depth = getenv(ENV_MAX_DEPTH);
	const char *buffer = getenv(ENV_BUFFER);
	const char *patience = getenv(ENV_PATIENCE);
	const char *python = getenv(ENV_PYTHON);
	const char *pymalloc = getenv(ENV_PYMALLOC);
	const char *stack_mode = getenv(ENV_STACK_MODE);
	const char *target = getenv(ENV_TARGET_MODE);
	const char *mode = target ? target : getenv(ENV_MODE);
	const char *http = getenv(ENV_HTTP);
	const char *start_at = getenv(ENV_START_AT);
	const char *token_file = getenv(ENV_HTTP_TOKEN_FILE);

	*options = (struct recording_options){
		.output = getenv(ENV_OUTPUT),
		.collect = {.buffer_bytes = 4 << 20, .max_depth = 512, .patience_ms = 2000},
		.symbols = true,
		.http = {.listener = -1, .announce = -1},
	};
	if (init_switches(options, e) || (mode && recording_set_mode(options, mode, e)) ||
	    (depth && recording_set_max_depth(options, depth, e)) ||
	    (buffer && recording_set_buffer(options, buffer, e)) ||
	    (patience && recording_set_patience(options, patience, e)) ||
	    (python && *python && recording_set_python(options, python, e)) ||
	    (pymalloc && *pymalloc && recording_set_pymalloc(options, pymalloc, e)) ||
	    (stack_mode && *stack_mode && recording_set_stack_mode(options, stack_mode, e)) ||
	    (start_at && *start_at && beginning_parse(&options->beginning, start_at, e)) ||
	    (is_on(http) && servant_parse_address(&options->http, http, e)) ||
	    (token_file && *token_file && servant_read_token(&options->http, token_file, e)) ||
	    init_sample(options, e))
		return -1;
	return init_triggers(&options->triggers, e);
}

/* Who keeps which pages is known only if each object is; somebody who wants samples all the same
 * gets the types of objects. */
static int finish_pymalloc(struct recording_options *options, struct error *e)
{
	struct collect_config *collect = &options->collect;

	if (collect->surveys && collect->pymalloc == SEGMENT_PYMALLOC_SAMPLED &&
	    !options->pymalloc_chosen)
		collect->pymalloc = SEGMENT_PYMALLOC_EXACT;

	if (collect->mode == SEGMENT_MODE_EXACT && options->trace &&
	    collect->pymalloc == SEGMENT_PYMALLOC_SAMPLED) {
		if (options->pymalloc_chosen)
			return error_set(e, "a trace has every event, samples of small objects are "
					    "a few of them: choose one");
		collect->pymalloc = SEGMENT_PYMALLOC_EXACT;
	}
	return 0;
}

int recording_options_finish(struct recording_options *options, struct error *e)
{
	if (options->trace && options->collect.mode == SEGMENT_MODE_SAMPLE)
		return error_set(e, "a trace has every event, samples are a few of them: "
				    "choose one");
	if (options->trace && options->collect.mode == SEGMENT_MODE_TAGS)
		return error_set(e, "a trace has every event, and tag mode none: choose one");
	if (finish_pymalloc(options, e))
		return -1;
	if (options->collect.maps && options->collect.mode == SEGMENT_MODE_TAGS)
		return error_set(e, "maps have stacks, and tag mode none: choose one");
	if (options->collect.enter_exit && options->collect.mode == SEGMENT_MODE_TAGS)
		return error_set(e, "tag mode has no stacks: --stack-mode=enter-exit goes with "
				    "exact mode and samples");
	if (options->collect.stacks && options->collect.mode == SEGMENT_MODE_TAGS)
		return error_set(e,
				 "in tag mode no thread can say that it ends: --stacks goes with "
				 "exact mode and samples");
	if (options->collect.leaks && options->collect.mode != SEGMENT_MODE_EXACT)
		return error_set(e, "what is lost can be told in exact mode only, where every "
				    "block is known");
	if (options->collect.surveys && options->collect.mode != SEGMENT_MODE_EXACT)
		return error_set(e, "which blocks keep pages resident is known only where every "
				    "block is recorded: --rss goes with neither samples nor tags");
	return servant_prepare(&options->http, e);
}

/* ---- file names ------------------------------------------------------------------------------ */

/* Ranks have names that say which they are; their children may have the same one. */
static char *make_stem(const struct recording_subject *s)
{
	if (s->rank.number == RANK_NONE)
		return mem_format("midden.%s.%d", s->program, (int)s->pid);
	if (s->is_program)
		return mem_format("midden.%s.rank%u", s->program, s->rank.number);
	return mem_format("midden.%s.rank%u.%d", s->program, s->rank.number, (int)s->pid);
}

static char *default_name(const struct recording_subject *s)
{
	char *stem = make_stem(s);
	char *name = mem_format("%s.mdn", stem);

	/* A process that runs the same program again by exec keeps its pid. */
	for (int n = 2; access(name, F_OK) == 0 && n < 1000; n++) {
		free(name);
		name = mem_format("%s.%d.mdn", stem, n);
	}
	free(stem);
	return name;
}

static char *append(char *text, const char *more, size_t length)
{
	char *joined = mem_format("%s%.*s", text, (int)length, more);

	free(text);
	return joined;
}

/* The rank of a process that is none is its pid: names must differ. */
static char *expand(char *text, char letter, const struct recording_subject *s)
{
	char number[16];
	char host[256] = "";
	uint32_t rank = s->rank.number == RANK_NONE ? (uint32_t)s->pid : s->rank.number;

	switch (letter) {
	case 'p':
	case 'r':
		(void)snprintf(number, sizeof(number), "%u",
			       letter == 'r' ? rank : (uint32_t)s->pid);
		return append(text, number, strlen(number));
	case 'n':
		return append(text, s->program, strlen(s->program));
	case 'h':
		(void)gethostname(host, sizeof(host) - 1);
		return append(text, host, strlen(host));
	default:
		return append(text, "%", 1);
	}
}

/* NAME.mdn becomes NAME.NUMBER.mdn. */
static char *insert_number(char *name, unsigned long number)
{
	size_t length = strlen(name);
	size_t stem = length > 4 && strcmp(name + length - 4, ".mdn") == 0 ? length - 4 : length;
	char *with = mem_format("%.*s.%lu%s", (int)stem, name, number, name + stem);

	free(name);
	return with;
}

struct expanded {
	char *name;
	bool has_pid;
	bool has_rank;
};

static struct expanded expand_pattern(const char *pattern, const struct recording_subject *s)
{
	struct expanded x = {.name = mem_copy_string("")};

	while (*pattern) {
		size_t plain = strcspn(pattern, "%");

		x.name = append(x.name, pattern, plain);
		pattern += plain;
		if (!*pattern)
			break;
		if (!pattern[1] || !strchr("pnhr%", pattern[1])) {
			x.name = append(x.name, pattern, 1);
			pattern++;
			continue;
		}
		x.has_pid = x.has_pid || pattern[1] == 'p';
		x.has_rank = x.has_rank || pattern[1] == 'r';
		x.name = expand(x.name, pattern[1], s);
		pattern += 2;
	}
	return x;
}

char *recording_output_name(const char *pattern, const struct recording_subject *s)
{
	if (!pattern || !*pattern)
		return default_name(s);
	struct expanded x = expand_pattern(pattern, s);
	bool is_rank = s->rank.number != RANK_NONE;

	/* All ranks of a program are started with the same words. */
	if (is_rank && !x.has_rank && !x.has_pid)
		x.name = insert_number(x.name, s->rank.number);
	if (!s->is_program && !x.has_pid && !(x.has_rank && !is_rank))
		x.name = insert_number(x.name, (unsigned long)s->pid);
	return s->image > 1 ? insert_number(x.name, s->image) : x.name;
}

/* One that the user names and that is missing is made, but none above it: more than one that is
 * missing is a slip of the pen. */
static bool is_writable(const char *directory)
{
	if (access(directory, W_OK | X_OK) == 0)
		return true;
	/* Ranks of one run may all be about to make it. */
	return errno == ENOENT && (mkdir(directory, 0777) == 0 || errno == EEXIST) &&
	       access(directory, W_OK | X_OK) == 0;
}

int recording_check_output(const char *pattern, struct error *e)
{
	const char *slash = pattern ? strrchr(pattern, '/') : NULL;
	char *directory = slash ? mem_format("%.*s", (int)(slash - pattern) + 1, pattern)
				: mem_copy_string(".");
	struct stat file;
	int result = 0;

	if (pattern && stat(pattern, &file) == 0 && S_ISDIR(file.st_mode))
		result = error_set(e, "%s is a directory", pattern);
	else if (pattern && !strchr(pattern, '%') && outfile_is_strangers(pattern))
		result = error_set(e, "%s exists and is not a midden profile", pattern);
	else if (!strchr(directory, '%') && !is_writable(directory))
		result = error_set(e, "cannot write into %s (%s)", directory, strerror(errno));
	free(directory);
	return result;
}
