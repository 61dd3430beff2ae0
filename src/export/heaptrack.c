/* heaptrack.c -- every event, as heaptrack's interpreter writes them and heaptrack_print and
 * heaptrack_gui read them. Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Format 3 of heaptrack: lines of a letter and hexadecimal numbers.
 *
 *   v VERSION FORMAT, X COMMAND, I PAGE-BYTES PAGES
 *   s LENGTH TEXT                       strings, numbered from 1
 *   i ADDRESS MODULE {FUNCTION FILE LINE}  places in the code, what was inlined first, from 1
 *   t PLACE PARENT                      stacks, from 1
 *   a SIZE STACK                        kinds of allocations, from 0
 *   + KIND, - KIND                      one came, one went
 *   c MS, R PAGES                       the time, and the resident set at that time
 *
 * A free right after an allocation of the same kind counts as temporary there. Its reader begins
 * with kind 0 as "the last one", so that kind is one that never comes. */
#include <inttypes.h>
#include <string.h>

#include "export/chains.h"
#include "export/export.h"
#include "export/labels.h"
#include "profile/trace.h"

#define HEAPTRACK_VERSION 0x10400u /* of the first that writes and reads format 3 in all packages */
#define HEAPTRACK_FORMAT  3u
#define NS_PER_MS	  UINT64_C(1000000)

struct writer {
	FILE *out;
	const struct model *model;
	const struct profile *profile;
	struct map strings; /* hash of the text -> number */
	uint32_t string_count;
	struct map pcs;	      /* address -> number, so that it fits into a chain */
	struct chains places; /* pc, module, frames; item: number of the place */
	uint32_t place_count;
	struct chains stacks; /* places from the root; item: number of the stack */
	uint32_t stack_count;
	struct map sizes;    /* size + 1 -> number */
	struct chains kinds; /* stack, size; item: number of the kind + 1 */
	uint32_t kind_count;
	uint32_t *stack_of; /* by site */
	size_t next_point;
};

/* ---- the code -------------------------------------------------------------------------------- */

static uint32_t put_string(struct writer *w, const char *text)
{
	if (!*text)
		return 0;
	uint32_t *number = map_reserve(&w->strings, map_hash_text(text));
	if (!*number) {
		char *clean = labels_clean(text, "");

		*number = ++w->string_count;
		fprintf(w->out, "s %zx %s\n", strlen(clean), clean);
		free(clean);
	}
	return *number;
}

static uint32_t get_number(struct map *m, uint64_t key)
{
	uint32_t next = (uint32_t)m->count + 1;
	uint32_t *number = map_reserve(m, key);

	if (!*number)
		*number = next;
	return *number;
}

/* A run of frames that are one call: what was inlined first. */
struct call {
	const uint32_t *frames;
	size_t count;
	uint32_t node;
};

static void write_place(struct writer *w, const struct call *call)
{
	const struct model_frame *first = model_get_frame(w->model, call->frames[0]);
	uint32_t module = put_string(w, first->module);
	VEC(uint32_t) names = {0};

	for (size_t i = 0; i < call->count; i++) {
		const struct model_frame *f = model_get_frame(w->model, call->frames[i]);
		*vec_push(&names) = put_string(w, f->function);
		*vec_push(&names) = put_string(w, f->file);
	}
	fprintf(w->out, "i %" PRIx64 " %" PRIx32, w->profile->nodes.at[call->node].pc, module);
	for (size_t i = 0; i < call->count && names.at[2 * i]; i++)
		fprintf(w->out, " %" PRIx32 " %" PRIx32 " %" PRIx32, names.at[2 * i],
			names.at[2 * i + 1], model_get_frame(w->model, call->frames[i])->line);
	fputc('\n', w->out);
	vec_free(&names);
}

/* The number of the call's place, written if it is new. */
static uint32_t put_place(struct writer *w, const struct call *call)
{
	const struct profile_node *node = &w->profile->nodes.at[call->node];
	uint32_t at = chains_extend(&w->places, 0, get_number(&w->pcs, node->pc));

	at = chains_extend(&w->places, at, node->module);
	for (size_t i = 0; i < call->count; i++)
		at = chains_extend(&w->places, at, call->frames[i]);
	if (!w->places.nodes.at[at].item) {
		write_place(w, call);
		w->places.nodes.at[at].item = ++w->place_count;
	}
	return w->places.nodes.at[at].item;
}

static uint32_t put_stack_below(struct writer *w, uint32_t parent, uint32_t place)
{
	uint32_t at = chains_extend(&w->stacks, parent, place);

	if (!w->stacks.nodes.at[at].item) {
		w->stacks.nodes.at[at].item = ++w->stack_count;
		fprintf(w->out, "t %" PRIx32 " %" PRIx32 "\n", place,
			w->stacks.nodes.at[parent].item);
	}
	return at;
}

