/* pathmap.c -- where sources are now, for paths as the compiler saw them.
 * Runs: offline; called while a model is built, and by cli for its options.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "model/pathmap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A copy of the first `bytes` without slashes at its end. */
static char *copy_directory(const char *text, size_t bytes)
{
	while (bytes && text[bytes - 1] == '/')
		bytes--;
	return mem_format("%.*s", (int)bytes, text);
}

int pathmap_add(struct pathmap *m, const char *rule, struct error *e)
{
	const char *equals = strchr(rule, '=');

	if (!equals || equals == rule)
		return error_set(e, "%s is not OLD=NEW", rule);
	*vec_push(&m->rules) = (struct pathmap_rule){
		.from = copy_directory(rule, (size_t)(equals - rule)),
		.to = copy_directory(equals + 1, strlen(equals + 1)),
	};
	return 0;
}

/* What of the path is below the rule's directory, with the slash before it; NULL if it is not. */
static const char *find_rest(const struct pathmap_rule *rule, const char *path)
{
	size_t bytes = strlen(rule->from);

	if (strncmp(path, rule->from, bytes) != 0 || (path[bytes] && path[bytes] != '/'))
		return NULL;
	return *path ? path + bytes : NULL;
}

/* Whether the `bytes` before `end` are a name that ".." takes back. */
static bool is_name(const char *end, size_t bytes)
{
	return bytes && !(bytes == 2 && end[-1] == '.' && end[-2] == '.');
}

/* Appends a name of the path, or takes the last one back for "..". */
static char *put_name(char *start, char *end, const char *name, size_t bytes)
{
	const char *slash = memrchr(start, '/', (size_t)(end - start));
	const char *last = slash ? slash + 1 : start;
	bool is_root = end == start + 1 && *start == '/';

	if (bytes == 0 || (bytes == 1 && *name == '.'))
		return end;
	if (bytes == 2 && name[0] == '.' && name[1] == '.') {
		if (is_root)
			return end;
		if (is_name(end, (size_t)(end - last)))
			return start + (last - start) - (slash && slash > start);
	}
	if (end > start && end[-1] != '/')
		*end++ = '/';
	memcpy(end, name, bytes);
	return end + bytes;
}

char *pathmap_tidy(const char *path)
{
	char *tidy, *start, *end;

	if (!strstr(path, "//") && !strstr(path, "/.") && strncmp(path, "./", 2) != 0)
		return NULL;
	start = end = tidy = mem_copy_string(path);
	if (*path == '/')
		end++;
	for (const char *name = path; *name; name += strspn(name, "/")) {
		size_t bytes = strcspn(name, "/");

		end = put_name(start, end, name, bytes);
		name += bytes;
	}
	*end = '\0';
	if (*tidy && strcmp(tidy, path) != 0)
		return tidy;
	free(tidy);
	return NULL;
}

static char *apply_to(const struct pathmap *m, const char *path)
{
	for (size_t i = 0; i < m->rules.count; i++) {
		const struct pathmap_rule *rule = &m->rules.at[i];
		const char *rest = find_rest(rule, path);

		/* --map /build= makes paths relative. */
		if (rest && !*rule->to && *rest == '/')
			rest++;
		if (rest)
			return mem_format("%s%s", rule->to, rest);
	}
	return NULL;
}

char *pathmap_apply(const struct pathmap *m, const char *path)
{
	char *found = m->rules.count ? apply_to(m, path) : NULL;
	char *tidy = m->rules.count && !found ? pathmap_tidy(path) : NULL;

	if (tidy)
		found = apply_to(m, tidy);
	free(tidy);
	return found;
}

char *pathmap_show(const struct pathmap *m, const char *path)
{
	char *found = m ? pathmap_apply(m, path) : NULL;
	char *tidy = pathmap_tidy(found ? found : path);

	if (!tidy)
		return found;
	free(found);
	return tidy;
}

void pathmap_free(struct pathmap *m)
{
	for (size_t i = 0; i < m->rules.count; i++) {
		free(m->rules.at[i].from);
		free(m->rules.at[i].to);
	}
	vec_free(&m->rules);
}
