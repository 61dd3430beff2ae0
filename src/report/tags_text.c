/* tags_text.c -- what was counted by tag, as a table with the tags as a tree. Runs: offline, called
 * by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tags_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/human.h"
#include "report/names.h"

#define INDENT_MAX 40u /* levels: deeper ones stand below one another */

static void print_title(FILE *out, const struct tagtree *t, const struct tagtree_tree *tree,
			const struct style *style)
{
	char buffer[32];
	char *title = names_escape(tagtree_get_title(t, tree, buffer), style->utf8);

	(void)fprintf(out, "\n%s%s%s", style_ink(style, STYLE_TITLE), title,
		      style_ink(style, STYLE_PLAIN));
	if (tree->rule)
		(void)fprintf(out, " (%s)", human_things(tree->threads, "thread").text);
	else
		(void)fprintf(out, " (tid %" PRIu32 ")", tree->tid);
	(void)fprintf(out, "\n%10s %10s %10s %12s %12s %7s  tag\n", "total", "self", "freed",
		      "calls", "visits", "share");
	free(title);
}

static void print_row(FILE *out, const struct tagtree *t, const struct tagtree_node *n,
		      const struct style *style)
{
	unsigned depth = n->depth < INDENT_MAX ? n->depth : INDENT_MAX;
	const char *text = n->depth ? tagtree_get_name(t, n->name) : "(no tag)";
	char *name = names_escape(text, style->utf8);

	(void)fprintf(out, "%10s %10s %10s %12s %12s %7s  %*s%s%s%s",
		      human_bytes(n->total.allocated_bytes).text,
		      human_bytes(n->self.allocated_bytes).text,
		      human_bytes(n->self.freed_bytes).text,
		      human_count(tagtree_get_calls(&n->self)).text,
		      n->depth ? human_count(n->self.entered).text : "-",
		      human_share(n->total.allocated_bytes, t->total.allocated_bytes).text,
		      (int)(2 * depth), "", style_ink(style, STYLE_NAME), name,
		      style_ink(style, STYLE_PLAIN));
	if (n->self.open)
		(void)fprintf(out, "  %s(%" PRIu64 " not left)%s", style_ink(style, STYLE_QUIET),
			      n->self.open, style_ink(style, STYLE_PLAIN));
	(void)fputc('\n', out);
	free(name);
}

static bool is_small(const struct tagtree *t, const struct tagtree_node *n, double threshold)
{
	return n->depth &&
	       (double)n->total.allocated_bytes < threshold * (double)t->total.allocated_bytes;
}

/* The node after all that is inside this one. */
static uint32_t skip(const struct tagtree *t, uint32_t node)
{
	while (node != TAGTREE_NONE && t->nodes.at[node].next == TAGTREE_NONE)
		node = t->nodes.at[node].parent;
	return node == TAGTREE_NONE ? node : t->nodes.at[node].next;
}

void tags_text_print(FILE *out, const struct tagtree *t, double threshold,
		     const struct style *style)
{
	for (size_t i = 0; i < t->trees.count; i++) {
		const struct tagtree_tree *tree = &t->trees.at[i];
		uint64_t hidden = 0;

		print_title(out, t, tree, style);
		for (uint32_t n = tree->root; n != TAGTREE_NONE;) {
			bool small = is_small(t, &t->nodes.at[n], threshold);

			hidden += small;
			if (!small)
				print_row(out, t, &t->nodes.at[n], style);
			n = small ? skip(t, n) : tagtree_get_next(t, n);
		}
		if (hidden)
			(void)fprintf(out, "%s%s below the threshold left out%s\n",
				      style_ink(style, STYLE_QUIET),
				      human_things(hidden, "tag").text,
				      style_ink(style, STYLE_PLAIN));
	}
}

void tags_text_print_losses(FILE *out, const struct profile *p, const struct style *style)
{
	const struct profile_totals *t = &p->totals;
	const struct {
		uint64_t count;
		const char *what;
	} losses[] = {
		{t->lost_tags, "no room for a tag: counted at the one around it"},
		{t->unmatched_tag_pops, "a pop of no tag"},
		{t->skipped_tag_pops, "a tag was left only when one around it was"},
		{t->stale_tag_handles, "a handle of another process, taken as no tag"},
		{t->inherited_tags, "a tag was open when the process was forked"},
	};

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (losses[i].count)
			(void)fprintf(out, "%s%s: %s%s\n", style_ink(style, STYLE_WARNING),
				      human_things(losses[i].count, "time").text, losses[i].what,
				      style_ink(style, STYLE_PLAIN));
}
