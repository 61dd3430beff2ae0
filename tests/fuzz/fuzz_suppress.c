/* fuzz_suppress.c -- any text as a list of suppressions, on a small profile; and as patterns.
 * Runs: under libFuzzer, or on single files with replay_main.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a text up to its first NUL byte; what follows is the name of a function. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/filter.h"
#include "model/pattern.h"
#include "model/suppress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Two stacks that leak: f called by main, and g called by f. */
static struct profile *make_profile(const char *function)
{
	static const struct profile_module module = {.map_end = 1};
	struct profile *p = profile_new();

	*vec_push(&p->modules) = module;
	p->modules.at[1].path = profile_add_string(p, "/usr/lib/libapp.so.1");
	for (uint32_t i = 1; i <= 3; i++) {
		const char *name = i == 1 ? "main" : i == 2 ? function : "g";
		struct profile_frame frame = {.function = profile_add_string(p, name),
					      .file = profile_add_string(p, "/src/app.c"),
					      .line = i};

		*vec_push(&p->frames) = frame;
		*vec_push(&p->nodes) =
			(struct profile_node){.pc = i, .parent = i - 1, .module = 1, .frames = i};
		if (i > 1)
			*vec_push(&p->sites) = (struct profile_site){
				.node = i, .allocations = 1, .live_blocks = 1, .live_bytes = 8};
	}
	p->resolved = true;
	return p;
}

static void judge(const struct suppress_list *rules, const char *function)
{
	static const struct model_options usual = {0};
	struct profile *p = make_profile(function);
	struct model *m = model_new(p, &usual);
	uint8_t verdicts[2] = {FILTER_KEPT, FILTER_KEPT};
	uint32_t *hits = suppress_judge(rules, m, verdicts);

	for (unsigned i = 0; i < 2; i++)
		if ((hits[i] != UINT32_MAX) != (verdicts[i] == FILTER_SUPPRESSED) ||
		    (hits[i] != UINT32_MAX && hits[i] >= rules->rules.count))
			abort();
	free(hits);
	model_free(m);
	profile_free(p);
}

static void match(const char *text, const char *function)
{
	struct error e = {0};
	/* libc's regular expressions may take for ever on a pattern that the user wrote himself. */
	struct pattern *p = *text != '/' ? pattern_new(text, &e) : NULL;

	if (!p)
		return;
	(void)pattern_has(p, function);
	(void)pattern_has_function(p, function);
	(void)pattern_has_module(p, function);
	pattern_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct suppress_list rules = {0};
	struct error e = {0};
	char *text = mem_new(bytes + 2, 1);

	memcpy(text, data, bytes);
	const char *function = text + strlen(text) + 1;
	if ((suppress_parse(&rules, text, "rules", &e) == 0) == e.set)
		abort();
	judge(&rules, function);
	(void)suppress_has(text, function);
	match(text, function);
	suppress_free(&rules);
	free(text);
	return 0;
}
