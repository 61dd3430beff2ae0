/* globals.c -- reads the variables of the objects that a program has loaded into its profile. Runs:
 * offline; called when a recording ends, by reports and by `midden resolve`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Resident are those bytes of a variable that lie on resident pages: a page that several share is
 * split by their bytes, and what is between them is nobody's. */
#include "model/globals.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

#define KEPT_MOST  64u	 /* of each object in brief: a profile grows by a few KiB for each */
#define PAGE_USUAL 4096u /* of a profile that does not say */

struct reader {
	struct profile *profile;
	enum globals_scope scope;
	const struct symbol_options *options;
	VEC(struct profile_variable) found; /* of all objects */
};

/* An object that is being read. */
struct object {
	uint32_t module;
	uint64_t bias;
	const struct profile_extent *extents;
	size_t extent_count;
};

/* ---- pages ----------------------------------------------------------------------------------- */

/* The next object, whose extents begin at `*first` or are none: they are in order of modules. */
static struct object take_object(const struct profile *p, uint32_t module, size_t *first)
{
	struct object o = {.module = module};

	while (*first < p->extents.count && p->extents.at[*first].module < module)
		++*first;
	o.extents = p->extents.at + *first;
	while (*first < p->extents.count && p->extents.at[*first].module == module) {
		++*first;
		o.extent_count++;
	}
	return o;
}

