/* pprof.c -- profile.proto, gzipped, as `go tool pprof` and many services read it.
 * Runs: offline; called by cli and serve.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The order of fields in a message is free, so each location, function and string goes out when it
 * is first met and nothing but indices is kept. */
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "export/export.h"
#include "export/gzip.h"
#include "export/labels.h"
#include "export/protobuf.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING_TABLE,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE,
};
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE };
enum {
	MAPPING_ID = 1,
	MAPPING_MEMORY_START,
	MAPPING_MEMORY_LIMIT,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINE_NUMBERS,
	MAPPING_HAS_INLINE_FRAMES,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILENAME = 4 };

/* What a sample holds. The names before "peak" are those that pprof knows from other heaps; there,
 * too, "inuse" is what was live when the profile was taken: here the end of the program. */
static const struct value_type {
	const char *type;
	const char *unit;
	enum figure figure;
} value_types[] = {
	{"alloc_objects", "count", FIGURE_CALLS},  {"alloc_space", "bytes", FIGURE_ALLOCATED},
	{"inuse_objects", "count", FIGURE_LEAKED}, {"inuse_space", "bytes", FIGURE_LEAKED},
	{"peak_objects", "count", FIGURE_PEAK},	   {"peak_space", "bytes", FIGURE_PEAK},
};

#define VALUE_TYPES (sizeof(value_types) / sizeof(*value_types))

struct writer {
	const struct model *model;
	const struct export_request *request;
	struct gzip *gzip;
	struct protobuf message; /* the one that is being put together */
	struct protobuf part;	 /* a message inside it */
	struct protobuf whole;	 /* fields of the profile that have not gone out */
	uint32_t string_count;	 /* that have gone out, after the empty one */
	struct map strings;	 /* address of the text -> index */
	struct map functions;	 /* name, file -> id */
	struct map addresses;	 /* address -> its number */
	struct map locations;	 /* number of the address, frame -> id */
	VEC(uint64_t) numbers;	 /* a list on its way into a message */
};

static void send(struct writer *w)
{
	gzip_write(w->gzip, w->whole.bytes.at, w->whole.bytes.count);
	w->whole.bytes.count = 0;
}

/* Adds to the table of strings; returns the index there. */
static uint32_t add_string(struct writer *w, const char *text)
{
	char *clean = labels_clean(text, "");

	protobuf_put_bytes(&w->whole, PROFILE_STRING_TABLE, clean, strlen(clean));
	free(clean);
	return ++w->string_count;
}

/* The index of a text that stays where it is. Such texts are told apart by address: those of a
 * profile have one each, and an equal text at another one costs its bytes and no more. */
static uint64_t find_string(struct writer *w, const char *text)
{
	if (!*text)
		return 0;
	uint32_t *index = map_reserve(&w->strings, (uintptr_t)text);
	if (*index == 0)
		*index = add_string(w, text);
	return *index;
}

static uint64_t find_function(struct writer *w, const struct model_frame *f)
{
	uint64_t name = find_string(w, f->function), file = find_string(w, f->file);
	uint32_t *id = map_reserve(&w->functions, name << 32 | file);
	struct protobuf function = {0};

	if (*id)
		return *id;
	*id = (uint32_t)w->functions.count;
	protobuf_put_number(&function, FUNCTION_ID, *id);
	/* Without a system_name: pprof would take a name that equals it for mangled, and shorten
	 * what looks like C++. */
	protobuf_put_number(&function, FUNCTION_NAME, name);
	protobuf_put_number(&function, FUNCTION_FILENAME, file);
	protobuf_put_message(&w->whole, PROFILE_FUNCTION, &function);
	protobuf_free(&function);
	return *id;
}

