/* resolve.c -- gives the addresses of a profile their functions and source lines.
 * Runs: offline; called when a recording ends, by the first report on it, or by `midden resolve`.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening a module and its debug information costs far more than a look-up, so the nodes are sorted
 * by file and address first: each file is opened once, each address looked up once. The looking up
 * is done in parallel and touches nothing of the profile; the results are then put in, in order. */
#include "model/resolve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/radix.h"
#include "model/globals.h"
#include "model/holders.h"
#include "model/lookup.h"
#include "symbol/perfmap.h"

/* A node that needs frames. */
struct wanted {
	uint64_t group; /* one of the modules that are the same file; stands for all of them. 0: no
			   module */
	uint64_t address; /* ELF virtual address inside the call */
	uint32_t node;
};

struct module_key {
	const char *path;
	const struct profile_module *module;
	uint32_t index;
};

struct resolver {
	struct profile *profile;
	const struct resolve_options *options;
	struct resolve_outcome *outcome; /* or NULL */
	uint32_t *group_of;		 /* by module */
	VEC(struct wanted) wanted;	 /* by group, address */
	VEC(uint64_t) addresses;	 /* the same without repetitions, for lookup.c */
	VEC(struct lookup_file) files;
	size_t missing;
	size_t changed;
};

/* ---- what is wanted -------------------------------------------------------------------------- */

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

