/* model.c -- a profile made ready for reading: stacks of named frames over the recorded sites.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Profiles name a location by index, and equal locations may have several. Here every distinct one
 * gets one id: all are sorted by content and numbered, which also makes every later order depend on
 * names alone. */
#include "model/model.h"

#include <string.h>

#include "base/map.h"
#include "model/allocator.h"
#include "model/apart.h"
#include "model/display.h"
#include "model/imports.h"
#include "model/machinery.h"
#include "model/plumbing.h"

struct model {
	const struct profile *profile;
	bool all_frames;
	bool has_python;	/* a frame of it is there, and so what machinery.h is about */
	struct display display; /* owns the texts of the frames */
	struct imports imports; /* none unless they are to be folded */
	uint32_t *import_ids;	/* by name of an import */
	uint32_t *native_ids;	/* by profile module: what stands for frames without names */
	VEC(struct model_frame) frames;
	uint32_t *frame_ids; /* by profile frame */
	uint32_t *node_ids;  /* by profile node, for nodes without frames */
	uint32_t cut_id;     /* the placeholder for frames left out */
	uint32_t none_id;    /* the placeholder for a stack without any frame */
};

/* A location before it has its id. */
struct candidate {
	struct model_frame frame;
	uint32_t *id; /* where the id is wanted */
};

struct builder {
	struct model *model;
	bool *claimed;	 /* by profile frame: it is a candidate */
	uint32_t *first; /* by profile node without frames: the first one at the same address */
	struct map addresses; /* of those nodes -> the first one */
	VEC(struct candidate) candidates;
	bool has_python; /* a frame of it is in the profile */
	bool *nameless;	 /* by profile module: it has frames without names */
};

/* Equal texts are the same one as a rule, since strings are interned. */
static int compare_texts(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a, b);
}

