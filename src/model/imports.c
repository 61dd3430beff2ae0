/* imports.c -- what modules of Python allocate while they are imported, folded into one frame each.
 * Runs: offline, called by model.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "model/imports.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/machinery.h"

#define UNNAMED 0u /* the index of the name of an import whose module is not known */
#define SEVERAL UINT32_MAX

/* ---- names of modules ------------------------------------------------------------------------ */

/* What follows the last `directory` in a path; NULL if it is not there. */
static const char *find_after(const char *path, const char *directory)
{
	const char *found = NULL;

	for (const char *at = path; (at = strstr(at, directory)); at++)
		found = at + strlen(directory);
	return found;
}

/* What follows .../python3.11/ in a path; NULL if there is no such thing. */
static const char *find_after_standard(const char *path)
{
	const char *after = find_after(path, "/python3.");

	while (after && isdigit((unsigned char)*after))
		after++;
	return after && *after == '/' ? after + 1 : NULL;
}

/* The part of a path that names the module. */
static const char *find_relative(const char *path)
{
	static const char *const directories[] = {"/site-packages/", "/dist-packages/",
						  "/lib-dynload/"};
	const char *found = NULL, *slash;

	for (size_t i = 0; !found && i < sizeof(directories) / sizeof(directories[0]); i++)
		found = find_after(path, directories[i]);
	if (!found)
		found = find_after_standard(path);
	if (found)
		return found;
	slash = strrchr(path, '/');
	/* Of a package, which is a directory, that. */
	if (slash && strcmp(slash, "/__init__.py") == 0)
		while (slash > path && slash[-1] != '/')
			slash--;
	else if (slash)
		slash++;
	return slash ? slash : path;
}

static void cut_end(char *text, const char *end)
{
	size_t length = strlen(text), cut = strlen(end);

	if (length > cut && strcmp(text + length - cut, end) == 0)
		text[length - cut] = '\0';
}

char *imports_name_module(const char *file)
{
	static const char frozen[] = "<frozen ";
	bool is_frozen = strncmp(file, frozen, strlen(frozen)) == 0;
	char *name = mem_copy_string(is_frozen ? file + strlen(frozen) : find_relative(file));

	if (is_frozen) {
		cut_end(name, ">");
		return name;
	}
	cut_end(name, ".pyc");
	cut_end(name, ".py");
	cut_end(name, "/__init__");
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '.';
	return name;
}

/* ---- imports on stacks ----------------------------------------------------------------------- */

static uint32_t add_name(struct imports *i, const char *module)
{
	*vec_push(&i->texts) =
		*module ? mem_format("<import of %s>", module) : mem_copy_string("<import>");
	return (uint32_t)i->texts.count - 1;
}

static uint32_t find_name(struct imports *i, const struct profile *p, struct string_id file)
{
	uint32_t *place = map_reserve(&i->known, file.v);

	if (!*place) {
		char *module = imports_name_module(profile_string(p, file));

		*place = add_name(i, module) + 1;
		free(module);
	}
	return *place - 1;
}

static bool is_module_body(const struct profile *p, const struct profile_frame *f)
{
	return strcmp(profile_string(p, f->function), "<module>") == 0;
}

/* Notes the name for the whole import; what its machinery allocates has it if there is one only. */
static void note_name(uint32_t *of_import, uint32_t name)
{
	*of_import = *of_import == UNNAMED || *of_import == name ? name : SEVERAL;
}

static void look_at(struct imports *i, const struct profile *p, uint32_t node, uint32_t *of_imports)
{
	const struct profile_node *n = &p->nodes.at[node];
	const struct profile_frame *f = &p->frames.at[n->frames];
	bool is_python = n->named == PROFILE_NAMED_PYTHON && n->frames;
	bool is_importer = is_python && machinery_is_importer(profile_string(p, f->file));

	i->begins[node] = i->begins[n->parent];
	i->names[node] = i->names[n->parent];
	if (!i->begins[node] && is_importer)
		i->begins[node] = node;
	else if (i->begins[node] && i->names[node] == UNNAMED && is_python && !is_importer &&
		 is_module_body(p, f)) {
		i->names[node] = find_name(i, p, f->file);
		note_name(&of_imports[i->begins[node]], i->names[node]);
	}
}

void imports_find(struct imports *i, const struct profile *p)
{
	uint32_t *of_imports = mem_new(p->nodes.count, sizeof(*of_imports));

	i->begins = mem_new(p->nodes.count, sizeof(*i->begins));
	i->names = mem_new(p->nodes.count, sizeof(*i->names));
	add_name(i, ""); /* UNNAMED */
	for (uint32_t node = 1; node < p->nodes.count; node++)
		look_at(i, p, node, of_imports);
	for (uint32_t node = 1; node < p->nodes.count; node++) {
		uint32_t name = of_imports[i->begins[node]];

		if (i->names[node] == UNNAMED && name != SEVERAL)
			i->names[node] = name;
	}
	free(of_imports);
}

void imports_free(struct imports *i)
{
	free(i->begins);
	free(i->names);
	for (size_t k = 0; k < i->texts.count; k++)
		free(i->texts.at[k]);
	vec_free(&i->texts);
	map_free(&i->known);
}
