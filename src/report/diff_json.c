/* diff_json.c -- what changed between two profiles, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/diff_json.h"

#include "base/json.h"
#include "report/answer_json.h"
#include "report/tree_json.h"

static const char *status_name(enum diff_status status)
{
	static const char *const names[] = {
		[DIFF_SAME] = "same", [DIFF_GROWN] = "grown", [DIFF_SHRUNK] = "shrunk",
		[DIFF_NEW] = "new",   [DIFF_GONE] = "gone",
	};

	return names[status];
}

static void add_run(struct json *j, const char *key, const struct profile *p)
{
	json_begin_object(j, key);
	json_add_string(j, "program", profile_string(p, p->run.program));
	json_add_string(j, "command", profile_string(p, p->run.command));
	answer_json_add_pid(j, p);
	json_add_uint(j, "lost_events", p->totals.lost_events);
	json_add_bool(j, "damaged", p->damaged);
	json_end_object(j);
}

static void add_amounts(struct json *j, const struct amount a[2])
{
	json_add_uint(j, "old_bytes", a[0].bytes);
	json_add_uint(j, "new_bytes", a[1].bytes);
	json_add_int(j, "change_bytes", diff_change(a[0].bytes, a[1].bytes));
	json_add_uint(j, "old_blocks", a[0].blocks);
	json_add_uint(j, "new_blocks", a[1].blocks);
	json_add_int(j, "change_blocks", diff_change(a[0].blocks, a[1].blocks));
}

/* In percent; null where there was nothing before. */
static void add_relative(struct json *j, uint64_t before, uint64_t now)
{
	if (before)
		json_add_real(j, "relative",
			      100.0 * (double)diff_change(before, now) / (double)before);
	else
		json_add_null(j, "relative");
}

static void add_totals(struct json *j, const struct diff *d)
{
	json_begin_object(j, "totals");
	for (unsigned i = 0; i < FIGURE_KINDS; i++) {
		enum figure f = (enum figure)i;
		const struct amount a[2] = {
			diff_get_total(d, 0, f),
			diff_get_total(d, 1, f),
		};
		json_begin_object(j, figure_name(f));
		add_amounts(j, a);
		add_relative(j, figure_get_value(a[0], f), figure_get_value(a[1], f));
		json_end_object(j);
	}
	json_end_object(j);
}

static void add_frame(struct json *j, const struct model_frame *f, bool line)
{
	json_add_text(j, "function", f->function);
	json_add_text(j, "file", f->file);
	if (line && f->line)
		json_add_uint(j, "line", f->line);
	else
		json_add_null(j, "line");
	json_add_text(j, "module", f->module);
}

static void add_subject(struct json *j, const struct diff *d, const struct diff_row *row)
{
	unsigned side = diff_get_side(row);
	const struct model *m = d->models[side];

	if (d->by == DIFF_BY_STACK)
		tree_json_add_stack(j, m, row->subjects[side]);
	else if (d->by == DIFF_BY_MODULE)
		json_add_text(j, "module", model_get_frame(m, row->subjects[side])->module);
	else
		add_frame(j, model_get_frame(m, row->subjects[side]), d->by == DIFF_BY_LINE);
}

/* By function: with all that it called. */
static void add_inclusive(struct json *j, const struct amount a[2])
{
	json_add_uint(j, "old_total_bytes", a[0].bytes);
	json_add_uint(j, "new_total_bytes", a[1].bytes);
	json_add_int(j, "change_total_bytes", diff_change(a[0].bytes, a[1].bytes));
	json_add_uint(j, "old_total_blocks", a[0].blocks);
	json_add_uint(j, "new_total_blocks", a[1].blocks);
	json_add_int(j, "change_total_blocks", diff_change(a[0].blocks, a[1].blocks));
}

static void add_row(struct json *j, const struct diff *d, const struct diff_row *row)
{
	json_begin_object(j, NULL);
	json_add_string(j, "status", status_name(row->status));
	add_amounts(j, row->amounts);
	if (d->by == DIFF_BY_FUNCTION)
		add_inclusive(j, row->totals);
	json_add_uint(j, "old_count", row->counts[0]);
	json_add_uint(j, "new_count", row->counts[1]);
	add_subject(j, d, row);
	json_end_object(j);
}

