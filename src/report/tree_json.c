/* tree_json.c -- a call tree, or functions, as JSON. Runs: offline, called by cli.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tree_json.h"

#include "base/json.h"

struct writer {
	struct json json;
	const struct tree *tree;
	uint64_t last_id;
};

static void add_text(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_add_string(j, key, text);
	else
		json_add_null(j, key);
}

static void add_frame(struct json *j, const struct model_frame *f, bool with_line)
{
	add_text(j, "function", f->function);
	add_text(j, "file", f->file);
	if (with_line && f->line)
		json_add_uint(j, "line", f->line);
	else if (with_line)
		json_add_null(j, "line");
	add_text(j, "module", f->module);
	if (*f->function)
		json_add_null(j, "offset");
	else
		json_add_uint(j, "offset", f->offset);
}

static void add_omitted(struct writer *w, const struct tree_node *n, uint32_t shown)
{
	struct amount rest = tree_get_rest(w->tree, n, shown);

	json_add_uint(&w->json, "omitted_count", n->child_count - shown);
	json_add_uint(&w->json, "omitted_bytes", rest.bytes);
	json_add_uint(&w->json, "omitted_blocks", rest.blocks);
}

static void add_node(struct writer *w, const struct tree_node *n, uint64_t parent, unsigned depth)
{
	struct json *j = &w->json;
	const struct model_frame *f = model_get_frame(w->tree->model, n->frame);

	json_begin_object(j, NULL);
	json_add_uint(j, "id", ++w->last_id);
	json_add_uint(j, "parent", parent);
	json_add_uint(j, "depth", depth);
	add_frame(j, f, true);
	json_add_bool(j, "inlined", f->inlined);
	json_add_uint(j, "bytes", n->amount.bytes);
	json_add_uint(j, "blocks", n->amount.blocks);
	json_add_real(j, "share", tree_get_share(w->tree, n->amount));
	json_add_uint(j, "self_bytes", n->self.bytes);
	json_add_uint(j, "self_blocks", n->self.blocks);
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

static void add_head(struct json *j, const struct profile *p, enum figure f, struct amount whole)
{
	json_add_string(j, "program", profile_string(p, p->run.program));
	json_add_uint(j, "pid", p->run.pid);
	json_add_string(j, "figure", figure_name(f));
	json_add_uint(j, "total_bytes", whole.bytes);
	json_add_uint(j, "total_blocks", whole.blocks);
}

void tree_json_print(FILE *out, const struct tree *t)
{
	struct writer w = {.json = {.out = out}, .tree = t};
	const struct tree_node *whole = &t->nodes.at[0];

	json_begin_object(&w.json, NULL);
	add_head(&w.json, model_get_profile(t->model), t->view.figure, whole->amount);
	json_add_string(&w.json, "direction",
			t->view.direction == TREE_INVERTED ? "inverted" : "top-down");
	json_add_real(&w.json, "threshold", t->view.threshold);
	add_omitted(&w, whole, tree_get_shown(t, whole, 0));
	json_begin_list(&w.json, "nodes");
	add_children(&w, whole, 0, 0);
	json_end_list(&w.json);
	json_end_object(&w.json);
}

void tree_json_print_flat(FILE *out, const struct flat *f)
{
	struct json j = {.out = out};

	json_begin_object(&j, NULL);
	add_head(&j, model_get_profile(f->model), f->figure, f->whole);
	json_begin_list(&j, "functions");
	for (size_t i = 0; i < f->rows.count; i++) {
		const struct flat_row *row = &f->rows.at[i];
		json_begin_object(&j, NULL);
		add_frame(&j, model_get_frame(f->model, row->frame), false);
		json_add_uint(&j, "self_bytes", row->self.bytes);
		json_add_uint(&j, "self_blocks", row->self.blocks);
		json_add_uint(&j, "bytes", row->total.bytes);
		json_add_uint(&j, "blocks", row->total.blocks);
		json_end_object(&j);
	}
	json_end_list(&j);
	json_end_object(&j);
}
