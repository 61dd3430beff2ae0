/* malloctag.c -- what was counted by tag, in malloc-tag's formats. Runs: offline; called by cli.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Trees may be as deep as a program likes, so nothing here calls itself. */
#include "export/malloctag.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "export/labels.h"

/* ---- the process ----------------------------------------------------------------------------- */

struct stamp {
	char text[64];
};

static struct stamp print_time(uint64_t unix_ns)
{
	struct stamp s;
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	struct tm broken;

	if (!localtime_r(&seconds, &broken) ||
	    !strftime(s.text, sizeof(s.text), "%Y-%m-%d @ %H:%M:%S %Z", &broken))
		s.text[0] = '\0';
	return s;
}

static uint64_t get_end_ns(const struct malloctag_process *p)
{
	const struct profile *of = p->profile;

	return of->run.start_unix_ns +
	       (p->snapshot ? of->snapshots.at[p->snapshot - 1].time_ns : of->run.duration_ns);
}

static uint64_t get_rss(const struct malloctag_process *p)
{
	const struct profile *of = p->profile;
	size_t point = p->snapshot ? of->snapshots.at[p->snapshot - 1].point : of->points.count - 1;

	return of->points.count ? of->points.at[point].rss_bytes : 0;
}

static uint64_t get_net(const struct tagtree_counts *c)
{
	return c->allocated_bytes > c->freed_bytes ? c->allocated_bytes - c->freed_bytes : 0;
}

