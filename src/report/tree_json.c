/* tree_json.c -- a call tree, or functions, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tree_json.h"

#include <stdlib.h>

#include "model/origin.h"
#include "report/answer_json.h"
#include "report/interval_json.h"
#include "report/names.h"

struct writer {
	struct json *json;
	const struct tree *tree;
	enum figures_sign sign;
	uint64_t last_id;
};

void tree_json_add_frame(struct json *j, const struct model_frame *f, bool with_line)
{
	json_add_text(j, "function", f->function);
	json_add_text(j, "file", f->file);
	if (with_line && f->line)
		json_add_uint(j, "line", f->line);
	else if (with_line)
		json_add_null(j, "line");
	json_add_text(j, "module", f->module);
	if (*f->function)
		json_add_null(j, "offset");
	else
		json_add_uint(j, "offset", f->offset);
}

void tree_json_add_own_stack(struct json *j, const struct model *m, size_t site)
{
	struct model_stack stack = {0};

	model_get_stack(m, site, &stack);
	json_add_uint(j, "own_frame", origin_find_own(m, &stack));
	json_begin_list(j, "stack");
	for (size_t i = 0; i < stack.frames.count; i++) {
		json_begin_object(j, NULL);
		tree_json_add_frame(j, model_get_frame(m, stack.frames.at[i]), true);
		json_end_object(j);
	}
	json_end_list(j);
	vec_free(&stack.frames);
}

void tree_json_add_stack(struct json *j, const struct model *m, uint32_t site)
{
	struct model_stack stack = {0};

	model_get_stack(m, site, &stack);
	json_begin_list(j, "stack");
	for (size_t i = 0; i < stack.frames.count; i++) {
		char *text = names_plain(model_get_frame(m, stack.frames.at[i]));
		json_add_string(j, NULL, text);
		free(text);
	}
	json_end_list(j);
	vec_free(&stack.frames);
}

/* Amounts of growth are signed. */
static void add_value(struct json *j, const char *key, uint64_t value, enum figures_sign sign)
{
	if (sign == FIGURES_PLAIN)
		json_add_uint(j, key, value);
	else
		json_add_int(j, key, (int64_t)(sign == FIGURES_SHRUNK ? -value : value));
}

static void add_omitted(struct writer *w, const struct tree_node *n, uint32_t shown)
{
	struct amount rest = tree_get_rest(w->tree, n, shown);

	json_add_uint(w->json, "omitted_count", n->child_count - shown);
	add_value(w->json, "omitted_bytes", rest.bytes, w->sign);
	add_value(w->json, "omitted_blocks", rest.blocks, w->sign);
}

static void add_recursion(struct json *j, const struct tree_node *n)
{
	json_add_uint(j, "cycle", n->cycle);
	json_add_uint(j, "repeats_min", n->repeats_min);
	json_add_uint(j, "repeats_max", n->repeats_max);
}

static void add_node(struct writer *w, const struct tree_node *n, uint64_t parent, unsigned depth)
{
	struct json *j = w->json;
	const struct model_frame *f = model_get_frame(w->tree->model, n->frame);

	json_begin_object(j, NULL);
	json_add_uint(j, "id", ++w->last_id);
	json_add_uint(j, "parent", parent);
	json_add_uint(j, "depth", depth);
	tree_json_add_frame(j, f, true);
	json_add_bool(j, "inlined", f->inlined);
	add_value(j, "bytes", n->amount.bytes, w->sign);
	add_value(j, "blocks", n->amount.blocks, w->sign);
	json_add_real(j, "share", tree_get_share(w->tree, n->amount));
	json_add_bool(j, "hot", n->hot);
	interval_json_add(j, "", n->amount, w->sign);
	if (w->tree->view.fold)
		add_recursion(j, n);
	add_value(j, "self_bytes", n->self.bytes, w->sign);
	add_value(j, "self_blocks", n->self.blocks, w->sign);
	interval_json_add(j, "self_", n->self, w->sign);
	add_omitted(w, n, tree_get_shown(w->tree, n, depth));
	json_end_object(j);
}

/* Recursion is bounded by MODEL_STACK_MAX. */
static void add_children(struct writer *w, const struct tree_node *n, uint64_t id, unsigned depth)
{
	uint32_t shown = tree_get_shown(w->tree, n, depth);

	for (uint32_t i = 0; i < shown; i++) {
		const struct tree_node *child = tree_get_child(w->tree, n, i);
		add_node(w, child, id, depth + 1);
		add_children(w, child, w->last_id, depth + 1);
	}
}

void tree_json_add(struct json *j, const struct tree *t, enum figures_sign sign)
{
	struct writer w = {.json = j, .tree = t, .sign = sign};
	const struct tree_node *whole = &t->nodes.at[0];

	json_add_string(j, "direction",
			t->view.direction == TREE_INVERTED ? "inverted" : "top-down");
	json_add_real(j, "threshold", t->view.threshold);
	add_omitted(&w, whole, tree_get_shown(t, whole, 0));
	json_begin_list(j, "nodes");
	add_children(&w, whole, 0, 0);
	json_end_list(j);
}

static void add_head(struct json *j, const struct profile *p, enum figure f, struct amount whole)
{
	json_add_string(j, "program", profile_string(p, p->run.program));
	answer_json_add_pid(j, p);
	json_add_string(j, "figure", figure_name(f));
	json_add_uint(j, "total_bytes", whole.bytes);
	json_add_uint(j, "total_blocks", whole.blocks);
}

void tree_json_print(FILE *out, const struct tree *t)
{
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	add_head(&j, model_get_profile(t->model), t->view.figure, t->nodes.at[0].amount);
	tree_json_add(&j, t, FIGURES_PLAIN);
	json_end_object(&j);
}

static void add_row(struct json *j, const struct flat *f, const struct flat_row *row,
		    enum figures_sign sign)
{
	const struct model_frame *frame =
		row->frame == FLAT_NO_TAG ? NULL : model_get_frame(f->model, row->frame);

	json_begin_object(j, NULL);
	if (!frame)
		json_add_null(j, "tag");
	else if (f->key == FLAT_BY_TAG)
		json_add_string(j, "tag", frame->function);
	else if (f->key == FLAT_BY_MODULE)
		json_add_text(j, "module", frame->module);
	else
		tree_json_add_frame(j, frame, f->key == FLAT_BY_LINE);
	add_value(j, "self_bytes", row->self.bytes, sign);
	add_value(j, "self_blocks", row->self.blocks, sign);
	add_value(j, "bytes", row->total.bytes, sign);
	add_value(j, "blocks", row->total.blocks, sign);
	interval_json_add(j, "self_", row->self, sign);
	interval_json_add(j, "", row->total, sign);
	json_end_object(j);
}

void tree_json_add_flat(struct json *j, const struct flat *f, enum figures_sign sign)
{
	static const char *const lists[] = {
		[FLAT_BY_FUNCTION] = "functions",
		[FLAT_BY_LINE] = "lines",
		[FLAT_BY_MODULE] = "modules",
		[FLAT_BY_TAG] = "tags",
	};

	json_begin_list(j, lists[f->key]);
	for (size_t i = 0; i < f->rows.count; i++)
		add_row(j, f, &f->rows.at[i], sign);
	json_end_list(j);
}

void tree_json_print_flat(FILE *out, const struct flat *f)
{
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	add_head(&j, model_get_profile(f->model), f->figure, f->whole);
	tree_json_add_flat(&j, f, FIGURES_PLAIN);
	json_end_object(&j);
}