/* From the root to the allocating function, call by call. */
static uint32_t put_stack(struct writer *w, const struct model_stack *stack,
			  const struct model_stack *origins)
{
	uint32_t at = 0;

	for (size_t end = stack->frames.count; end > 0;) {
		size_t start = end - 1;

		while (start && origins->frames.at[start - 1] == origins->frames.at[end - 1])
			start--;
		const struct call call = {&stack->frames.at[start], end - start,
					  origins->frames.at[start]};
		at = put_stack_below(w, at, put_place(w, &call));
		end = start;
	}
	return at;
}

static void write_stacks(struct writer *w)
{
	struct model_stack stack = {0}, origins = {0};

	w->stack_of = mem_new(w->profile->sites.count, sizeof(*w->stack_of));
	for (size_t i = 0; i < w->profile->sites.count; i++) {
		model_get_calls(w->model, i, &stack, &origins);
		w->stack_of[i] = put_stack(w, &stack, &origins);
	}
	vec_free(&stack.frames);
	vec_free(&origins.frames);
}

/* ---- the events ------------------------------------------------------------------------------ */

/* The number of the kind of a block, written if it is new. */
static uint32_t put_kind(struct writer *w, const struct trace_event *e)
{
	uint32_t stack = w->stack_of[e->site];
	uint32_t at = chains_extend(&w->kinds, 0, stack);

	at = chains_extend(&w->kinds, at, get_number(&w->sizes, e->size));
	if (!w->kinds.nodes.at[at].item) {
		fprintf(w->out, "a %" PRIx64 " %" PRIx32 "\n", e->size,
			w->stacks.nodes.at[stack].item);
		w->kinds.nodes.at[at].item = w->kind_count++;
	}
	return w->kinds.nodes.at[at].item;
}

/* What the resident set was on the way to this time. */
static void pass_points(struct writer *w, uint64_t time_ns)
{
	const struct profile *p = w->profile;
	uint64_t page = p->run.page_bytes ? p->run.page_bytes : 4096;

	for (; w->next_point < p->points.count && p->points.at[w->next_point].time_ns <= time_ns;
	     w->next_point++) {
		const struct profile_point *point = &p->points.at[w->next_point];

		fprintf(w->out, "c %" PRIx64 "\nR %" PRIx64 "\n", point->time_ns / NS_PER_MS,
			point->rss_bytes / page);
	}
}

static int write_events(struct writer *w, struct error *e)
{
	struct trace_cursor *c = trace_cursor_new(w->profile);
	const struct trace_event *event;
	uint64_t ms = UINT64_MAX;

	while ((event = trace_cursor_next(c))) {
		pass_points(w, event->time_ns);
		if (event->time_ns / NS_PER_MS != ms) {
			ms = event->time_ns / NS_PER_MS;
			fprintf(w->out, "c %" PRIx64 "\n", ms);
		}
		uint32_t kind = put_kind(w, event);
		fprintf(w->out, "%c %" PRIx32 "\n", trace_is_arrival(event) ? '+' : '-', kind);
	}
	pass_points(w, UINT64_MAX);
	int result = trace_cursor_check(c, e);
	trace_cursor_free(c);
	return result;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_head(struct writer *w)
{
	const struct profile *p = w->profile;
	uint64_t page = p->run.page_bytes ? p->run.page_bytes : 4096;
	char *command = labels_clean(profile_string(p, p->run.command), "");

	fprintf(w->out, "v %x %x\nX %s\n", HEAPTRACK_VERSION, HEAPTRACK_FORMAT, command);
	/* How much memory the machine had is not known. */
	fprintf(w->out, "I %" PRIx64 " %" PRIx64 "\n", page, p->totals.rss_peak_bytes / page);
	free(command);
}

static void free_writer(struct writer *w)
{
	map_free(&w->strings);
	map_free(&w->pcs);
	map_free(&w->sizes);
	chains_free(&w->places);
	chains_free(&w->stacks);
	chains_free(&w->kinds);
	free(w->stack_of);
}

static int write_heaptrack(FILE *out, const struct export_request *r, struct error *e)
{
	struct writer w = {.out = out, .model = r->model, .profile = model_get_profile(r->model)};

	if (!w.profile->run.clock_ticks)
		return error_set(e, "heaptrack's format needs every event: record with "
				    "`midden record --trace`");
	write_head(&w);
	write_stacks(&w);
	fputs("a 0 0\n", out);
	w.kind_count = 1;
	int result = write_events(&w, e);
	free_writer(&w);
	return result;
}

const struct export_format export_heaptrack = {
	.name = "heaptrack",
	.summary = "every event of a profile with a trace: heaptrack_print, heaptrack_gui",
	.suffix = ".heaptrack",
	.needs_trace = true,
	.write = write_heaptrack,
};
