/* make_profile.c -- writes profiles that no program is needed for: `make_profile KIND FILE [N]`.
 * Run by tests/e2e/export.
 * SPDX-License-Identifier: Apache-2.0
 *
 * KIND: `empty` has nothing in it; `hostile` has a stack for each odd name below, 100 bytes each,
 * called by main; `spiteful` has SPITE in every text that a profile holds; `huge` has three stacks of 2^53 + 1 bytes each; `many` has N stacks, 24 frames
 * deep, of 1 to N bytes. All blocks are held at the peak and leaked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../unit/model/sample.h"

#define LONG_NAME 10000u
#define DEPTH	  24u
#define FUNCTIONS 3000u

static const char *const odd_names[] = {
	"quote\"d 'twice'",
	"semi;colon;",
	"tem<plate<int&>>::f(char const*)",
	"na\xc3\xafve_\xe6\xbc\xa2\xe5\xad\x97_\xf0\x9f\x90\x8d",
	"line\nbreak\r\ttab",
	"back\\slash\\n",
	"percent %s %n",
	"comma,separated",
	"]]></script><script>alert(1)</script>",
	"--> end",
	"ends in 12",
	"$_0::operator()",
	"not utf-8 \xff\xc3",
	"\x1b[31mred",
	"=1+1",
	" blanks around ",
};

/* What would set a terminal's title, clear it, start a line, close a string, tag or comment; both
 * ways to write an escape sequence, and a byte that is no text. */
#define SPITE                                      \
	"\x1b]0;own\x07\x1b[2J\r\nx\b\x7f\xc2\x9b" \
	"3m<b>&\"'-->]]>;,\\%n\xff"

static void spoil_run(struct profile *p, struct string_id spite)
{
	struct profile_run *run = &p->run;

	run->program = run->executable = run->command = run->directory = spite;
	run->host = run->mode = run->machine = run->version = spite;
	p->modules.at[1].path = spite;
	memcpy(p->damage, SPITE, sizeof(SPITE));
	p->damaged = true;
}

static void add_spite(struct profile *p)
{
	struct string_id spite = profile_add_string(p, SPITE);
	uint32_t root = sample_node(p, 0, SPITE, 1);

	for (uint32_t i = 1; i <= 3; i++) {
		uint32_t frame = sample_frame(p, SPITE, "/" SPITE, i, 0);
		uint32_t node = sample_node_in(p, root, i == 3 ? 0 : 1, i == 2 ? 0 : frame);
		struct profile_point point = {.time_ns = i * UINT64_C(1000), .live_bytes = 1};
		struct profile_snapshot kept = {
			.name = spite, .point = i - 1, .time_ns = point.time_ns};

		sample_site(p, node, 100 * i, 1)->thread = i;
		*vec_push(&p->threads) = (struct profile_thread){.tid = i,
								 .serial = i,
								 .name = spite,
								 .allocations = 1,
								 .allocated_bytes = 100};
		*vec_push(&p->points) = point;
		*vec_push(&p->changes) = (struct profile_change){i - 1, i - 1, 1, 1};
		*vec_push(&p->snapshots) = kept;
	}
	p->totals.lost_events = p->totals.truncated_stacks = 1;
	spoil_run(p, spite);
}

static void add_odd_names(struct profile *p)
{
	char *name = malloc(LONG_NAME + 1);
	uint32_t root = sample_node(p, 0, "main", 1);

	for (size_t i = 0; i < sizeof(odd_names) / sizeof(*odd_names); i++)
		sample_site(p, sample_node(p, root, odd_names[i], 2), 100, 1);
	memset(name, 'x', LONG_NAME);
	name[LONG_NAME] = '\0';
	sample_site(p, sample_node(p, root, name, 3), 100, 1);
	sample_site(p, sample_node_in(p, root, 1, 0), 100, 1);
	sample_site(p, 0, 100, 1);
	free(name);
}

static void add_huge(struct profile *p)
{
	uint32_t root = sample_node(p, 0, "main", 1);

	sample_site(p, sample_node(p, root, "one", 1), UINT64_C(9007199254740993), 1);
	sample_site(p, sample_node(p, root, "two", 1), UINT64_C(9007199254740993), 1);
	sample_site(p, sample_node(p, root, "three", 1), UINT64_C(9007199254740993), 1);
}

/* A call in function `f`, at the one place where it calls. */
static uint32_t add_call(struct profile *p, uint32_t parent, const uint32_t *frames,
			 unsigned long f)
{
	uint32_t node = sample_node_in(p, parent, 1, frames[f % FUNCTIONS]);

	p->nodes.at[node].pc = SAMPLE_BIAS + 16 * (f % FUNCTIONS);
	return node;
}

/* Stack n turns by the digits of n: near the root stacks are shared, near the leaf they are not. */
static void add_many(struct profile *p, unsigned long count)
{
	uint32_t *frames = malloc(FUNCTIONS * sizeof(*frames));
	uint32_t trunk = 0;
	char name[64];

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "space::function_%u(int)", i);
		frames[i] = sample_frame(p, name, "/src/app.cc", i, 0);
	}
	for (unsigned long n = 0; n < count; n++) {
		if (n % 100 == 0) {
			trunk = 0;
			for (unsigned d = 0; d < DEPTH / 2; d++)
				trunk = add_call(p, trunk, frames, n / 100 * 7 + d);
		}
		uint32_t node = trunk;
		for (unsigned d = DEPTH / 2; d < DEPTH; d++)
			node = add_call(p, node, frames, n * 31 + d);
		sample_site(p, node, n + 1, 1);
	}
	free(frames);
}

int main(int argc, char **argv)
{
	struct profile *p = sample_new();
	struct error e = {0};

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "hostile") == 0)
		add_odd_names(p);
	else if (strcmp(argv[1], "spiteful") == 0)
		add_spite(p);
	else if (strcmp(argv[1], "huge") == 0)
		add_huge(p);
	else if (strcmp(argv[1], "many") == 0 && argc > 3)
		add_many(p, strtoul(argv[3], NULL, 10));
	else if (strcmp(argv[1], "empty") != 0)
		return 2;
	int status = profile_write(p, argv[2], &e);
	if (status)
		fprintf(stderr, "%s\n", e.text);
	profile_free(p);
	return status ? 1 : 0;
}