/* Every file of Python has a <module>, and many an __init__. */
static int compare_functions(const struct model_frame *a, const struct model_frame *b)
{
	int order = compare_texts(a->function, b->function);

	if (order == 0)
		order = compare_texts(a->module, b->module);
	if (order == 0 && a->named == PROFILE_NAMED_PYTHON)
		order = compare_texts(a->file, b->file);
	return order;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_frames(const struct model_frame *a, const struct model_frame *b)
{
	int order = compare_functions(a, b);

	if (order == 0)
		order = compare_texts(a->file, b->file);
	if (order == 0)
		order = compare_numbers(a->line, b->line);
	if (order == 0)
		order = compare_numbers(a->offset, b->offset);
	return order ? order : compare_numbers(a->inlined, b->inlined);
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return compare_frames(&a->frame, &b->frame);
}

static const char *node_module(const struct profile *p, const struct profile_node *n)
{
	const char *path = profile_string(p, p->modules.at[n->module].path);

	if (n->named)
		return display_named_module(n->named);
	return *path || n->module == 0 ? path : profile_string(p, p->run.executable);
}

static uint64_t node_offset(const struct profile *p, const struct profile_node *n)
{
	return n->pc - p->modules.at[n->module].bias;
}

/* A location that symbols gave, or the program itself. One without a function is told apart by its
 * line alone. */
static void add_frame(struct builder *b, uint32_t index, const struct profile_node *node)
{
	const struct profile *p = b->model->profile;
	const struct profile_frame *f = &p->frames.at[index];
	/* What the program says itself is no C++ name: <lambda> stays as it is. */
	const char *function = node->named ? profile_string(p, f->function)
					   : display_function(&b->model->display, f->function);

	*vec_push(&b->candidates) = (struct candidate){
		.frame = {.function = *function ? function : "??",
			  .module = node_module(p, node),
			  .file = display_file(&b->model->display, f->file),
			  .seen_at = node_offset(p, node),
			  .line = f->line,
			  .named = node->named,
			  .inlined = f->next != 0},
		.id = &b->model->frame_ids[index],
	};
}

/* Most addresses are in many stacks. */
static bool is_first_at_address(struct builder *b, uint32_t node)
{
	const struct profile_node *nodes = b->model->profile->nodes.at;
	uint64_t key = nodes[node].pc ^ (uint64_t)nodes[node].module << 48 ^
		       (uint64_t)nodes[node].named << 40;
	uint32_t *known = map_reserve(&b->addresses, key);

	if (!*known)
		*known = node;
	/* Where two modules' keys coincide, the second one stands for itself. */
	bool same = nodes[*known].pc == nodes[node].pc &&
		    nodes[*known].module == nodes[node].module &&
		    nodes[*known].named == nodes[node].named;
	b->first[node] = same ? *known : node;
	return b->first[node] == node;
}

/* A location that has an address only. */
static void add_address(struct builder *b, uint32_t node)
{
	const struct profile *p = b->model->profile;
	uint64_t offset = node_offset(p, &p->nodes.at[node]);

	if (!is_first_at_address(b, node))
		return;
	*vec_push(&b->candidates) = (struct candidate){
		.frame = {.function = "",
			  .module = node_module(p, &p->nodes.at[node]),
			  .file = "",
			  .named = p->nodes.at[node].named,
			  .offset = offset,
			  .seen_at = offset},
		.id = &b->model->node_ids[node],
	};
}

static void add_placeholder(struct builder *b, const char *text, uint32_t *id)
{
	*vec_push(&b->candidates) = (struct candidate){
		.frame = {.function = text, .module = "", .file = "", .placeholder = true},
		.id = id,
	};
}

static void add_imports(struct builder *b)
{
	struct model *m = b->model;

	m->import_ids = mem_new(m->imports.texts.count, sizeof(*m->import_ids));
	for (size_t i = 0; i < m->imports.texts.count; i++)
		*vec_push(&b->candidates) = (struct candidate){
			.frame = {.function = m->imports.texts.at[i],
				  .module = display_named_module(PROFILE_NAMED_PYTHON),
				  .file = "",
				  .named = PROFILE_NAMED_PYTHON},
			.id = &m->import_ids[i],
		};
}

/* Stacks of Python programs have one frame for all in a row that have no names: machinery.h. */
static void add_stand_ins(struct builder *b)
{
	const struct profile *p = b->model->profile;

	b->model->native_ids = mem_new(p->modules.count, sizeof(*b->model->native_ids));
	for (size_t i = 1; b->has_python && i < p->modules.count; i++) {
		struct profile_node any = {.module = (uint32_t)i};

		if (b->nameless[i])
			*vec_push(&b->candidates) = (struct candidate){
				.frame = {.function = MODEL_NATIVE_CODE,
					  .module = node_module(p, &any),
					  .file = ""},
				.id = &b->model->native_ids[i],
			};
	}
}

static void point_to_stand_ins(struct builder *b)
{
	const struct profile *p = b->model->profile;
	struct model *m = b->model;

	m->has_python = b->has_python;
	for (uint32_t i = 1; b->has_python && i < p->nodes.count; i++) {
		const struct profile_node *n = &p->nodes.at[i];

		if (!n->cut && !n->frames && !n->named && n->module)
			m->frames.at[m->node_ids[i]].stand_in = m->native_ids[n->module] + 1;
	}
}

/* The frames of a chain belong to the module of the node that leads to it. A frame seen before ends
 * the walk: what follows was claimed with it. */
static void claim_frames(struct builder *b, const struct profile_node *node)
{
	const struct profile *p = b->model->profile;

	for (uint32_t f = node->frames; f && !b->claimed[f]; f = p->frames.at[f].next) {
		b->claimed[f] = true;
		add_frame(b, f, node);
	}
}

static void list_candidates(struct builder *b)
{
	const struct profile *p = b->model->profile;

	b->claimed = mem_new(p->frames.count, sizeof(*b->claimed));
	b->first = mem_new(p->nodes.count, sizeof(*b->first));
	b->nameless = mem_new(p->modules.count, sizeof(*b->nameless));
	for (uint32_t i = 1; i < p->nodes.count; i++) {
		const struct profile_node *node = &p->nodes.at[i];
		if (node->cut)
			continue;
		claim_frames(b, node);
		b->has_python = b->has_python || node->named == PROFILE_NAMED_PYTHON;
		if (!node->frames) {
			add_address(b, i);
			b->nameless[node->module] = true;
		}
	}
	add_imports(b);
	add_stand_ins(b);
	add_placeholder(b, "[frames left out]", &b->model->cut_id);
	add_placeholder(b, "[no stack]", &b->model->none_id);
}

static void add_distinct(struct model *m, const struct model_frame *frame)
{
	uint32_t id = (uint32_t)m->frames.count;
	struct model_frame copy = *frame;

	copy.group = id;
	if (id && *copy.function && compare_functions(&m->frames.at[id - 1], &copy) == 0)
		copy.group = m->frames.at[id - 1].group;
	copy.hidden = allocator_is_entry(copy.function, copy.module);
	copy.machinery = (uint8_t)machinery_judge(&copy);
	copy.plumbing = copy.named ? PLUMBING_NONE : (uint8_t)plumbing_judge(copy.function);
	*vec_push(&m->frames) = copy;
}

static void number_candidates(struct builder *b)
{
	struct candidate *c = b->candidates.at;

	qsort(c, b->candidates.count, sizeof(*c), compare_candidates);
	for (size_t i = 0; i < b->candidates.count; i++) {
		if (i == 0 || compare_candidates(&c[i - 1], &c[i]) != 0)
			add_distinct(b->model, &c[i].frame);
		uint32_t id = (uint32_t)b->model->frames.count - 1;
		struct model_frame *frame = &b->model->frames.at[id];
		if (c[i].frame.seen_at < frame->seen_at)
			frame->seen_at = c[i].frame.seen_at;
		*c[i].id = id;
	}
	for (size_t i = 1; i < b->model->profile->nodes.count; i++)
		b->model->node_ids[i] = b->model->node_ids[b->first[i]];
}

static void free_builder(struct builder *b)
{
	free(b->claimed);
	free(b->first);
	free(b->nameless);
	map_free(&b->addresses);
	vec_free(&b->candidates);
}

struct model *model_new(const struct profile *p, const struct model_options *options)
{
	struct model *m = mem_new(1, sizeof(*m));
	struct builder b = {.model = m};

	m->profile = p;
	m->all_frames = options->all_frames;
	m->display = (struct display){
		.profile = p, .paths = options->paths, .full_names = options->full_names};
	m->frame_ids = mem_new(p->frames.count, sizeof(*m->frame_ids));
	m->node_ids = mem_new(p->nodes.count, sizeof(*m->node_ids));
	if (options->hide_imports)
		imports_find(&m->imports, p);
	list_candidates(&b);
	number_candidates(&b);
	point_to_stand_ins(&b);
	if (p->inputs.count > 1)
		apart_mark(m->frames.at, m->frames.count);
	display_seal(&m->display);
	free_builder(&b);
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	vec_free(&m->frames);
	display_fini(&m->display);
	imports_free(&m->imports);
	free(m->import_ids);
	free(m->native_ids);
	free(m->frame_ids);
	free(m->node_ids);
	free(m);
}

const struct profile *model_get_profile(const struct model *m)
{
	return m->profile;
}

size_t model_get_frame_count(const struct model *m)
{
	return m->frames.count;
}

const struct model_frame *model_get_frame(const struct model *m, uint32_t id)
{
	return &m->frames.at[id];
}

/* Appends the frames of one node, inlined ones first. */
static void push_node(const struct model *m, uint32_t index, struct model_stack *stack)
{
	const struct profile_node *node = &m->profile->nodes.at[index];
	uint32_t f = node->frames;

	if (node->cut)
		*vec_push(&stack->frames) = m->cut_id;
	else if (!f)
		*vec_push(&stack->frames) = m->node_ids[index];
	for (; f && !node->cut && stack->frames.count < MODEL_STACK_MAX;
	     f = m->profile->frames.at[f].next)
		*vec_push(&stack->frames) = m->frame_ids[f];
}

static size_t count_hidden_leaves(const struct model *m, const struct model_stack *stack)
{
	size_t hidden = 0;

	while (hidden + 1 < stack->frames.count && m->frames.at[stack->frames.at[hidden]].hidden)
		hidden++;
	return hidden;
}

static void drop_leaves(struct model_stack *stack, size_t count)
{
	stack->frames.count -= count;
	memmove(stack->frames.at, stack->frames.at + count,
		stack->frames.count * sizeof(*stack->frames.at));
}

static void fill_up(struct model_stack *origins, size_t count, uint32_t node)
{
	while (origins->frames.count < count)
		*vec_push(&origins->frames) = node;
}

/* In place of all frames of an import: one. Returns the node that it begins with. */
static uint32_t push_import(const struct model *m, uint32_t node, struct model_stack *stack)
{
	*vec_push(&stack->frames) = m->import_ids[m->imports.names[node]];
	return m->imports.begins[node];
}

/* `origins` may be NULL. */
static void collect(const struct model *m, uint32_t node, struct model_stack *stack,
		    struct model_stack *origins)
{
	stack->frames.count = 0;
	for (; node && stack->frames.count < MODEL_STACK_MAX;
	     node = m->profile->nodes.at[node].parent) {
		if (m->imports.begins && m->imports.begins[node])
			node = push_import(m, node, stack);
		else
			push_node(m, node, stack);
		if (origins)
			fill_up(origins, stack->frames.count, node);
	}
	if (node)
		stack->frames.at[stack->frames.count - 1] = m->cut_id;
	if (stack->frames.count == 0)
		*vec_push(&stack->frames) = m->none_id;
}

/* Takes out what is not shown. `origins` may be NULL. */
static void tidy(const struct model *m, struct model_stack *stack, struct model_stack *origins,
		 bool shows_plumbing)
{
	if (m->all_frames)
		return;
	size_t hidden = shows_plumbing ? count_hidden_leaves(m, stack)
				       : plumbing_count_leaves(m->frames.at, stack);
	drop_leaves(stack, hidden);
	if (origins)
		drop_leaves(origins, hidden);
	if (m->has_python)
		machinery_take_out(m->frames.at, stack, origins);
}

void model_get_stack(const struct model *m, size_t site, struct model_stack *stack)
{
	model_get_path(m, m->profile->sites.at[site].node, stack);
}

void model_get_path(const struct model *m, uint32_t node, struct model_stack *stack)
{
	collect(m, node, stack, NULL);
	tidy(m, stack, NULL, false);
}

void model_get_named_stack(const struct model *m, size_t site, struct model_stack *stack)
{
	collect(m, m->profile->sites.at[site].node, stack, NULL);
	tidy(m, stack, NULL, true);
}

void model_get_node(const struct model *m, uint32_t node, struct model_stack *stack)
{
	stack->frames.count = 0;
	push_node(m, node, stack);
}

void model_get_calls(const struct model *m, size_t site, struct model_stack *stack,
		     struct model_stack *origins)
{
	origins->frames.count = 0;
	collect(m, m->profile->sites.at[site].node, stack, origins);
	fill_up(origins, stack->frames.count, 0);
	tidy(m, stack, origins, false);
}
