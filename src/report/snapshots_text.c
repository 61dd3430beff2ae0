/* snapshots_text.c -- the list of snapshots. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/snapshots_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/human.h"
#include "report/names.h"

/* What became more or less: "+1.00 KiB", "-3", "0". */
static struct human describe_change(uint64_t now, uint64_t before, struct human (*print)(uint64_t))
{
	struct human size = print(now > before ? now - before : before - now);
	struct human text;

	if (now == before)
		return print(0);
	(void)snprintf(text.text, sizeof(text.text), "%c%.38s", now > before ? '+' : '-',
		       size.text);
	return text;
}

static void print_row(FILE *out, const struct profile *p, size_t i, const struct style *style)
{
	static const struct profile_snapshot nothing;
	const struct profile_snapshot *s = &p->snapshots.at[i];
	const struct profile_snapshot *before = i ? s - 1 : &nothing;
	char *name = names_escape(profile_string(p, s->name), style->utf8);

	fprintf(out, "%5zu  %10s  %10s  %12s", i + 1, human_duration(s->time_ns).text,
		human_bytes(s->live_bytes).text, human_count(s->live_blocks).text);
	fprintf(out, "  %11s  %12s  %s\n",
		describe_change(s->live_bytes, before->live_bytes, human_bytes).text,
		describe_change(s->live_blocks, before->live_blocks, human_count).text, name);
	free(name);
}

void snapshots_text_print(FILE *out, const struct profile *p, const struct style *style)
{
	if (p->snapshots.count == 0) {
		fputs("There are no snapshots.\n", out);
		return;
	}
	fprintf(out, "%sSnapshots%s\n", style_ink(style, STYLE_TITLE),
		style_ink(style, STYLE_PLAIN));
	fprintf(out, "%s%5s  %10s  %10s  %12s  %11s  %12s  %s%s\n", style_ink(style, STYLE_QUIET),
		"no.", "at", "live", "blocks", "change", "blocks", "name",
		style_ink(style, STYLE_PLAIN));
	for (size_t i = 0; i < p->snapshots.count; i++)
		print_row(out, p, i, style);
}

void snapshots_text_add(struct json *j, const struct profile *p)
{
	json_begin_list(j, "snapshots");
	for (size_t i = 0; i < p->snapshots.count; i++) {
		const struct profile_snapshot *s = &p->snapshots.at[i];

		json_begin_object(j, NULL);
		json_add_uint(j, "number", i + 1);
		json_add_string(j, "name", profile_string(p, s->name));
		json_add_uint(j, "time_ns", s->time_ns);
		json_add_uint(j, "thread", s->thread);
		json_add_uint(j, "live_bytes", s->live_bytes);
		json_add_uint(j, "live_blocks", s->live_blocks);
		json_end_object(j);
	}
	json_end_list(j);
}