/* Which one is the first that ends behind an address: they are in order and apart. */
static size_t find_extent(const struct object *o, uint64_t address)
{
	size_t low = 0, high = o->extent_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct profile_extent *x = &o->extents[middle];

		if (x->start + x->bytes <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* One that is on no stack has been seen from outside alone: where it begins, not where its file
 * wanted it to. */
static uint64_t get_bias(const struct profile *p, uint32_t module, const struct symbol_module *m)
{
	const struct profile_module *from = &p->modules.at[module];
	uint64_t page = p->run.page_bytes ? p->run.page_bytes : PAGE_USUAL;
	uint64_t load = symbol_get_load_address(m);

	return from->bias == from->map_start ? from->map_start - load / page * page : from->bias;
}

static uint64_t count_resident(const struct object *o, const struct symbol_variable *v)
{
	uint64_t start = o->bias + v->address, end = start + v->size_bytes, bytes = 0;

	if (v->is_thread_local)
		return 0;
	for (size_t i = find_extent(o, start); i < o->extent_count && o->extents[i].start < end;
	     i++) {
		const struct profile_extent *x = &o->extents[i];
		uint64_t from = start > x->start ? start : x->start;
		uint64_t to = end < x->start + x->bytes ? end : x->start + x->bytes;

		bytes += from < to ? to - from : 0;
	}
	return bytes;
}

/* ---- one object ------------------------------------------------------------------------------ */

static int compare(const void *left, const void *right)
{
	const struct profile_variable *a = left, *b = right;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static int compare_sections(const void *left, const void *right)
{
	const struct profile_variable *a = left, *b = right;

	return (a->section.v > b->section.v) - (a->section.v < b->section.v);
}

static int compare_in_sections(const void *left, const void *right)
{
	int by_section = compare_sections(left, right);

	return by_section ? by_section : compare(left, right);
}

/* Makes one of all variables of a section, the largest of which lends its place; by sections, which
 * may be many where a file is hostile. Returns how many are left. */
static size_t sum_up(struct profile_variable *at, size_t count)
{
	size_t sums = 0;

	if (count)
		qsort(at, count, sizeof(*at), compare_in_sections);
	for (size_t i = 0; i < count; i++) {
		const struct profile_variable v = at[i];

		if (!sums || at[sums - 1].section.v != v.section.v)
			at[sums++] = (struct profile_variable){
				.section = v.section,
				.module = v.module,
				.is_thread_local = v.is_thread_local,
				.address = v.address,
			};
		at[sums - 1].count++;
		at[sums - 1].size_bytes += v.size_bytes;
		at[sums - 1].resident_bytes += v.resident_bytes;
	}
	return sums;
}

/* Sums up those from `first` on by section, where they are more than are to be kept. */
static void fold(struct reader *r, size_t first)
{
	size_t kept = first + KEPT_MOST;

	if (r->scope == GLOBALS_ALL || r->found.count <= kept)
		return;
	qsort(r->found.at + first, r->found.count - first, sizeof(*r->found.at), compare);
	r->found.count = kept + sum_up(r->found.at + kept, r->found.count - kept);
}

static uint64_t subtract(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* Rows without a name: what a section holds beyond the variables that have rows. */
static void add_rests(struct reader *r, const struct object *o, size_t first,
		      const struct symbol_variable *list, size_t count)
{
	size_t named = r->found.count - first;
	struct profile_variable *sums = mem_new(named + 1, sizeof(*sums));

	if (named)
		memcpy(sums, r->found.at + first, named * sizeof(*sums));
	named = sum_up(sums, named);
	for (size_t i = 0; i < count; i++) {
		struct profile_variable rest = {
			.section = profile_add_string(r->profile, list[i].section),
			.module = o->module,
			.address = list[i].address,
			.is_thread_local = list[i].is_thread_local,
			.size_bytes = list[i].size_bytes,
		};

		if (list[i].name)
			continue;
		const struct profile_variable *in =
			bsearch(&rest, sums, named, sizeof(*sums), compare_sections);
		rest.resident_bytes = count_resident(o, &list[i]);
		if (in) {
			rest.size_bytes = subtract(rest.size_bytes, in->size_bytes);
			rest.resident_bytes = subtract(rest.resident_bytes, in->resident_bytes);
		}
		if (rest.resident_bytes > rest.size_bytes)
			rest.resident_bytes = rest.size_bytes;
		if (rest.size_bytes)
			*vec_push(&r->found) = rest;
	}
	free(sums);
}

static void add_variable(struct reader *r, const struct object *o, const struct symbol_variable *v)
{
	struct profile *p = r->profile;

	*vec_push(&r->found) = (struct profile_variable){
		.name = profile_add_string(p, v->name),
		.section = profile_add_string(p, v->section),
		.file = profile_add_string(p, v->file),
		.line = v->line,
		.module = o->module,
		.count = 1,
		.is_thread_local = v->is_thread_local,
		.address = v->address,
		.size_bytes = v->size_bytes,
		.resident_bytes = count_resident(o, v),
	};
}

/* In brief, names of what is folded are not to be in the profile: they are added when it is known
 * which ones stay. */
static void read_object(struct reader *r, const struct object *o, struct symbol_module *m)
{
	const struct symbol_variable *list;
	size_t count = symbol_list_variables(m, r->scope == GLOBALS_ALL, &list);
	size_t first = r->found.count;

	for (size_t i = 0; i < count; i++) {
		struct symbol_variable v = list[i];

		if (!v.name)
			continue;
		v.name = r->scope == GLOBALS_BRIEF ? NULL : symbol_name_variable(m, &list[i]);
		add_variable(r, o, &v);
		/* Which one it was. */
		if (r->scope == GLOBALS_BRIEF)
			r->found.at[r->found.count - 1].line = (uint32_t)i;
	}
	fold(r, first);
	for (size_t i = first; r->scope == GLOBALS_BRIEF && i < r->found.count; i++) {
		struct profile_variable *v = &r->found.at[i];

		if (i < first + KEPT_MOST)
			v->name = profile_add_string(r->profile,
						     symbol_name_variable(m, &list[v->line]));
		v->line = 0;
	}
	add_rests(r, o, first, list, count);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct symbol_module *open_object(const struct reader *r, uint32_t module)
{
	const struct profile_module *from = &r->profile->modules.at[module];
	const char *path = profile_string(r->profile, from->path);
	struct symbol_options options = r->options ? *r->options : (struct symbol_options){0};
	struct error ignored = {0};

	/* In brief it must be quick, and not fetch debug files that nobody asked for. */
	options.object_only = r->scope == GLOBALS_BRIEF;

	if (!*path)
		path = profile_string(r->profile, r->profile->run.executable);
	return symbol_open(path, from->build_id_bytes ? from->build_id : NULL, from->build_id_bytes,
			   &options, &ignored);
}

/* What was known of the modules whose files cannot be had. */
static void keep_known(struct reader *r, const bool *is_missing)
{
	for (size_t i = 0; i < r->profile->variables.count; i++)
		if (is_missing[r->profile->variables.at[i].module])
			*vec_push(&r->found) = r->profile->variables.at[i];
}

/* The recorder's library is no part of the program. */
static bool is_own(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, "libmidden.so", strlen("libmidden.so")) == 0;
}

/* Those that were there when somebody looked; without a look, all that are known. */
static bool is_wanted(const struct profile *p, const struct object *o)
{
	const struct profile_module *module = &p->modules.at[o->module];

	if (is_own(profile_string(p, module->path)))
		return false;
	return p->run.globals_time_ns ? o->extent_count != 0 : module->map_end != 0;
}

size_t globals_resolve(struct profile *p, enum globals_scope scope,
		       const struct symbol_options *options)
{
	struct reader r = {.profile = p, .scope = scope, .options = options};
	size_t missing = 0, extent = 0;

	if (p->run.merge != PROFILE_MERGE_NONE)
		return 0;
	bool *is_missing = mem_new(p->modules.count, sizeof(*is_missing));
	for (uint32_t i = 1; i < p->modules.count; i++) {
		struct object o = take_object(p, i, &extent);
		struct symbol_module *m = is_wanted(p, &o) ? open_object(&r, i) : NULL;

		if (m) {
			o.bias = get_bias(p, i, m);
			read_object(&r, &o, m);
			symbol_close(m);
		} else if (is_wanted(p, &o)) {
			is_missing[i] = true;
			missing++;
		}
	}
	keep_known(&r, is_missing);
	free(is_missing);
	if (r.found.count)
		qsort(r.found.at, r.found.count, sizeof(*r.found.at), compare);
	vec_free(&p->variables);
	for (size_t i = 0; i < r.found.count; i++)
		*vec_push(&p->variables) = r.found.at[i];
	vec_free(&r.found);
	return missing;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_to(struct globals_sum *sum, const struct profile_variable *v)
{
	sum->variables += v->count;
	sum->bytes += v->size_bytes;
	sum->resident_bytes += v->resident_bytes;
}

/* Where the sum of an object, and of its sections, is: plus one. */
struct index {
	struct map objects;  /* by module */
	struct map sections; /* by module and name */
};

static struct globals_object *reserve_sum(struct globals *g, struct index *index,
					  const struct profile *p, uint32_t module)
{
	const char *path = profile_string(p, p->modules.at[module].path);
	uint32_t *known = map_reserve(&index->objects, module);

	if (*known)
		return &g->objects.at[*known - 1];
	*known = (uint32_t)g->objects.count + 1;
	*vec_push(&g->objects) = (struct globals_object){
		.module = module,
		.path = *path ? path : profile_string(p, p->run.executable),
	};
	return &g->objects.at[g->objects.count - 1];
}

static struct globals_section *reserve_section(struct globals_object *o, struct index *index,
					       const struct profile *p,
					       const struct profile_variable *v)
{
	uint32_t *known = map_reserve(&index->sections, (uint64_t)v->module << 32 | v->section.v);

	if (*known)
		return &o->sections.at[*known - 1];
	*known = (uint32_t)o->sections.count + 1;
	*vec_push(&o->sections) = (struct globals_section){.name = profile_string(p, v->section),
							   .is_thread_local = v->is_thread_local};
	return &o->sections.at[o->sections.count - 1];
}

static int compare_objects(const void *left, const void *right)
{
	const struct globals_object *a = left, *b = right;
	uint64_t a_bytes = a->shared.bytes + a->local.bytes,
		 b_bytes = b->shared.bytes + b->local.bytes;

	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	return (a->module > b->module) - (a->module < b->module);
}

void globals_build(struct globals *g, const struct profile *p)
{
	struct index index = {0};

	g->threads = p->run.globals_threads ? p->run.globals_threads : 1;
	for (size_t i = 0; i < p->variables.count; i++) {
		const struct profile_variable *v = &p->variables.at[i];
		struct globals_object *o = reserve_sum(g, &index, p, v->module);

		add_to(v->is_thread_local ? &g->local : &g->shared, v);
		add_to(v->is_thread_local ? &o->local : &o->shared, v);
		add_to(&reserve_section(o, &index, p, v)->sum, v);
	}
	map_free(&index.objects);
	map_free(&index.sections);
	if (g->objects.count)
		qsort(g->objects.at, g->objects.count, sizeof(*g->objects.at), compare_objects);
}

void globals_fini(struct globals *g)
{
	for (size_t i = 0; i < g->objects.count; i++)
		vec_free(&g->objects.at[i].sections);
	vec_free(&g->objects);
}