static void put_value_type(struct writer *w, uint32_t field, const char *type, const char *unit)
{
	protobuf_put_number(&w->message, VALUE_TYPE, find_string(w, type));
	protobuf_put_number(&w->message, VALUE_UNIT, find_string(w, unit));
	protobuf_put_message(&w->whole, field, &w->message);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void put_build_id(struct writer *w, const struct profile_module *module)
{
	char *hex = mem_new(2 * module->build_id_bytes + 1, 1);

	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		sprintf(hex + 2 * (size_t)i, "%02x", module->build_id[i]);
	if (*hex)
		protobuf_put_number(&w->message, MAPPING_BUILD_ID, add_string(w, hex));
	free(hex);
}

static const char *module_path(const struct profile *p, uint32_t module)
{
	const char *path = profile_string(p, p->modules.at[module].path);

	return *path ? path : profile_string(p, p->run.executable);
}

/* `known`: it has symbols, so pprof need not look for any. */
static void put_mapping(struct writer *w, uint32_t module, bool known)
{
	const struct profile *p = model_get_profile(w->model);
	const struct profile_module *from = &p->modules.at[module];

	protobuf_put_number(&w->message, MAPPING_ID, module);
	protobuf_put_number(&w->message, MAPPING_MEMORY_START, from->map_start);
	protobuf_put_number(&w->message, MAPPING_MEMORY_LIMIT, from->map_end);
	protobuf_put_number(&w->message, MAPPING_FILENAME, find_string(w, module_path(p, module)));
	put_build_id(w, from);
	for (uint32_t f = MAPPING_HAS_FUNCTIONS; f <= MAPPING_HAS_INLINE_FRAMES; f++)
		protobuf_put_number(&w->message, f, known);
	protobuf_put_message(&w->whole, PROFILE_MAPPING, &w->message);
}

/* Readers take the first mapping for the program. */
static uint32_t find_main_module(const struct profile *p)
{
	const char *executable = profile_string(p, p->run.executable);

	for (uint32_t i = 1; i < p->modules.count; i++)
		if (strcmp(module_path(p, i), executable) == 0)
			return i;
	return 0;
}

static void put_mappings(struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	bool *known = mem_new(p->modules.count, sizeof(*known));
	uint32_t first = find_main_module(p);

	for (size_t i = 1; i < p->nodes.count; i++)
		known[p->nodes.at[i].module] |= p->nodes.at[i].frames != 0;
	if (first)
		put_mapping(w, first, known[first]);
	for (uint32_t i = 1; i < p->modules.count; i++)
		if (i != first)
			put_mapping(w, i, known[i]);
	free(known);
	send(w);
}

/* ---- locations and samples ------------------------------------------------------------------- */

/* The frames of one call: `count` from `first` in the stack. */
struct call {
	const struct profile_node *node; /* NULL: a placeholder, that is nowhere */
	const uint32_t *frames;
	size_t count;
};

static void put_lines(struct writer *w, const struct call *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct model_frame *f = model_get_frame(w->model, c->frames[i]);
		if (!*f->function)
			continue;
		protobuf_put_number(&w->part, LINE_FUNCTION_ID, find_function(w, f));
		protobuf_put_number(&w->part, LINE_LINE, f->line);
		protobuf_put_message(&w->message, LOCATION_LINE, &w->part);
	}
}

static void put_location(struct writer *w, uint32_t id, const struct call *c)
{
	protobuf_put_number(&w->message, LOCATION_ID, id);
	if (c->node && !c->node->named) {
		/* A return address is that of the next instruction, maybe of the next function. */
		protobuf_put_number(&w->message, LOCATION_MAPPING_ID, c->node->module);
		protobuf_put_number(&w->message, LOCATION_ADDRESS, c->node->pc - !c->node->exact);
	}
	put_lines(w, c);
	protobuf_put_message(&w->whole, PROFILE_LOCATION, &w->message);
}

/* An address may have several locations: where an allocator's entry was inlined and is hidden, or
 * where one module took the place of another. The first frame tells them apart. */
static uint32_t find_location(struct writer *w, const struct call *c)
{
	uint64_t number = 0;

	if (c->node && !c->node->named) {
		uint32_t *place = map_reserve(&w->addresses, c->node->pc);
		if (*place == 0)
			*place = (uint32_t)w->addresses.count;
		number = *place;
	}
	uint32_t *id = map_reserve(&w->locations, number << 32 | c->frames[0]);
	if (*id == 0) {
		*id = (uint32_t)w->locations.count;
		put_location(w, *id, c);
	}
	return *id;
}

static struct call get_call(const struct writer *w, const struct model_stack *stack,
			    const struct model_stack *origins, size_t at)
{
	uint32_t node = origins->frames.at[at];
	struct call c = {NULL, &stack->frames.at[at], 1};

	if (model_get_frame(w->model, c.frames[0])->placeholder)
		return c;
	c.node = &model_get_profile(w->model)->nodes.at[node];
	while (at + c.count < stack->frames.count && origins->frames.at[at + c.count] == node &&
	       !model_get_frame(w->model, c.frames[c.count])->placeholder)
		c.count++;
	return c;
}

static void put_locations(struct writer *w, const struct model_stack *stack,
			  const struct model_stack *origins)
{
	w->numbers.count = 0;
	for (size_t i = 0; i < stack->frames.count;) {
		struct call c = get_call(w, stack, origins, i);
		*vec_push(&w->numbers) = find_location(w, &c);
		i += c.count;
	}
	protobuf_put_numbers(&w->message, SAMPLE_LOCATION_ID, w->numbers.at, w->numbers.count);
}

static uint64_t get_value(const struct profile_site *site, const struct value_type *t)
{
	struct amount a = figure_get(site, t->figure);
	uint64_t value = strcmp(t->unit, "bytes") == 0 ? a.bytes : a.blocks;

	return value < INT64_MAX ? value : INT64_MAX; /* pprof's numbers have a sign */
}

