/* fuzz_words.c -- any text as each of the small things that options, addresses of pages and other
 * programs' environments say: times, limits, ranks, addresses, what to wait for, classes, kinds.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a list of texts, each ended by a NUL byte; all of it is an environment too. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/beginning.h"
#include "cli/rank.h"
#include "cli/servant.h"
#include "cli/triggers.h"
#include "model/leaks.h"
#include "model/map_view.h"
#include "model/moment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* What fails says why, and nothing else does. */
static void expect_word(int result, const struct error *e)
{
	if ((result != 0) != e->set || strnlen(e->text, sizeof(e->text)) == sizeof(e->text))
		abort();
}

static void parse_times(const char *text)
{
	struct moment_name name, span[2];
	struct error e = {0}, of_span = {0};

	expect_word(moment_parse(text, &name, &e), &e);
	expect_word(moment_parse_span(text, span, &of_span), &of_span);
	if (!e.set && name.kind == MOMENT_AT_NS && !(name.value >= 0))
		abort();
}

static void parse_limits(const char *text)
{
	struct trigger_options o = {0};
	struct error of_limits = {0}, of_time = {0}, of_signal = {0};

	/* Twice: what is there may leave no room. */
	for (int i = 0; i < 2 && !of_limits.set; i++)
		expect_word(triggers_parse_limits(&o, text, &of_limits), &of_limits);
	if (o.count > TRIGGERS_MOST)
		abort();
	for (uint32_t i = 0; i < o.count; i++)
		if (o.limits[i].figure >= TRIGGER_FIGURES ||
		    strnlen(o.limits[i].text, sizeof(o.limits[i].text)) == sizeof(o.limits[i].text))
			abort();
	expect_word(triggers_parse_every(&o, text, &of_time), &of_time);
	expect_word(triggers_parse_signal(&o, text, &of_signal), &of_signal);
}

static void parse_ranks(const char *text)
{
	struct rank_list list = {0};
	struct error e = {0};

	expect_word(rank_list_parse(&list, text, &e), &e);
	(void)rank_list_has(&list, 7);
	rank_list_free(&list);
}

static void parse_address(const char *text)
{
	struct servant_options o = {0};
	struct error e = {0};

	expect_word(servant_parse_address(&o, text, &e), &e);
	if (strnlen(o.address, sizeof(o.address)) == sizeof(o.address))
		abort();
}

static void parse_beginning(const char *text)
{
	struct beginning b = {0};
	struct error e = {0};

	expect_word(beginning_parse(&b, text, &e), &e);
	beginning_free(&b);
}

static void find_names(const char *text)
{
	if (leaks_find_class(text, strlen(text)) > PROFILE_LOST_CLASSES ||
	    map_view_find_kind(text) > PROFILE_MAP_KINDS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = mem_new(bytes + 1, 1);
	char *environment = mem_new(bytes, 1); /* ends where the kernel cut it off */

	memcpy(text, data, bytes);
	memcpy(environment, data, bytes);
	(void)rank_find(environment, bytes);
	for (char *at = text; at < text + bytes; at += strlen(at) + 1) {
		parse_times(at);
		parse_limits(at);
		parse_ranks(at);
		parse_address(at);
		parse_beginning(at);
		find_names(at);
	}
	free(environment);
	free(text);
	return 0;
}