static bool is_large(const struct diff *d, const struct diff_row *row, double threshold)
{
	int64_t change = diff_get_change(d, row);
	uint64_t distance = change < 0 ? -(uint64_t)change : (uint64_t)change;

	return d->gross == 0 || 100.0 * (double)distance / (double)d->gross >= threshold;
}

static void add_omitted(struct json *j, size_t count, struct diff_delta rest)
{
	json_add_uint(j, "omitted_count", count);
	json_add_int(j, "omitted_change_bytes", rest.bytes);
	json_add_int(j, "omitted_change_blocks", rest.blocks);
}

static void add_rows(struct json *j, const struct diff *d, double threshold)
{
	struct diff_delta rest = {0, 0};
	size_t omitted = 0;

	json_begin_list(j, "rows");
	for (size_t i = 0; i < d->rows.count; i++) {
		const struct diff_row *row = &d->rows.at[i];
		if (is_large(d, row, threshold)) {
			add_row(j, d, row);
			continue;
		}
		omitted++;
		diff_tree_add(&rest, diff_tree_get_delta(row));
	}
	json_end_list(j);
	add_omitted(j, omitted, rest);
}

static void add_head(struct json *j, const struct diff *d, double threshold)
{
	add_run(j, "old", model_get_profile(d->models[0]));
	add_run(j, "new", model_get_profile(d->models[1]));
	add_totals(j, d);
	json_begin_object(j, "suppressed");
	add_amounts(j, d->suppressed);
	json_end_object(j);
	json_add_string(j, "figure", figure_name(d->figure));
	json_add_string(j, "by", diff_by_name(d->by));
	json_add_real(j, "threshold", threshold);
	json_begin_object(j, "stacks");
	add_amounts(j, d->whole);
	json_end_object(j);
	json_begin_object(j, "unchanged");
	json_add_uint(j, "count", d->same_count);
	json_add_uint(j, "bytes", d->same.bytes);
	json_add_uint(j, "blocks", d->same.blocks);
	json_end_object(j);
}

void diff_json_print(FILE *out, const struct diff *d, double threshold)
{
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	add_head(&j, d, threshold);
	add_rows(&j, d, threshold);
	json_end_object(&j);
}

/* ---- the tree -------------------------------------------------------------------------------- */

struct writer {
	struct json json;
	const struct diff_tree *tree;
	uint64_t last_id;
};

static void add_left_out(struct writer *w, const struct diff_node *n)
{
	struct diff_delta rest = {0, 0};

	for (uint32_t i = n->shown; i < n->child_count; i++) {
		const struct diff_node *child = &w->tree->nodes.at[n->first_child + i];
		diff_tree_add(&rest, child->delta);
	}
	add_omitted(&w->json, n->child_count - n->shown, rest);
}

static void add_node(struct writer *w, const struct diff_node *n, uint64_t parent, unsigned depth)
{
	struct json *j = &w->json;

	json_begin_object(j, NULL);
	json_add_uint(j, "id", ++w->last_id);
	json_add_uint(j, "parent", parent);
	json_add_uint(j, "depth", depth);
	add_frame(j, model_get_frame(w->tree->diff->models[n->side], n->frame), false);
	json_add_int(j, "change_bytes", n->delta.bytes);
	json_add_int(j, "change_blocks", n->delta.blocks);
	json_add_int(j, "self_change_bytes", n->self.bytes);
	json_add_int(j, "self_change_blocks", n->self.blocks);
	add_left_out(w, n);
	json_end_object(j);
}

/* Recursion is bounded by MODEL_STACK_MAX. */
static void add_children(struct writer *w, const struct diff_node *n, uint64_t id, unsigned depth)
{
	for (uint32_t i = 0; i < n->shown; i++) {
		const struct diff_node *child = &w->tree->nodes.at[n->first_child + i];
		add_node(w, child, id, depth + 1);
		add_children(w, child, w->last_id, depth + 1);
	}
}

void diff_json_print_tree(FILE *out, const struct diff_tree *t)
{
	struct writer w = {.json = {.out = out}, .tree = t};

	json_begin_object(&w.json, NULL);
	add_head(&w.json, t->diff, t->threshold);
	json_add_string(&w.json, "direction",
			t->direction == TREE_INVERTED ? "inverted" : "top-down");
	add_left_out(&w, t->nodes.at);
	json_begin_list(&w.json, "nodes");
	add_children(&w, t->nodes.at, 0, 0);
	json_end_list(&w.json);
	json_end_object(&w.json);
}
