/* match.c -- which functions and modules of two profiles are the same, whatever their addresses.
 * Runs: offline; immutable once built.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/match.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "symbol/canonical.h"

/* Texts that have numbers, from 1 on. */
struct numbering {
	struct map index; /* hash of the text -> number */
	VEC(char *) texts;
};

struct builder {
	struct match *match;
	const struct model *const *models;
	struct numbering names;
};

/* The number of a text, which is taken over. */
static uint32_t number_text(struct numbering *n, char *text)
{
	for (uint64_t key = map_hash_text(text);; key++) {
		uint32_t *place = map_reserve(&n->index, key);
		if (!*place) {
			*vec_push(&n->texts) = text;
			*place = (uint32_t)n->texts.count;
			return *place;
		}
		if (strcmp(n->texts.at[*place - 1], text) == 0) {
			uint32_t number = *place; /* before the text goes, which may be its own */
			free(text);
			return number;
		}
	}
}

static void numbering_fini(struct numbering *n)
{
	for (size_t i = 0; i < n->texts.count; i++)
		free(n->texts.at[i]);
	vec_free(&n->texts);
	map_free(&n->index);
}

/* The base name up to ".so": libz.so.1.2.13 and libz.so.1.3 are the same library. The program has
 * none, since builds of it are kept under different names. */
static char *module_key(const struct profile *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *end = strstr(base, ".so.");

	if (*path && strcmp(path, profile_string(p, p->run.executable)) == 0)
		return mem_copy_string("[program]");
	if (!end)
		end = strstr(base, " (deleted)");
	else
		end += strlen(".so");
	if (!end)
		return mem_copy_string(base);
	return mem_format("%.*s", (int)(end - base), base);
}

/* ---- builds ---------------------------------------------------------------------------------- */

static const struct profile_module *find_module(const struct profile *p, const char *path)
{
	for (size_t i = 1; i < p->modules.count; i++) {
		const char *of = profile_string(p, p->modules.at[i].path);
		if (strcmp(*of ? of : profile_string(p, p->run.executable), path) == 0)
			return &p->modules.at[i];
	}
	return NULL;
}

static bool has_build(const struct profile *p, const struct profile_module *wanted)
{
	for (size_t i = 1; i < p->modules.count; i++) {
		const struct profile_module *m = &p->modules.at[i];
		if (m->build_id_bytes == wanted->build_id_bytes &&
		    memcmp(m->build_id, wanted->build_id, m->build_id_bytes) == 0)
			return true;
	}
	return false;
}

/* True if both models have the very same file there, so that addresses in it mean the same. */
static bool is_same_build(const struct builder *b, unsigned side, const char *path)
{
	const struct profile_module *m = find_module(model_get_profile(b->models[side]), path);

	return m && m->build_id_bytes && has_build(model_get_profile(b->models[!side]), m);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* What a side's modules come to, looked at once each: frames are many, modules few. */
struct module_note {
	const char *path;
	char *key;
	uint32_t number;
	bool same_build;
};

struct side {
	VEC(struct module_note) notes;
	struct map index; /* hash of the path -> note, plus one */
};

static const struct module_note *find_note(struct builder *b, struct side *s, unsigned side,
					   const char *path)
{
	for (uint64_t key = map_hash_text(path);; key++) {
		uint32_t *place = map_reserve(&s->index, key);
		if (*place && strcmp(s->notes.at[*place - 1].path, path) == 0)
			return &s->notes.at[*place - 1];
		if (*place)
			continue;
		*place = (uint32_t)s->notes.count + 1;
		char *text = module_key(model_get_profile(b->models[side]), path);
		*vec_push(&s->notes) = (struct module_note){
			.path = path,
			.key = text,
			.number = number_text(&b->names, mem_format("module %s", text)),
			.same_build = is_same_build(b, side, path),
		};
		return &s->notes.at[s->notes.count - 1];
	}
}

/* The level stands before a name, so that one of them cannot be taken for another. */
static uint32_t number_name(struct builder *b, const struct module_note *note,
			    enum match_level level, char *name)
{
	uint32_t number =
		number_text(&b->names, mem_format("%u %s %s", (unsigned)level, note->key, name));

	free(name);
	return number;
}

static char *address_name(const struct model_frame *f, const struct module_note *note)
{
	return note->same_build ? mem_format("+0x%" PRIx64, f->offset) : mem_copy_string("+?");
}

static void number_frame(struct builder *b, struct side *s, unsigned side, uint32_t id)
{
	const struct model_frame *f = model_get_frame(b->models[side], id);
	const struct module_note *note = find_note(b, s, side, f->module);
	static char *(*const reduce[])(const char *) = {
		[MATCH_STRICT] = canonical_name,
		[MATCH_LOOSE] = canonical_loose_name,
		[MATCH_BARE] = canonical_bare_name,
	};
	uint32_t *const *numbers = b->match->numbers[side];
	bool named = *f->function;

	numbers[MATCH_MODULE][id] = note->number;
	for (unsigned level = 0; level < MATCH_MODULE; level++) {
		if (named && f->group != id)
			numbers[level][id] = numbers[level][f->group];
		else
			numbers[level][id] = number_name(b, note, (enum match_level)level,
							 named ? reduce[level](f->function)
							       : address_name(f, note));
	}
}

static void number_side(struct builder *b, unsigned side)
{
	struct side s = {0};
	size_t count = model_get_frame_count(b->models[side]);

	for (size_t level = 0; level < MATCH_LEVELS; level++)
		b->match->numbers[side][level] = mem_new(count, sizeof(uint32_t));
	for (uint32_t id = 0; id < count; id++)
		number_frame(b, &s, side, id);
	for (size_t i = 0; i < s.notes.count; i++)
		free(s.notes.at[i].key);
	vec_free(&s.notes);
	map_free(&s.index);
}

struct match *match_new(const struct model *const models[2])
{
	struct match *m = mem_new(1, sizeof(*m));
	struct builder b = {.match = m, .models = models};

	number_side(&b, 0);
	number_side(&b, 1);
	m->count = (uint32_t)b.names.texts.count + 1;
	numbering_fini(&b.names);
	return m;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	for (size_t side = 0; side < 2; side++)
		for (size_t level = 0; level < MATCH_LEVELS; level++)
			free(m->numbers[side][level]);
	free(m);
}