/* False: there is nothing to tell of this site. */
static bool fill_values(const struct writer *w, size_t site, uint64_t values[VALUE_TYPES])
{
	const struct profile *p = model_get_profile(w->model);
	const struct export_earlier *earlier = w->request->earlier;
	bool any = !earlier;

	for (size_t k = 0; k < VALUE_TYPES; k++) {
		values[k] = get_value(&p->sites.at[site], &value_types[k]);
		if (earlier && site < earlier->count)
			values[k] -= get_value(&earlier->sites[site], &value_types[k]);
		any = any || values[k];
	}
	return any;
}

static void put_samples(struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	struct model_stack stack = {0}, origins = {0};
	uint64_t values[VALUE_TYPES];

	for (size_t i = 0; i < p->sites.count; i++) {
		if (!fill_values(w, i, values))
			continue;
		model_get_calls(w->model, i, &stack, &origins);
		put_locations(w, &stack, &origins);
		protobuf_put_numbers(&w->message, SAMPLE_VALUE, values, VALUE_TYPES);
		protobuf_put_message(&w->whole, PROFILE_SAMPLE, &w->message);
		send(w);
	}
	vec_free(&stack.frames);
	vec_free(&origins.frames);
}

/* ---- the profile ----------------------------------------------------------------------------- */

static void put_types(struct writer *w, const char *shown)
{
	for (size_t i = 0; i < VALUE_TYPES; i++)
		put_value_type(w, PROFILE_SAMPLE_TYPE, value_types[i].type, value_types[i].unit);
	protobuf_put_number(&w->whole, PROFILE_DEFAULT_SAMPLE_TYPE, find_string(w, shown));
	/* Where every byte was counted, one stands for one. Values of samples are estimates
	 * already, as they are in a heap profile of Go's: no reader multiplies them once more. */
	uint64_t period = model_get_profile(w->model)->run.sample_period;
	put_value_type(w, PROFILE_PERIOD_TYPE, "space", "bytes");
	protobuf_put_number(&w->whole, PROFILE_PERIOD, period ? period : 1);
}

static void put_times(struct writer *w)
{
	const struct profile_run *run = &model_get_profile(w->model)->run;
	const struct export_earlier *earlier = w->request->earlier;
	uint64_t start_ns = earlier ? earlier->time_ns : w->request->live ? run->duration_ns : 0;

	protobuf_put_number(&w->whole, PROFILE_TIME_NANOS, run->start_unix_ns + start_ns);
	protobuf_put_number(&w->whole, PROFILE_DURATION_NANOS,
			    run->duration_ns > start_ns ? run->duration_ns - start_ns : 0);
}

static void put_comment(struct writer *w, char *text)
{
	protobuf_put_number(&w->whole, PROFILE_COMMENT, add_string(w, text));
	free(text);
}

static void put_loss(struct writer *w, const char *name, uint64_t count)
{
	if (count)
		put_comment(w, mem_format("%s: %" PRIu64, name, count));
}

static void put_comments(struct writer *w)
{
	const struct profile *p = model_get_profile(w->model);
	const struct profile_totals *t = &p->totals;

	put_comment(w, mem_format("midden %s, process %" PRIu32, MIDDEN_VERSION, p->run.pid));
	put_comment(w, mem_format("command: %s", profile_string(p, p->run.command)));
	put_loss(w, "sampled, values are estimates; bytes per sample", p->run.sample_period);
	put_loss(w, "lost events", t->lost_events);
	put_loss(w, "truncated stacks", t->truncated_stacks);
	put_loss(w, "unwind failures", t->unwind_failures);
	put_loss(w, "foreign frees", t->foreign_frees);
	put_loss(w, "re-entrant calls", t->reentrant_calls);
	if (p->damaged)
		put_comment(w, mem_format("damaged: %s", p->damage));
}

/* The sample type that a figure is shown as; NULL if there is none. */
static const char *find_type(enum figure figure)
{
	const char *type = NULL;

	for (size_t i = 0; i < VALUE_TYPES; i++)
		if (value_types[i].figure == figure)
			type = value_types[i].type;
	return type;
}

static int write_pprof(FILE *out, const struct export_request *r, struct error *e)
{
	struct writer w = {.model = r->model, .request = r};
	const char *shown = find_type(r->figure);

	if (!shown)
		return error_set(e, "there is no sample type for the figure %s",
				 figure_name(r->figure));
	w.gzip = gzip_new(out);
	protobuf_put_bytes(&w.whole, PROFILE_STRING_TABLE, "", 0);
	put_types(&w, shown);
	put_times(&w);
	put_comments(&w);
	put_mappings(&w);
	put_samples(&w);
	send(&w);
	gzip_free(w.gzip);
	protobuf_free(&w.message);
	protobuf_free(&w.part);
	protobuf_free(&w.whole);
	map_free(&w.strings);
	map_free(&w.functions);
	map_free(&w.addresses);
	map_free(&w.locations);
	vec_free(&w.numbers);
	return 0;
}

const struct export_format export_pprof = {
	.name = "pprof",
	.summary = "gzipped profile.proto: go tool pprof, Parca, Pyroscope, ...",
	.suffix = ".pb.gz",
	.binary = true,
	.write = write_pprof,
};
