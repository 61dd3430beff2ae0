/* nameless.c -- counts frames by module, those with names and those without. Runs: offline, called
 * by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/nameless.h"

#include <stdlib.h>

#include "base/mem.h"

#define MUCH 20 /* one frame in so many: fewer do not make a report hard to read */
#define SOME 10 /* nor do fewer than these */

struct count {
	uint64_t frames;
	uint64_t nameless;
};

static bool has_name(const struct profile *p, const struct profile_node *node)
{
	const struct profile_frame *frame = &p->frames.at[node->frames];

	return frame->function.v || frame->file.v;
}

/* Returns how many frames there are in all. */
static uint64_t count_frames(const struct profile *p, struct count *counts)
{
	uint64_t all = 0;

	for (size_t i = 1; i < p->nodes.count; i++) {
		const struct profile_node *node = &p->nodes.at[i];

		if (node->cut)
			continue;
		all++;
		if (!node->module)
			continue;
		counts[node->module].frames++;
		counts[node->module].nameless += !has_name(p, node);
	}
	return all;
}

/* A library that was loaded again, and of merged profiles each program's own, is a module more. */
static bool is_known(const struct nameless *n, const struct profile *p, uint32_t module)
{
	for (size_t i = 0; i < n->modules.count; i++)
		if (p->modules.at[n->modules.at[i]].path.v == p->modules.at[module].path.v)
			return true;
	return false;
}

static bool is_much(const struct count *of, uint64_t all)
{
	return 2 * of->nameless > of->frames && of->nameless >= SOME && MUCH * of->nameless >= all;
}

static void add(struct nameless *n, uint32_t module, const struct count *counts)
{
	size_t at = n->modules.count;

	*vec_push(&n->modules) = module;
	for (; at && counts[n->modules.at[at - 1]].nameless < counts[module].nameless; at--)
		n->modules.at[at] = n->modules.at[at - 1];
	n->modules.at[at] = module;
}

void nameless_find(struct nameless *n, const struct profile *p)
{
	struct count *counts;
	uint64_t all;

	if (!p->resolved)
		return;
	counts = mem_new(p->modules.count, sizeof(*counts));
	all = count_frames(p, counts);
	for (uint32_t i = 1; i < p->modules.count; i++)
		if (is_much(&counts[i], all) && !is_known(n, p, i))
			add(n, i, counts);
	free(counts);
}