static double get_weight(const struct tagtree *t, uint64_t bytes)
{
	return t->total.allocated_bytes ? 100.0 * (double)bytes / (double)t->total.allocated_bytes
					: 0.0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_percent(struct json *j, const char *key, double value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%.2f", value);
	json_add_raw(j, key, text);
}

static void add_calls(struct json *j, const struct tagtree_counts *self)
{
	json_add_uint(j, "nCallsTo_malloc", self->calls[PROFILE_API_MALLOC]);
	json_add_uint(j, "nCallsTo_realloc", self->calls[PROFILE_API_REALLOC]);
	json_add_uint(j, "nCallsTo_calloc", self->calls[PROFILE_API_CALLOC]);
	json_add_uint(j, "nCallsTo_free", self->frees);
	json_add_uint(j, "nCallsTo_aligned", self->calls[PROFILE_API_ALIGNED]);
	json_add_uint(j, "nCallsTo_new", self->calls[PROFILE_API_NEW]);
	json_add_uint(j, "nCallsTo_other", self->calls[PROFILE_API_OTHER]);
}

static void begin_key(struct json *j, const char *prefix, const char *name)
{
	char *key = mem_format("%s%s", prefix, name);

	json_begin_object(j, key);
	free(key);
}

static void begin_node(struct json *j, const struct tagtree *t, const struct tagtree_node *n,
		       const char *name)
{
	begin_key(j, "scope_", name);
	json_add_uint(j, "nBytesTotalAllocated", n->total.allocated_bytes);
	json_add_uint(j, "nBytesTotalFreed", n->total.freed_bytes);
	json_add_uint(j, "nBytesSelfAllocated", n->self.allocated_bytes);
	json_add_uint(j, "nBytesSelfFreed", n->self.freed_bytes);
	json_add_uint(j, "nBytesSelfRequested", n->self.requested_bytes);
	json_add_uint(j, "nTimesEnteredAndExited", n->self.entered - n->self.open);
	json_add_uint(j, "nTimesNotExited", n->self.open);
	add_percent(j, "nWeightPercentage", get_weight(t, n->total.allocated_bytes));
	add_calls(j, &n->self);
	json_begin_object(j, "nestedScopes");
}

static void end_node(struct json *j)
{
	json_end_object(j);
	json_end_object(j);
}

static void add_nodes(struct json *j, const struct tagtree *t, const struct tagtree_tree *tree)
{
	char buffer[32];
	uint32_t depth = 0;

	for (uint32_t i = tree->root; i != TAGTREE_NONE; i = tagtree_get_next(t, i)) {
		const struct tagtree_node *n = &t->nodes.at[i];

		for (; depth > n->depth; depth--)
			end_node(j);
		begin_node(j, t, n,
			   n->depth ? tagtree_get_name(t, n->name)
				    : tagtree_get_title(t, tree, buffer));
		depth = n->depth + 1;
	}
	for (; depth > 0; depth--)
		end_node(j);
}

/* A thread id may come twice in the life of a process. */
static void begin_tree(struct json *j, const struct tagtree *t, size_t tree)
{
	bool repeats = false;
	char key[64];

	for (size_t i = 0; i < tree && !repeats; i++)
		repeats = t->trees.at[i].tid == t->trees.at[tree].tid;
	if (repeats)
		(void)snprintf(key, sizeof(key), "tree_for_TID%" PRIu32 "_%zu",
			       t->trees.at[tree].tid, tree);
	else
		(void)snprintf(key, sizeof(key), "tree_for_TID%" PRIu32, t->trees.at[tree].tid);
	json_begin_object(j, key);
}

static void add_rule(struct json *j, const struct tagtree *t, const struct tagtree_tree *tree)
{
	if (!tree->rule)
		return;
	size_t number = 0;
	while (t->rules->all.at[number] != tree->rule)
		number++;
	char *text =
		mem_format("Rule#%zu: aggregate threads %s", number, pattern_get_text(tree->rule));
	json_add_string(j, "manipulatedByRule", text);
	free(text);
}

static void add_tree(struct json *j, const struct tagtree *t, size_t number,
		     const struct malloctag_process *p)
{
	const struct tagtree_tree *tree = &t->trees.at[number];

	begin_tree(j, t, number);
	json_add_uint(j, "TID", tree->tid);
	json_add_string(j, "ThreadName", tagtree_get_name(t, tree->name));
	json_add_uint(j, "nThreads", tree->threads);
	json_add_uint(j, "nTreeLevels", tree->levels);
	json_add_uint(j, "nTreeNodesInUse", tree->nodes);
	json_add_uint(j, "nMaxTreeNodes", tree->nodes);
	json_add_uint(j, "nPushNodeFailures", number ? 0 : p->profile->totals.lost_tags);
	json_add_uint(j, "nFreeTrackingFailed", 0);
	json_add_uint(j, "nVmSizeAtCreation", 0);
	add_rule(j, t, tree);
	add_nodes(j, t, tree);
	json_end_object(j);
}

static void add_losses(struct json *j, const struct profile_totals *t)
{
	json_add_uint(j, "nPushFailures", t->lost_tags);
	json_add_uint(j, "nUnmatchedPops", t->unmatched_tag_pops);
	json_add_uint(j, "nSkippedPops", t->skipped_tag_pops);
	json_add_uint(j, "nStaleHandles", t->stale_tag_handles);
	json_add_uint(j, "nInheritedScopes", t->inherited_tags);
}

void malloctag_write_json(FILE *out, const struct tagtree *t, const struct malloctag_process *p)
{
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	json_add_uint(&j, "PID", p->profile->run.pid);
	json_add_string(&j, "tmStartProfiling", print_time(p->profile->run.start_unix_ns).text);
	json_add_string(&j, "tmCurrentSnapshot", print_time(get_end_ns(p)).text);
	for (size_t i = 0; i < t->trees.count; i++)
		add_tree(&j, t, i, p);
	json_add_uint(&j, "nBytesAllocBeforeInit", 0);
	json_add_uint(&j, "nBytesMallocTagSelfUsage", p->profile->totals.own_memory_bytes);
	json_add_uint(&j, "vmSizeNowBytes", 0);
	json_add_uint(&j, "vmRSSNowBytes", get_rss(p));
	json_add_uint(&j, "nTotalNetTrackedBytes", get_net(&t->total));
	add_losses(&j, &p->profile->totals);
	json_end_object(&j);
}

/* ---- DOT ------------------------------------------------------------------------------------- */

struct amount {
	char text[32];
};

static struct amount print_bytes(uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB"};
	unsigned unit = 0;
	struct amount a;

	for (; unit < 3 && bytes >= 1000; unit++)
		bytes /= 1000;
	(void)snprintf(a.text, sizeof(a.text), "%" PRIu64 "%s", bytes, units[unit]);
	return a;
}

/* Into a quoted string, of which nothing can get out. */
static void put_text(FILE *out, const char *text)
{
	char *clean = labels_clean(text, "");

	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			(void)fputc('\\', out);
		(void)fputc(*at, out);
	}
	free(clean);
}

/* By what a tag allocates itself, in percent of all. */
static void put_colour(FILE *out, double weight)
{
	static const struct {
		double below;
		int colour, size;
	} steps[] = {{5, 1, 9}, {10, 2, 10}, {20, 3, 12}, {40, 4, 14}, {60, 5, 16}, {80, 6, 18}};
	int colour = 7, size = 20;

	for (size_t i = sizeof(steps) / sizeof(steps[0]); i-- > 0;)
		if (weight < steps[i].below) {
			colour = steps[i].colour;
			size = steps[i].size;
		}
	(void)fprintf(out, "fillcolor=%d, fontsize=%d", colour, size);
}

