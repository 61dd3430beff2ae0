/* gprof2dot.c -- call chains with their cost in the JSON that gprof2dot reads (-f json). Runs:
 * offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reader adds a chain's cost to each call in it, as often as the call is there. Recursion is
 * therefore shortened: rounds that lead through nothing new are left out. */
#include "base/json.h"
#include "export/chains.h"
#include "export/export.h"
#include "export/labels.h"

struct event {
	uint32_t chain;
	uint64_t cost;
};

struct writer {
	struct json json;
	const struct model *model;
	enum figure figure;
	struct chains chains; /* of functions; a node's item is its event + 1 */
	VEC(struct event) events;
	VEC(uint32_t) path; /* of the stack at hand, root first */
	uint32_t *first;    /* by function: where in the path it came first, + 1; 0: not yet */
	uint32_t *numbers;  /* by function, as the events have them; see chains_number */
};

/* True if all that was called since `place` had been called before it too. */
static bool is_old_round(const struct writer *w, uint32_t place)
{
	for (size_t i = place; i < w->path.count; i++)
		if (w->first[w->path.at[i]] > place)
			return false;
	return true;
}

static void push_function(struct writer *w, uint32_t function)
{
	uint32_t place = w->first[function];

	if (place && is_old_round(w, place)) {
		w->path.count = place;
		return;
	}
	*vec_push(&w->path) = function;
	if (!place)
		w->first[function] = (uint32_t)w->path.count;
}

static void build_path(struct writer *w, const struct model_stack *stack)
{
	for (size_t i = 0; i < w->path.count; i++)
		w->first[w->path.at[i]] = 0;
	w->path.count = 0;
	for (size_t i = stack->frames.count; i-- > 0;)
		push_function(w, model_get_frame(w->model, stack->frames.at[i])->group);
}

static void add_event(struct writer *w, uint64_t cost)
{
	uint32_t chain = 0;

	for (size_t i = 0; i < w->path.count; i++)
		chain = chains_extend(&w->chains, chain, w->path.at[i]);
	uint32_t *item = &w->chains.nodes.at[chain].item;
	if (*item == 0) {
		*vec_push(&w->events) = (struct event){.chain = chain};
		*item = (uint32_t)w->events.count;
	}
	w->events.at[*item - 1].cost += cost;
}

static void list_events(struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	struct model_stack stack = {0};

	for (size_t i = 0; i < p->sites.count; i++) {
		uint64_t cost = figure_get_value(figure_get(&p->sites.at[i], w->figure), w->figure);
		if (cost == 0)
			continue;
		model_get_stack(w->model, i, &stack);
		build_path(w, &stack);
		add_event(w, cost);
	}
	vec_free(&stack.frames);
}

static void write_costs(struct writer *w)
{
	json_begin_list(&w->json, "costs");
	json_begin_object(&w->json, NULL);
	json_add_string(&w->json, "description", figure_name(w->figure));
	json_add_string(&w->json, "unit", figure_is_count(w->figure) ? "blocks" : "bytes");
	json_end_object(&w->json);
	json_end_list(&w->json);
}

static void write_functions(struct writer *w)
{
	struct labels *labels = labels_new(w->model, "");
	size_t frames = model_get_frame_count(w->model);

	json_begin_list(&w->json, "functions");
	for (uint32_t i = 0; i < frames; i++) {
		const char *module = model_get_frame(w->model, i)->module;
		if (w->numbers[i] == UINT32_MAX)
			continue;
		json_begin_object(&w->json, NULL);
		json_add_string(&w->json, "name", labels_get(labels, i));
		if (*module)
			json_add_string(&w->json, "module", labels_base(module));
		json_end_object(&w->json);
	}
	json_end_list(&w->json);
	labels_free(labels);
}

static void write_event(struct writer *w, const struct event *event)
{
	struct json *j = &w->json;

	json_begin_object(j, NULL);
	chains_write(&w->chains, event->chain, w->numbers, j, "callchain");
	json_begin_list(j, "cost");
	j->dense = true;
	json_add_uint(j, NULL, event->cost);
	json_end_list(j);
	j->dense = false;
	json_end_object(j);
}

static void write_events(struct writer *w)
{
	json_begin_list(&w->json, "events");
	for (size_t i = 0; i < w->events.count; i++)
		write_event(w, &w->events.at[i]);
	json_end_list(&w->json);
}

static int write_gprof2dot(FILE *out, const struct export_request *r, struct error *e)
{
	size_t frames = model_get_frame_count(r->model);
	struct writer w = {.json = {.out = out}, .model = r->model, .figure = r->figure};

	(void)e;
	w.first = mem_new(frames, sizeof(*w.first));
	list_events(&w);
	w.numbers = chains_number(&w.chains, frames, 0);
	json_begin_object(&w.json, NULL);
	json_add_uint(&w.json, "version", 0);
	write_costs(&w);
	write_functions(&w);
	write_events(&w);
	json_end_object(&w.json);
	free(w.first);
	free(w.numbers);
	vec_free(&w.events);
	vec_free(&w.path);
	chains_free(&w.chains);
	return 0;
}

const struct export_format export_gprof2dot = {
	.name = "gprof2dot",
	.summary = "one figure as call chains: gprof2dot -f json",
	.suffix = ".gprof2dot.json",
	.write = write_gprof2dot,
};
