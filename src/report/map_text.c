/* map_text.c -- what the program mapped itself, kind by kind. Runs: offline, called by the reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/map_text.h"

#include "model/map_view.h"
#include "report/human.h"

static void print_kind(FILE *out, const struct profile_site *kind)
{
	bool is_counted_only = kind->kind == PROFILE_MAP_ALLOCATOR;

	fprintf(out, "  %-10s  %9s  %9s", map_view_get_name(kind->kind),
		human_count(kind->allocations).text, human_bytes(kind->allocated_bytes).text);
	fprintf(out, "  %9s", human_bytes(kind->freed_bytes).text);
	fprintf(out, "  %9s", is_counted_only ? "" : human_bytes(kind->own_peak_bytes).text);
	fprintf(out, "  %9s", is_counted_only ? "" : human_bytes(kind->at_peak_bytes).text);
	fprintf(out, "  %9s\n", human_bytes(kind->live_bytes).text);
}

static bool has_any(const struct profile *p)
{
	for (size_t i = 0; i < p->map_kinds.count; i++)
		if (p->map_kinds.at[i].allocations)
			return true;
	return false;
}

void map_text_print(FILE *out, const struct profile *p, const struct style *style)
{
	if (!p->map_kinds.count)
		return;
	fprintf(out, "\n%sMaps%s\n", style_ink(style, STYLE_TITLE), style_ink(style, STYLE_PLAIN));
	if (!has_any(p)) {
		fputs("  none\n", out);
		return;
	}
	fprintf(out, "  %-10s  %9s  %9s  %9s  %9s  %9s  %9s\n", "kind", "maps", "bytes", "unmapped",
		"own peak", "at peak", "left");
	for (size_t i = 0; i < p->map_kinds.count; i++)
		if (p->map_kinds.at[i].allocations)
			print_kind(out, &p->map_kinds.at[i]);
}
