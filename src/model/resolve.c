/* resolve.c -- gives the addresses of a profile their functions and source lines.
 * Runs: offline, one thread; called when a recording ends, or by the first report on it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening a module and its debug information costs far more than a look-up, so the nodes are sorted
 * by file and address first: each file is opened once, each address looked up once. */
#include "model/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

/* A node that needs frames. */
struct wanted {
	uint32_t group; /* one of the modules that are the same file; stands for all of them */
	uint32_t node;
	uint64_t address; /* ELF virtual address inside the call */
};

struct module_key {
	const char *path;
	const struct profile_module *module;
	uint32_t index;
};

struct resolver {
	struct profile *profile;
	const struct symbol_options *options;
	struct error *error;
	uint32_t *group_of; /* by module */
	VEC(struct wanted) wanted;
	struct map strings; /* hash of a text -> its string_id */
	int missing;
};

static int compare_modules(const void *left, const void *right)
{
	const struct module_key *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	if (order == 0)
		order = memcmp(a->module->build_id, b->module->build_id,
			       sizeof(a->module->build_id));
	if (order == 0)
		order = (a->module->build_id_bytes > b->module->build_id_bytes) -
			(a->module->build_id_bytes < b->module->build_id_bytes);
	return order;
}

/* The empty path is the program itself. */
static const char *module_path(const struct profile *p, uint32_t module)
{
	const char *path = profile_string(p, p->modules.at[module].path);

	return *path ? path : profile_string(p, p->run.executable);
}

/* A file that was loaded twice, or at two places, is one group. */
static void group_modules(struct resolver *r)
{
	const struct profile *p = r->profile;
	size_t count = p->modules.count;
	struct module_key *keys = mem_new(count, sizeof(*keys));

	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct module_key){module_path(p, i), &p->modules.at[i], i};
	/* Index 0 is "no module": it stays out of the sort and stands for itself. */
	qsort(keys + 1, count - 1, sizeof(*keys), compare_modules);

	r->group_of = mem_new(count, sizeof(*r->group_of));
	for (size_t i = 1; i < count; i++) {
		bool same = i > 1 && compare_modules(&keys[i - 1], &keys[i]) == 0;
		r->group_of[keys[i].index] = same ? r->group_of[keys[i - 1].index] : keys[i].index;
	}
	free(keys);
}

static int compare_wanted(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static void list_wanted(struct resolver *r)
{
	const struct profile *p = r->profile;

	for (uint32_t i = 1; i < p->nodes.count; i++) {
		const struct profile_node *node = &p->nodes.at[i];
		if (node->frames || !node->module || node->cut)
			continue;
		/* A return address may be the first one of the next line, or of the next function.
		 */
		uint64_t inside = node->pc - (node->exact ? 0 : 1);
		*vec_push(&r->wanted) = (struct wanted){
			.group = r->group_of[node->module],
			.node = i,
			.address = inside - p->modules.at[node->module].bias,
		};
	}
	if (r->wanted.count)
		qsort(r->wanted.at, r->wanted.count, sizeof(*r->wanted.at), compare_wanted);
}

static struct string_id add_string(struct resolver *r, const char *text)
{
	if (!text || !*text)
		return (struct string_id){0};

	uint32_t *known = map_reserve(&r->strings, map_hash_text(text));
	struct string_id id = {*known};
	if (id.v && strcmp(profile_string(r->profile, id), text) == 0)
		return id;
	id = profile_add_string(r->profile, text);
	*known = id.v;
	return id;
}

static bool is_known(const struct symbol_frame *f)
{
	return (f->function && *f->function) || (f->file && *f->file);
}

/* Stores the frames at an address as a chain, the outermost first, since `next` points backwards;
 * returns the innermost one, or 0 if nothing is known. */
static uint32_t add_frames(struct resolver *r, struct symbol_module *m, uint64_t address)
{
	struct profile *p = r->profile;
	const struct symbol_frame *found;
	size_t count = symbol_find(m, address, &found);
	uint32_t outer = 0;

	if (count == 0 || (!is_known(&found[0]) && !is_known(&found[count - 1])))
		return 0;
	while (count-- > 0) {
		struct profile_frame frame = {
			.function = add_string(r, found[count].function),
			.file = add_string(r, found[count].file),
			.line = found[count].line,
			.next = outer,
		};
		outer = (uint32_t)p->frames.count;
		*vec_push(&p->frames) = frame;
	}
	return outer;
}

static void resolve_addresses(struct resolver *r, struct symbol_module *m, size_t start, size_t end)
{
	const struct wanted *w = r->wanted.at;
	uint32_t frames = 0;

	for (size_t i = start; i < end; i++) {
		if (i == start || w[i].address != w[i - 1].address)
			frames = add_frames(r, m, w[i].address);
		r->profile->nodes.at[w[i].node].frames = frames;
	}
}

static bool is_vdso(const char *path)
{
	return strcmp(path, "[vdso]") == 0 || strcmp(path, "linux-vdso.so.1") == 0 ||
	       strcmp(path, "linux-gate.so.1") == 0;
}

static struct symbol_module *open_module(struct resolver *r, uint32_t index)
{
	const struct profile_module *module = &r->profile->modules.at[index];
	const char *path = module_path(r->profile, index);

	if (is_vdso(path))
		return symbol_open_vdso(r->error);
	return symbol_open(path, module->build_id_bytes ? module->build_id : NULL,
			   module->build_id_bytes, r->options, r->error);
}

/* Handles the nodes of one file, from `start` on; returns where the next file's begin. */
static size_t resolve_group(struct resolver *r, size_t start)
{
	uint32_t group = r->wanted.at[start].group;
	size_t end = start + 1;

	while (end < r->wanted.count && r->wanted.at[end].group == group)
		end++;

	struct symbol_module *m = open_module(r, group);
	if (!m) {
		r->missing++;
		return end;
	}
	resolve_addresses(r, m, start, end);
	symbol_close(m);
	return end;
}

int model_resolve(struct profile *p, const struct symbol_options *options, struct error *e)
{
	struct resolver r = {.profile = p, .options = options, .error = e};
	size_t next = 0;

	group_modules(&r);
	list_wanted(&r);
	while (next < r.wanted.count)
		next = resolve_group(&r, next);
	p->resolved = true;

	free(r.group_of);
	vec_free(&r.wanted);
	map_free(&r.strings);
	return r.missing;
}