static void list_wanted(struct resolver *r)
{
	const struct profile *p = r->profile;
	bool missing_only = r->options->scope == RESOLVE_MISSING;

	for (uint32_t i = 1; i < p->nodes.count; i++) {
		const struct profile_node *node = &p->nodes.at[i];
		/* Generated code may get its name after it ran. */
		bool known = i < r->options->known_nodes && (node->module || node->frames);
		if (node->cut || node->named || known || (missing_only && node->frames))
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
	/* By group, address and node: equal ones keep their order, and nodes are in theirs. */
	radix_sort(r->wanted.at, r->wanted.count, sizeof(*r->wanted.at),
		   offsetof(struct wanted, address));
	radix_sort(r->wanted.at, r->wanted.count, sizeof(*r->wanted.at),
		   offsetof(struct wanted, group));
}

/* ---- putting in what was found --------------------------------------------------------------- */

/* What a place tells: nothing, a name, or a line; and then how many inlined frames. */
struct worth {
	unsigned kind; /* 0, 1, 2 */
	unsigned frames;
};

static struct worth get_worth(const struct profile *p, uint32_t frame)
{
	struct worth worth = {0};

	for (; frame; frame = p->frames.at[frame].next) {
		const struct profile_frame *f = &p->frames.at[frame];

		if (f->line)
			worth.kind = 2;
		else if (worth.kind == 0 && (f->function.v || f->file.v))
			worth.kind = 1;
		worth.frames++;
	}
	return worth;
}

static bool is_welcome(const struct resolver *r, uint32_t old, struct worth found)
{
	struct worth known = get_worth(r->profile, old);

	if (found.kind == 0)
		return false;
	if (r->options->scope == RESOLVE_ALL || found.kind > known.kind)
		return true;
	return found.kind == known.kind && found.frames > known.frames;
}

/* Gives the chain `frames` to the wanted nodes from `at` on that are at one address; returns where
 * the next address begins. */
static size_t give(struct resolver *r, size_t at, uint32_t frames)
{
	struct worth worth = get_worth(r->profile, frames);
	struct wanted first = r->wanted.at[at];

	for (; at < r->wanted.count && r->wanted.at[at].group == first.group &&
	       r->wanted.at[at].address == first.address;
	     at++) {
		struct profile_node *node = &r->profile->nodes.at[r->wanted.at[at].node];

		if (!is_welcome(r, node->frames, worth))
			continue;
		node->frames = frames;
		r->changed++;
	}
	return at;
}

/* Stores frames as a chain, the outermost first, since `next` points backwards; returns the
 * innermost one, or 0 if nothing is known. */
static uint32_t add_chain(struct profile *p, const struct lookup_frame *frames, size_t count,
			  const struct string_id *strings)
{
	uint32_t outer = 0;

	while (count-- > 0) {
		struct profile_frame frame = {
			.function = strings[frames[count].function],
			.file = strings[frames[count].file],
			.line = frames[count].line,
			.next = outer,
		};

		outer = (uint32_t)p->frames.count;
		*vec_push(&p->frames) = frame;
	}
	return outer;
}

static bool is_known(const struct lookup_frame *f)
{
	return f->function || f->file;
}

static size_t merge_batch(struct resolver *r, size_t at, const struct lookup_batch *b,
			  struct resolve_module *tally)
{
	struct string_id *strings = mem_new(b->strings.count, sizeof(*strings));
	size_t start = 0;

	for (size_t i = 0; i < b->strings.count; i++)
		strings[i] = profile_add_string(r->profile, b->text.at + b->strings.at[i]);
	for (size_t i = 0; i < b->ends.count; start = b->ends.at[i++]) {
		const struct lookup_frame *frames = b->frames.at + start;
		size_t count = b->ends.at[i] - start;
		uint32_t chain = 0;

		if (count && (is_known(&frames[0]) || is_known(&frames[count - 1])))
			chain = add_chain(r->profile, frames, count, strings);
		tally->named += chain && frames[count - 1].function;
		tally->lined += get_worth(r->profile, chain).kind == 2;
		at = give(r, at, chain);
	}
	free(strings);
	return at;
}

static void note_module(struct resolver *r, const struct resolve_module *m)
{
	if (r->outcome)
		*vec_push(&r->outcome->modules) = *m;
}

static char *copy_text(const char *text)
{
	return text ? mem_copy_string(text) : NULL;
}

static size_t merge_file(struct resolver *r, size_t at, const struct lookup_file *f)
{
	struct resolve_module tally = {.addresses = f->count, .has_dwarf = f->has_dwarf};
	uint64_t group = r->wanted.at[at].group;

	for (size_t i = 0; f->opened && i < f->batch_count; i++)
		at = merge_batch(r, at, &f->batches[i], &tally);
	while (at < r->wanted.count && r->wanted.at[at].group == group)
		at++;
	if (!f->opened)
		r->missing++;
	if (r->outcome) {
		tally.path = mem_copy_string(module_path(r->profile, (uint32_t)group));
		tally.object = copy_text(f->object);
		tally.debug = copy_text(f->debug);
		tally.error = f->opened ? NULL : mem_copy_string(f->error.text);
		note_module(r, &tally);
	}
	return at;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* One entry in `files` per group, its addresses in `addresses`. */
static void list_files(struct resolver *r, size_t at)
{
	const struct wanted *w = r->wanted.at;

	vec_reserve(&r->addresses, r->wanted.count); /* does not move from here on */
	for (; at < r->wanted.count; at++) {
		if (r->files.count == 0 || w[at].group != w[at - 1].group) {
			const struct profile_module *m = &r->profile->modules.at[w[at].group];

			*vec_push(&r->files) = (struct lookup_file){
				.path = module_path(r->profile, (uint32_t)w[at].group),
				.build_id = m->build_id_bytes ? m->build_id : NULL,
				.build_id_bytes = m->build_id_bytes,
				.addresses = r->addresses.at + r->addresses.count,
			};
		} else if (w[at].address == w[at - 1].address) {
			continue;
		}
		*vec_push(&r->addresses) = w[at].address;
		r->files.at[r->files.count - 1].count++;
	}
}

static void resolve_files(struct resolver *r, size_t at)
{
	struct lookup_options options = {
		.symbols = r->options->symbols,
		.threads = r->options->threads,
		.progress = r->options->progress,
		.context = r->options->context,
	};

	list_files(r, at);
	lookup_run(r->files.at, r->files.count, &options);
	for (size_t i = 0; i < r->files.count; i++)
		at = merge_file(r, at, &r->files.at[i]);
	lookup_fini(r->files.at, r->files.count);
	vec_free(&r->files);
	vec_free(&r->addresses);
}

/* ---- generated code -------------------------------------------------------------------------- */

static bool is_this_host(const struct profile *p)
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	return *host && strcmp(host, profile_string(p, p->run.host)) == 0;
}

static struct perfmap *read_perfmap(const struct resolver *r)
{
	const struct profile_run *run = &r->profile->run;
	const char *dir = r->options->perfmap_dir ? r->options->perfmap_dir : "/tmp";
	struct perfmap_owner owner = {
		.pid = (pid_t)run->pid,
		.start_unix_ns = run->start_unix_ns,
		.end_unix_ns = run->start_unix_ns + run->duration_ns,
	};

	if (run->end == PROFILE_END_ABANDONED)
		owner.end_unix_ns = 0; /* the program went on, and so did its map */
	return run->pid && is_this_host(r->profile) ? perfmap_read(dir, &owner, NULL) : NULL;
}

/* The wanted nodes in no module, which are the first ones; returns where the others begin. */
static size_t resolve_generated(struct resolver *r)
{
	bool any = r->wanted.count && r->wanted.at[0].group == 0;
	struct perfmap *map = any ? read_perfmap(r) : NULL;
	struct resolve_module tally = {0};
	size_t at = 0;

	while (at < r->wanted.count && r->wanted.at[at].group == 0) {
		const char *name = map ? perfmap_find(map, r->wanted.at[at].address) : NULL;
		struct string_id strings[2] = {{0}, profile_add_string(r->profile, name)};
		struct lookup_frame frame = {.function = 1};

		tally.addresses++;
		tally.named += name != NULL;
		at = give(r, at, name ? add_chain(r->profile, &frame, 1, strings) : 0);
	}
	if (any && r->outcome) {
		tally.path = mem_copy_string("");
		note_module(r, &tally);
	}
	perfmap_free(map);
	return at;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Chains that were replaced, or were not welcome, go. The order stays, so `next` still points
 * backwards. */
static void drop_unused_frames(struct profile *p)
{
	uint32_t *moved = mem_new(p->frames.count, sizeof(*moved));
	uint32_t kept = 1;

	for (size_t i = 1; i < p->nodes.count; i++)
		for (uint32_t f = p->nodes.at[i].frames; f && !moved[f]; f = p->frames.at[f].next)
			moved[f] = 1;
	for (size_t i = 1; i < p->frames.count; i++) {
		if (!moved[i])
			continue;
		moved[i] = kept;
		p->frames.at[kept] = p->frames.at[i];
		p->frames.at[kept].next = moved[p->frames.at[i].next];
		kept++;
	}
	p->frames.count = kept;
	for (size_t i = 1; i < p->nodes.count; i++)
		p->nodes.at[i].frames = moved[p->nodes.at[i].frames];
	free(moved);
}

static int compare_paths(const void *left, const void *right)
{
	const struct resolve_module *a = left, *b = right;

	return strcmp(a->path, b->path);
}

size_t resolve_profile(struct profile *p, const struct resolve_options *options,
		       struct resolve_outcome *outcome)
{
	struct resolver r = {.profile = p, .options = options, .outcome = outcome};

	group_modules(&r);
	list_wanted(&r);
	resolve_files(&r, resolve_generated(&r));
	holders_resolve(p, options->symbols);
	if (options->variables)
		(void)globals_resolve(p, GLOBALS_BRIEF, options->symbols);
	if (options->scope != RESOLVE_MISSING)
		drop_unused_frames(p);
	p->resolved = true;
	if (outcome) {
		outcome->missing = r.missing;
		outcome->changed = r.changed;
		if (outcome->modules.count)
			qsort(outcome->modules.at, outcome->modules.count,
			      sizeof(*outcome->modules.at), compare_paths);
	}
	free(r.group_of);
	vec_free(&r.wanted);
	return r.missing;
}

void resolve_outcome_free(struct resolve_outcome *outcome)
{
	for (size_t i = 0; i < outcome->modules.count; i++) {
		free(outcome->modules.at[i].path);
		free(outcome->modules.at[i].object);
		free(outcome->modules.at[i].debug);
		free(outcome->modules.at[i].error);
	}
	vec_free(&outcome->modules);
}