static void put_figures(FILE *out, const struct tagtree *t, const struct tagtree_node *n)
{
	uint64_t total = n->total.allocated_bytes, self = n->self.allocated_bytes;

	if (total == self)
		(void)fprintf(out, "total_alloc=self_alloc=%s (%.2f%%)\\n", print_bytes(self).text,
			      get_weight(t, self));
	else
		(void)fprintf(out, "total_alloc=%s (%.2f%%)\\nself_alloc=%s (%.2f%%)\\n",
			      print_bytes(total).text, get_weight(t, total), print_bytes(self).text,
			      get_weight(t, self));
	(void)fprintf(out, "self_freed=%s\\nvisited_times=%" PRIu64 "\\n",
		      print_bytes(n->self.freed_bytes).text, n->self.entered);
	if (n->self.entered)
		(void)fprintf(out, "self_alloc_per_visit=%s\\n",
			      print_bytes(self / n->self.entered).text);
	(void)fprintf(out,
		      "num_malloc_self=%" PRIu64 "\\nnum_realloc_self=%" PRIu64
		      "\\nnum_calloc_self=%" PRIu64 "\\nnum_free_self=%" PRIu64,
		      n->self.calls[PROFILE_API_MALLOC], n->self.calls[PROFILE_API_REALLOC],
		      n->self.calls[PROFILE_API_CALLOC], n->self.frees);
}

static void put_node(FILE *out, const struct tagtree *t, uint32_t index,
		     const struct tagtree_tree *tree)
{
	const struct tagtree_node *n = &t->nodes.at[index];
	char buffer[32];

	(void)fprintf(out, "    n%" PRIu32 " [%slabel=\"", index, n->depth ? "" : "shape=box, ");
	if (n->depth) {
		(void)fputs("scope=", out);
		put_text(out, tagtree_get_name(t, n->name));
	} else {
		(void)fputs("thread=", out);
		put_text(out, tagtree_get_title(t, tree, buffer));
		(void)fprintf(out, "\\nTID=%" PRIu32, tree->tid);
	}
	(void)fputs("\\n", out);
	put_figures(out, t, n);
	(void)fputs("\", ", out);
	put_colour(out, get_weight(t, n->self.allocated_bytes));
	(void)fputs("];\n", out);
	if (n->depth)
		(void)fprintf(out, "    n%" PRIu32 " -> n%" PRIu32 " [label=\"w=%.2f%%\"];\n",
			      n->parent, index, get_weight(t, n->total.allocated_bytes));
}

static void put_tree(FILE *out, const struct tagtree *t, size_t number)
{
	const struct tagtree_tree *tree = &t->trees.at[number];

	(void)fprintf(out,
		      "  subgraph cluster_%zu {\n    label=\"TID=%" PRIu32
		      "\\nnTreeNodesInUse=%" PRIu32,
		      number, tree->tid, tree->nodes);
	if (tree->rule) {
		(void)fprintf(out, "\\nnThreads=%" PRIu32 "\\nmanipulatedByRule=aggregate threads ",
			      tree->threads);
		put_text(out, pattern_get_text(tree->rule));
	}
	(void)fputs("\"; labelloc=b; fontsize=20;\n", out);
	for (uint32_t n = tree->root; n != TAGTREE_NONE; n = tagtree_get_next(t, n))
		put_node(out, t, n, tree);
	(void)fputs("  }\n", out);
}

void malloctag_write_dot(FILE *out, const struct tagtree *t, const struct malloctag_process *p)
{
	const struct profile *of = p->profile;

	(void)fputs("digraph AllMallocTrees {\n  node [colorscheme=reds9, style=filled];\n", out);
	(void)fprintf(out,
		      "  process [shape=box, fillcolor=1, label=\"Process %" PRIu32
		      "\\nallocated_mem_by_malloctag_itself=%s\\nallocated_mem=%s\\n"
		      "tracked_malloc=%s\\ntracked_free=%s\\nnet_tracked_mem=%s\\nvm_rss_now=%s\\n"
		      "malloctag_start_ts=%s\\nthis_snapshot_ts=%s\"];\n",
		      of->run.pid, print_bytes(of->totals.own_memory_bytes).text,
		      print_bytes(get_net(&t->total)).text,
		      print_bytes(t->total.allocated_bytes).text,
		      print_bytes(t->total.freed_bytes).text, print_bytes(get_net(&t->total)).text,
		      print_bytes(get_rss(p)).text, print_time(of->run.start_unix_ns).text,
		      print_time(get_end_ns(p)).text);
	for (size_t i = 0; i < t->trees.count; i++) {
		put_tree(out, t, i);
		(void)fprintf(
			out, "  process -> n%" PRIu32 " [label=\"w=%.2f%%\"];\n",
			t->trees.at[i].root,
			get_weight(t, t->nodes.at[t->trees.at[i].root].total.allocated_bytes));
	}
	(void)fputs("}\n", out);
}
