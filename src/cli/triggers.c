/* triggers.c -- snapshots that nobody has to ask for: by time, by amounts of memory, by a signal.
 * Runs: in a collector process; options also in `midden record`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/triggers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/amounts.h"
#include "base/whole.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_NS	  UINT64_C(100000000) /* how often files of /proc are read */
#define AGAIN(x)  ((x) / 100 * 95) /* a figure has to fall so far before its limit counts again */

/* ---- options --------------------------------------------------------------------------------- */

int triggers_parse_every(struct trigger_options *o, const char *text, struct error *e)
{
	char *end;

	errno = 0;
	double seconds = strtod(text, &end);
	if (errno || end == text || *end || !(seconds >= 0.05) || seconds > 1e6)
		return error_set(
			e, "snapshots can be taken every 0.05 to 1000000 seconds, not '%s'", text);
	o->every_ns = whole_get(seconds * (double)SECOND_NS);
	return 0;
}

static int parse_percent(const char *text, uint64_t *value)
{
	char *end;

	*value = strtoul(text, &end, 10);
	return end == text || strcmp(end, "%") != 0 || *value < 1 || *value > 100 ? -1 : 0;
}

static int parse_amount(enum trigger_figure figure, const char *text, uint64_t *value)
{
	if (figure == TRIGGER_MEMORY)
		return parse_percent(text, value);
	bool is_good = figure == TRIGGER_ALLOCATIONS ? amounts_parse_count(text, value)
						     : amounts_parse_bytes(text, value);
	return is_good ? 0 : -1;
}

static int parse_limit(struct trigger_limit *l, const char *text)
{
	static const char *const words[TRIGGER_FIGURES] = {
		[TRIGGER_RSS] = "rss=",
		[TRIGGER_VIRTUAL] = "virtual=",
		[TRIGGER_LIVE] = "live=",
		[TRIGGER_MEMORY] = "memory=",
		[TRIGGER_ALLOCATIONS] = "allocations=",
		[TRIGGER_STACK] = "stack=",
	};

	for (unsigned i = 0; i < TRIGGER_FIGURES; i++) {
		size_t bytes = strlen(words[i]);

		if (strncmp(text, words[i], bytes) != 0)
			continue;
		l->figure = (enum trigger_figure)i;
		return parse_amount(l->figure, text + bytes, &l->most);
	}
	return -1;
}

int triggers_parse_limits(struct trigger_options *o, const char *text, struct error *e)
{
	while (*text) {
		size_t bytes = strcspn(text, ",");
		struct trigger_limit limit = {0};

		if (o->count == TRIGGERS_MOST)
			return error_set(e, "at most %d limits can have snapshots taken",
					 TRIGGERS_MOST);
		if (bytes < sizeof(limit.text))
			memcpy(limit.text, text, bytes);
		if (parse_limit(&limit, limit.text) || limit.most == 0)
			return error_set(e,
					 "snapshots can be taken at rss=SIZE, virtual=SIZE, "
					 "live=SIZE, stack=SIZE (512K, 1.5M, 2GiB), "
					 "allocations=NUMBER (100000, 100k) or memory=PERCENT%% "
					 "(90%%), not at '%.*s'",
					 (int)bytes, text);
		o->limits[o->count++] = limit;
		text += bytes + (text[bytes] == ',');
	}
	return 0;
}

int triggers_parse_signal(struct trigger_options *o, const char *text, struct error *e)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP},	{"URG", SIGURG},
		     {"IO", SIGIO},	{"PWR", SIGPWR},   {"WINCH", SIGWINCH}, {"QUIT", SIGQUIT}};
	const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char number[16];

		(void)snprintf(number, sizeof(number), "%d", known[i].number);
		if (strcasecmp(name, known[i].name) == 0 || strcmp(text, number) == 0) {
			o->signal = known[i].number;
			return 0;
		}
	}
	return error_set(e,
			 "'%s' is no signal that could ask for snapshots: USR1, USR2, HUP, URG, "
			 "IO, PWR, WINCH or QUIT",
			 text);
}

/* ---- looking --------------------------------------------------------------------------------- */

/* What of the system's memory is not available, in percent; 0 unknown. */
static uint64_t read_memory_percent(void)
{
	uint64_t total = 0, available = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "MemTotal:", 9) == 0)
			total = strtoull(line + 9, NULL, 10);
		if (strncmp(line, "MemAvailable:", 13) == 0)
			available = strtoull(line + 13, NULL, 10);
	}
	if (f)
		(void)fclose(f);
	return total && available <= total ? (total - available) * 100 / total : 0;
}

static bool is_due(uint64_t *looked_ns, uint64_t now_ns)
{
	if (*looked_ns && now_ns - *looked_ns < LOOK_NS)
		return false;
	*looked_ns = now_ns;
	return true;
}

static uint64_t get_figure(struct triggers *t, struct collector *c, enum trigger_figure figure,
			   const struct collect_status *status)
{
	switch (figure) {
	case TRIGGER_RSS:
		return status->rss_bytes;
	case TRIGGER_VIRTUAL:
		return status->virtual_bytes;
	case TRIGGER_LIVE:
		return status->live_bytes;
	case TRIGGER_ALLOCATIONS:
		return status->allocations;
	case TRIGGER_STACK:
		if (is_due(&t->stack_looked_ns, status->elapsed_ns))
			t->stack_bytes = collect_find_deepest_stack(c);
		return t->stack_bytes;
	default:
		if (is_due(&t->looked_ns, status->elapsed_ns))
			t->memory_percent = read_memory_percent();
		return t->memory_percent;
	}
}

static void take(struct collector *c, const char *name)
{
	struct collect_snapshot kept;

	(void)collect_take_snapshot(c, name, &kept); /* one that has no room is counted */
}

static bool is_cumulative(enum trigger_figure figure)
{
	return figure == TRIGGER_ALLOCATIONS || figure == TRIGGER_STACK;
}

static void look_at_limits(struct triggers *t, struct collector *c,
			   const struct collect_status *status)
{
	for (uint32_t i = 0; i < t->options->count; i++) {
		const struct trigger_limit *l = &t->options->limits[i];
		uint64_t now = get_figure(t, c, l->figure, status);
		uint64_t times = now / l->most;

		if (times > 1 && !is_cumulative(l->figure))
			times = 1;
		if (times > t->reached[i]) {
			t->reached[i] = times;
			take(c, l->text);
		} else if (now < AGAIN(l->most) || (l->most < 100 && now < l->most)) {
			t->reached[i] = 0;
		}
	}
}

/* Several at once are one: the state is the same. */
static void look_at_time(struct triggers *t, struct collector *c, uint64_t elapsed_ns)
{
	uint64_t every = t->options->every_ns;
	char name[48];

	if (!every || elapsed_ns < (t->next_ns ? t->next_ns : every))
		return;
	t->next_ns = (elapsed_ns / every + 1) * every;
	(void)snprintf(name, sizeof(name), "at %.3g s", (double)elapsed_ns / (double)SECOND_NS);
	take(c, name);
}

void triggers_look(struct triggers *t, struct collector *c)
{
	struct collect_status status;

	if (!t->options->every_ns && !t->options->count)
		return;
	collect_get_status(c, &status);
	look_at_time(t, c, status.elapsed_ns);
	look_at_limits(t, c, &status);
}
