/* dump_stacks.c -- prints the raw stacks of a profile, for comparison with an oracle's.
 * Runs: by hand or by tests/e2e/stacks; linked with the profile room.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: dump_stacks FILE
 *
 *   total NAME VALUE
 *   module INDEX BIAS START END PATH
 *   site ALLOCATIONS SIZE_MIN SIZE_MAX FRAME...
 *
 * Frames are leaf first: PC:MODULE, PC:MODULE:x if pc itself was executing, or `cut`. */
#include <inttypes.h>
#include <stdio.h>

#include "profile/profile.h"

static void print_totals(const struct profile_totals *t)
{
	printf("total allocations %" PRIu64 "\n", t->allocations);
	printf("total lost_events %" PRIu64 "\n", t->lost_events);
	printf("total truncated_stacks %" PRIu64 "\n", t->truncated_stacks);
	printf("total unwind_failures %" PRIu64 "\n", t->unwind_failures);
	printf("total reentrant_calls %" PRIu64 "\n", t->reentrant_calls);
}

static void print_modules(const struct profile *p)
{
	for (size_t i = 1; i < p->modules.count; i++) {
		const struct profile_module *m = &p->modules.at[i];

		printf("module %zu %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", i, m->bias,
		       m->map_start, m->map_end, profile_string(p, m->path));
	}
}

static void print_site(const struct profile *p, const struct profile_site *site)
{
	printf("site %" PRIu64 " %" PRIu64 " %" PRIu64, site->allocations, site->size_min,
	       site->size_max);
	for (uint32_t i = site->node; i; i = p->nodes.at[i].parent) {
		const struct profile_node *node = &p->nodes.at[i];

		if (node->cut)
			printf(" cut");
		else
			printf(" %" PRIx64 ":%u%s", node->pc, node->module,
			       node->exact ? ":x" : "");
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	struct error e = {.offset = -1};
	struct profile *p = argc == 2 ? profile_read(argv[1], &e) : NULL;

	if (!p) {
		fprintf(stderr, "usage: dump_stacks FILE\n");
		return 2;
	}
	print_totals(&p->totals);
	print_modules(p);
	for (size_t i = 0; i < p->sites.count; i++)
		print_site(p, &p->sites.at[i]);
	profile_free(p);
	return 0;
}
